"""The page of a check: whole, safe, and it shows what is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from easy_pictures import easy_positive, soft_noise
from pages import HOSTILE, checked

from vjcascade.checking import Finding, Item, Topic, check
from vjcascade.report.check import MOST_SHOWN, build_check_report


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(1)
    return check([easy_positive(rng) for _ in range(30)], [soft_noise(rng) for _ in range(12)], n_threads=1)


def test_the_page_is_whole_and_names_what_is_found(result):
    page = checked(build_check_report(result))
    for finding in result.findings:
        assert str(finding) in page.text
        assert finding.advice in page.text
    assert "30 crops are too few" in page.text
    assert page.tags.count("svg") == 1
    n_shown = sum(min(len(one.items), MOST_SHOWN) for one in result.findings)
    assert 1 + n_shown <= page.tags.count("img") <= 1 + 2 * n_shown


def test_pictures_are_shown_and_names_are_escaped(result):
    pixels = np.zeros((24, 24), np.uint8)
    items = tuple(Item(HOSTILE, HOSTILE, pixels, pixels) for _ in range(MOST_SHOWN + 3))
    hostile = replace(result, findings=(Finding(Topic.NEAR_COPIES, "positives", items, 99),))
    page = checked(build_check_report(hostile))
    assert page.text.count(HOSTILE) >= len(items)
    assert page.tags.count("img") == 1 + 2 * MOST_SHOWN
