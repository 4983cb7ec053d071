"""A share of the spoiled annotations of ``tools/fuzz.py``: boxes that pass all checks, or a sentence."""

from __future__ import annotations

import time

import fuzz_annotations
import numpy as np
import pytest
from fuzz_rules import KINDS, Place

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.reading import read_annotations

SHARE = 30
"""Of 5,000 for each format."""


def try_one(tmp_path, given, number):
    folder = tmp_path / str(number)
    given.write(folder)
    return KINDS["annotations"].try_input(given, Place(folder, number, tmp_path / "printed"))


@pytest.mark.parametrize("number", range(fuzz_annotations.N_FORMS))
def test_good_files_are_good(tmp_path, number):
    files, opened = fuzz_annotations.good_files(number)
    given = fuzz_annotations.Input(files, ("annotations", opened))
    assert try_one(tmp_path, given, number) is None


def test_spoiled_files_end_in_boxes_or_in_a_sentence(tmp_path):
    n = SHARE * fuzz_annotations.N_FORMS
    began = time.process_time()
    sentences = [
        try_one(tmp_path, fuzz_annotations.make_annotations(np.random.default_rng([1, i])), i)
        for i in range(n)
    ]
    assert 0.2 * n < sentences.count(None) < 0.9 * n
    assert time.process_time() - began < n


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"images": [],\n"annotations": [}', r"a\.json:2: invalid JSON \(.*byte 31"),
        ('{"images": [', r"a\.json: invalid JSON \(.*truncated"),
        ('{"a": 1}', r"a\.json is JSON, but not COCO annotations .*missing required field `images`"),
    ],
)
def test_broken_json_is_named_with_its_line(tmp_path, text, reason):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(SourceError, match=reason):
        read_annotations(tmp_path / "a.json")
