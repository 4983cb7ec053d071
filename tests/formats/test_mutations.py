"""Spoiled files of every form: a sentence that names the place, or a model that passes all checks.

There are 900, the same in every run; VJCASCADE_THOROUGH=1 takes 10,000.
"""

import os
import re

import pytest
from model_files import good_files, mutants
from sample_cascades import assert_same

from vjcascade.errors import ModelError
from vjcascade.formats.cascade_files import dump_cascade, parse_cascade

N_MUTANTS = 10_000 if "VJCASCADE_THOROUGH" in os.environ else 900
PLACE = re.compile(
    r"(line|stage|tree|node|feature) \d+: |ends in line \d+|line \d+ is not|node \d+ has"
    r"|node \d+ is a stump|window \S+ is not usable|the compressed file|the file is empty|document type"
    r"|this is not a cascade|this XML file is not a cascade|encoding cannot be read|the metadata in <vjcascade>"
    r"|cascades with (stage|feature)Type"
    r"|\b(width|height|size|stages|features|stageType|featureType|stageNum|maxCatCount)\b(:| is| says| holds)"
)


@pytest.mark.parametrize("name", good_files())
def test_good_files_load(name):
    assert parse_cascade(good_files()[name], name).n_trees == 2


def complaint(data):
    """Return the sentence that refuses a file; check the model, if there is none."""
    try:
        cascade = parse_cascade(data, "spoiled")
    except ModelError as error:
        return str(error)
    assert_same(parse_cascade(dump_cascade(cascade), ""), cascade)
    return None


def test_spoiled_files_load_whole_or_name_the_place():
    complaints = [(name, complaint(data)) for name, data in mutants(N_MUTANTS)]
    refused = [(name, sentence) for name, sentence in complaints if sentence is not None]
    assert [item for item in refused if not PLACE.search(item[1])] == []
    assert all("; " in sentence and len(sentence) < 400 for _, sentence in refused)
    assert 0.03 < 1 - len(refused) / N_MUTANTS < 0.9
