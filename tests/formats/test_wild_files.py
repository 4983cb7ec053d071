"""Files that no strict parser takes, and OpenCV does: libraries and old guides are full of them.

What makes them odd must not change the cascade that is read; that OpenCV 4.14 reads them too, to the same boxes, is
tried where it is at hand.
"""

import gzip
import re
import time
from contextlib import suppress

import builders
import numpy as np
import pytest
from model_files import as_json, as_yaml
from sample_cascades import assert_same

from vjcascade import compat
from vjcascade.errors import ModelError
from vjcascade.formats.cascade_files import dump_cascade, parse_cascade
from vjcascade.types import Size

CASCADE = builders.random_cascade(np.random.default_rng(3), Size(20, 16), (4, 5, 6), tree_share=0)
OTHER = builders.random_cascade(np.random.default_rng(4), Size(24, 24), (2,), tree_share=0)
XML, OLD = dump_cascade(CASCADE), dump_cascade(CASCADE, "old")
YAML, JSON = as_yaml(XML), as_json(XML)
SECOND = dump_cascade(OTHER).removeprefix(b'<?xml version="1.0"?>\n')
STORAGE = b"<opencv_storage>"
ROOT = b'<cascade type_id="opencv-cascade-classifier">'


def after(mark, addition, good=XML):
    assert mark in good
    return good.replace(mark, mark + addition, 1)


def changed(pattern, new, good):
    assert re.search(pattern, good)
    return re.sub(pattern, new, good, count=1)


def declared(encoding, comment=b""):
    data = after(STORAGE, b"<!-- " + comment + b" -->")
    return data.replace(b'"1.0"', b'"1.0" encoding="' + encoding + b'"', 1)


def without_end(xml):
    return xml.replace(b"</opencv_storage>", b"")


READ = {
    "two hyphens": after(STORAGE, b"<!-- a -- b -->"),
    "three hyphens": after(STORAGE, b"<!--- mine --->"),
    "comment of nothing": after(STORAGE, b"<!---->"),
    "comment of a hyphen": after(STORAGE, b"<!----->"),
    "comment with markup": after(STORAGE, b'<!-- <!-- <a> & </cascade> <b c="-- -->'),
    "comment before": after(b'<?xml version="1.0"?>', b"\n<!-- a -- b -->"),
    "comment behind": XML + b"<!-- a -- b -->",
    "comment behind without end": XML + b"<!-- a",
    "comment among numbers": changed(rb"<leafValues>\s*(\S+)", rb"<leafValues>\1 <!-- a -- b -->", XML),
    "comment before a number": after(b"<width>", b"<!-- a -- b -->"),
    "comment of an attribute": XML.replace(ROOT, b'<cascade type_id="<!--">') + b"<!-- -->",
    "Latin-1 comment": after(STORAGE, b"<!-- caf\xe9 -->"),
    "NUL in a comment": after(STORAGE, b"<!-- a\0b -->"),
    "Latin-1 elsewhere": after(b"</width>", b"<note>caf\xe9</note>"),
    "GB2312": declared(b"GB2312", "中文".encode("gb2312")),
    "Shift JIS": declared(b"Shift_JIS", "表示".encode("shift_jis")),
    "unknown encoding": declared(b"utf-99"),
    "UTF-7": declared(b"utf-7"),
    "UTF-16 by a wrong word": declared(b"utf-16"),
    "no version": XML.replace(b' version="1.0"', b""),
    "NUL at the end": XML + bytes(1),
    "NULs at the end": XML + bytes(5000),
    "NULs and garbage": XML + b"\0\0<garbage\n",
    "NUL inside": after(b"</width>", b"\0garbage"),
    "second storage": XML + SECOND,
    "second cascade": without_end(XML) + without_end(SECOND).replace(STORAGE, b"") + b"</opencv_storage>",
    "stageNum": changed(rb"<stageNum>\d+", b"<stageNum>20", XML),
    "stageNum, a word": changed(rb"<stageNum>\d+", b"<stageNum>many", XML),
    "maxWeakCount": changed(rb"<maxWeakCount>\d+(?=</maxWeakCount>\s*<stageT)", b"<maxWeakCount>99", XML),
    "old, comment": after(STORAGE, b"<!-- a -- \xe9 -->", OLD),
    "old, NULs": OLD + bytes(4),
    "YAML, Latin-1 comment": after(b"---\n", b"# caf\xe9 -- \x01\n", YAML),
    "YAML, NULs": YAML + bytes(10),
    "YAML, NULs and garbage": YAML + bytes(10) + b"garbage: [",
    "YAML, stageNum": changed(rb"stageNum: \d+", b"stageNum: 20", YAML),
    "YAML, second": YAML + as_yaml(dump_cascade(OTHER)).split(b"---\n")[1],
    "JSON, Latin-1 comment": after(b"{", b" // caf\xe9\n", JSON),
    "JSON, Latin-1 comment of lines": after(b"{", b" /* caf\xe9 ** -- \n */\n", JSON),
    "JSON, NULs": JSON + bytes(10),
    "JSON, garbage": JSON + b"garbage",
    "JSON, stageNum": changed(rb'"stageNum": \d+', b'"stageNum": 20', JSON),
    "JSON, second": JSON + as_json(dump_cascade(OTHER)),
    "JSON, second inside": JSON.rstrip().removesuffix(b"}") + b"," + as_json(dump_cascade(OTHER)).strip()[1:],
}  # fmt: skip


@pytest.mark.parametrize("data", READ.values(), ids=READ.keys())
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_the_cascade_is_that_of_the_tidy_file(data, pack):
    wanted = parse_cascade(OLD, "") if b"opencv-haar-classifier" in data else CASCADE
    assert_same(parse_cascade(pack(data), ""), wanted)


@pytest.mark.oracle
def test_opencv_reads_them_to_the_same_boxes(oracle, tmp_path):
    gray = builders.smooth_noise(np.random.default_rng(5), 60, 80)
    paths = []
    for number, data in enumerate([XML, *READ.values()]):
        form = "json" if data.startswith(b"{") else "yml" if data.startswith(b"%") else "xml"
        paths += [tmp_path / f"{number}.{form}", tmp_path / f"{number}.{form}.gz"]
        paths[-2].write_bytes(data)
        paths[-1].write_bytes(gzip.compress(data))
    answer = oracle("raw_windows", paths=list(map(str, paths)), gray=gray, scale_factor=1.1)
    refused = [path.name for path, n in zip(paths, answer["n_boxes"], strict=True) if n < 0]
    assert refused == []
    assert answer["n_boxes"][0] > 100
    theirs = np.split(answer["boxes"], np.cumsum(answer["n_boxes"])[:-1])
    for path, boxes in zip(paths, theirs, strict=True):
        ours = compat.CascadeClassifier(path).detectMultiScale(gray, 1.1, 0)
        np.testing.assert_array_equal(ours, boxes)


@pytest.mark.oracle
def test_opencv_refuses_what_is_refused_by_its_name(oracle, tmp_path):
    files = {"blank.xml": b"\n" + XML, "blank.yml": b"\n" + YAML, "two.xml": XML + XML}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ModelError, match="OpenCV refuses"):
            parse_cascade(data, name)
    paths = [str(tmp_path / name) for name in files]
    answer = oracle("raw_windows", paths=paths, gray=np.zeros((40, 40), np.uint8), scale_factor=1.1)
    assert answer["n_boxes"].tolist() == [-1, -1, -1]


@pytest.mark.parametrize(
    "data",
    [
        b"<opencv_storage>" + b"<!--" * 500_000,
        b"<opencv_storage>" + b"<!-- -->" * 250_000,
        b"<opencv_storage><a " + b" " * 2_000_000,
        b"<opencv_storage><" + b"a" * 2_000_000,
        b"<opencv_storage><a" + b' b="c"' * 300_000,
        b'<opencv_storage><a b="' + b"c" * 2_000_000,
        b"<opencv_storage>" + b"\0" * 2_000_000,
        XML + b" " * 2_000_000 + b"x",
        XML + b"<!-- -->" * 250_000 + b"x",
        XML + b"\0a\n" * 600_000 + b"x",
        XML + b"<!--" * 500_000,
        b"<?xml " * 300_000,
        b"</" + b"a" * 2_000_000,
    ],
    ids=range(13),
)
def test_skipping_takes_no_long_time(data):
    begun = time.process_time()
    with suppress(ModelError):
        parse_cascade(data, "")
    assert time.process_time() - begun < 5  # seconds; if it grew with the square, it were hours


def test_what_a_comment_hides_is_not_read():
    """No markup in it, and no metadata: that is the comment in its own element alone."""
    hidden = after(STORAGE, b'<!-- <!DOCTYPE a> <vjcascade>{"a": 1}</vjcascade> -->')
    assert parse_cascade(hidden, "").metadata == {}
    attribute = XML.replace(ROOT, b"<cascade a='<!--' b='<stages>' c='-->'>", 1)
    assert_same(parse_cascade(attribute, ""), CASCADE)
