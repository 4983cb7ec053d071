"""YAML and JSON as OpenCV reads them."""

import time
from contextlib import suppress

import numpy as np
import pytest
from model_files import as_json, as_yaml
from sample_cascades import assert_same, cascade_with

from vjcascade.errors import ModelError
from vjcascade.formats._text import parse_json, parse_yaml
from vjcascade.formats.cascade_files import dump_cascade, parse_cascade

XML = dump_cascade(cascade_with())
YAML, JSON = as_yaml(XML).decode(), as_json(XML).decode()


def test_yaml_blocks_and_flows():
    text = """%YAML:1.0
---
# a comment
cascade: !!opencv-cascade-classifier   # another
   words: "in quotes"
   spaced name: 'a'
   flow: { a:1, b: [ -1, 2.5,
       3 ], }
   items:
      - 1
      -
         x: [ ]
      - x: 2
        y: !!map { z: 3 }
      -  - 7
         - 8
...
---
other: 1
"""
    assert parse_yaml(text) == {
        "cascade": {
            "words": "in quotes",
            "spaced name": "a",
            "flow": {"a": "1", "b": ["-1", "2.5", "3"]},
            "items": ["1", {"x": []}, {"x": "2", "y": {"z": "3"}}, ["7", "8"]],
        }
    }


def test_json_with_comments_and_spare_commas():
    text = """{ // "a": 1
    "a" : [ 1, -2.5e+3, /* 7, */ "x // y", true, ],
    "b": {\t"c": {}, }, }
    """
    assert parse_json(text) == {"a": ["1", "-2.5e+3", "x // y", "true"], "b": {"c": {}}}


LENIENT = {
    "YAML 1.2": YAML.replace("%YAML:1.0", "%YAML 1.2"),
    "YAML with returns": YAML.replace("\n", "\r\n"),
    "YAML without end of line": YAML.rstrip(),
    "YAML with comments": YAML.replace("width: 20", "width: 20  # pixels\n# and\n"),
    "YAML with items on the line": YAML.replace("-\n         rects", "-  rects"),
    "JSON in one line": JSON.replace("\n", " "),
    "JSON with comments": JSON.replace('"width": 20', '/* pixels */ "width": 20 // "width": 21\n'),
    "JSON with bare points": JSON.replace(".0", "."),
}


@pytest.mark.parametrize("text", LENIENT.values(), ids=LENIENT.keys())
def test_variants_are_read(text):
    assert text not in {YAML, JSON}
    assert_same(parse_cascade(text.encode(), ""), cascade_with())


@pytest.mark.oracle
def test_opencv_reads_the_variants_too(oracle, tmp_path):
    paths = [
        tmp_path / f"{i}.{'yml' if name.startswith('YAML') else 'json'}" for i, name in enumerate(LENIENT)
    ]
    for path, text in zip(paths, LENIENT.values(), strict=True):
        path.write_bytes(text.encode())
    answer = oracle(
        "raw_windows", paths=list(map(str, paths)), gray=np.zeros((9, 9), np.uint8), scale_factor=1.1
    )
    assert dict(zip(LENIENT, answer["n_boxes"] >= 0, strict=True)) == dict.fromkeys(LENIENT, True)


@pytest.mark.parametrize(
    "text",
    [
        "a" + 1_000_000 * " ",
        1_000_000 * "a ",
        "x: " + 1_000_000 * "'",
        "x: [" + 1_000_000 * "- ",
        1_000_000 * "/*",
    ],
    ids=["spaces", "words", "quotes", "dashes", "comments"],
)
def test_nothing_takes_long(text):
    """The time for a token grows with its length, and with nothing else."""
    for parse, start in ((parse_json, '{"a": '), (parse_yaml, "%YAML:1.0\n")):
        begun = time.process_time()
        with suppress(ModelError):
            parse(start + text)
        assert time.process_time() - begun < 5  # seconds; if it grew with the square, it were hours
