from __future__ import annotations

import builders
import pytest

import vjcascade
from vjcascade.cascade import OPERATING_POINT, Cascade
from vjcascade.evaluation import OperatingPoint


@pytest.fixture(scope="module")
def faces():
    return Cascade.load(vjcascade.compat.data.find("frontalface"))


def test_a_trained_model_says_what_it_is_and_how_good(faces):
    first, trained, data, quality = str(faces).splitlines()
    assert first == repr(faces)
    assert trained == "trained by: cost-generalized-gentle, costs 2:1"
    assert data == "trained on: 14,000 positives, 14,000 negatives a stage"
    assert quality.startswith("passes the first 20 stages: ")  # the others are another model's, `followed_by`
    assert str(faces.first_stages(12)).splitlines()[-1].startswith("passes: ")
    assert "% of the held-out positives, about one in " in quality


def test_a_notebook_gets_a_row_for_each_stage(faces):
    page = faces._repr_html_()
    assert page.count("<tr>") == faces.n_stages + 1
    assert "<th>hit rate</th>" in page
    other = builders.accept_all(n_stages=3)._repr_html_()
    assert other.count("<tr>") == 4
    assert "hit rate" not in other


def test_a_tuned_model_says_so(faces):
    point = OperatingPoint(n_stages=faces.n_stages, min_neighbors=1)
    assert f"tuned to: {point}" in str(point.applied(faces))


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"stages": "many", "settings": 5, OPERATING_POINT: 7},
        {"stages": [{"stage": 1}], "settings": {"booster": "<b>\x1b[2J", "costs": [1, "x"]}},
        {"settings": {"booster": "<b>\x1b[2J", "costs": [1, 2.5]}, OPERATING_POINT: {"n_stages": -1}},
    ],
)
def test_metadata_of_any_kind_do_no_harm(metadata):
    cascade = builders.accept_all(n_stages=2).with_metadata(metadata)
    assert str(cascade).startswith(repr(cascade))
    assert "\x1b" not in str(cascade)
    assert "<b>\x1b" not in cascade._repr_html_()
