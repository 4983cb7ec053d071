import gzip
import re

import pytest
from sample_cascades import assert_same, cascade_with

from vjcascade.errors import ModelError
from vjcascade.formats import _elements
from vjcascade.formats.opencv_xml import dump_xml, load_xml, parse_xml

GOOD = dump_xml(cascade_with({"booster": "cga", "rates": [0.995, 0.5]})).decode()


def edited(old, new, count=1):
    assert old in GOOD
    return GOOD.replace(old, new, count)


FEATURES = GOOD[GOOD.index("<features>") : GOOD.index("</features>") + len("</features>")]
RECT = "0 0 8 8 -1.</_>"
BROKEN = {
    "empty": (b"", "the file is empty"),
    "blank": (b" \r\n\t", "the file is empty"),
    "web page": (b"\n<!DOCTYPE html>\n<html><body>404</body></html>", "web page"),
    "web page after a comment": (b"<!-- saved --><HTML lang='en'>", "web page"),
    "text": (b"hello, I am a cascade", "not a cascade: it is no XML at all"),
    "NUL bytes": (bytes(1000), "no XML at all"),
    "UTF-16": (GOOD.encode("utf-16"), "no XML at all"),
    "JPEG": (b"\xff\xd8\xff\xe0\x00\x10JFIF", "a JPEG picture"),
    "gzip": (gzip.compress(GOOD.encode()), "gunzip"),
    "first 600 bytes": (GOOD[:600], "cut off: it ends in line"),
    "cut inside a tag": (GOOD[: GOOD.index("<stages>") + 4], "cut off"),
    "cut after a tag": (GOOD[: GOOD.index("<stages>")], "cut off"),
    "wrong closing tag": (edited("</height>", "</hight>"), "line 15 is not well-formed XML (mismatched tag)"),
    "something after the end": (GOOD + "<a/>", "not well-formed XML (junk after document element)"),
    "unknown encoding": (edited('"1.0"', '"1.0" encoding="utf-99"'), "encoding"),
    "odd encoding": (edited('"1.0"', '"1.0" encoding="utf-7"'), "encoding"),
    "entities": (
        '<!DOCTYPE a [<!ENTITY b "c">]><opencv_storage>&b;</opencv_storage>',
        "document type or entities",
    ),
    "undefined entity": (edited("BOOST", "&boost;"), "undefined entity"),
    "deep nesting": ("<a>" * 100_000, "nested more than 16 deep"),
    "other XML": ("<svg><path/></svg>", "this XML file is not a cascade: it is a <svg>"),
    "no cascade in it": ("<opencv_storage/>", "not a cascade"),
    "other storage": ("<opencv_storage><camera>1</camera></opencv_storage>", "its <camera> has no <stages>"),
    "old format": (
        edited("opencv-cascade-classifier", "opencv-haar-classifier"),
        "CascadeClassifier.convert",
    ),
    "old format, no type": ("<opencv_storage><a><size>1 2</size></a></opencv_storage>", "old format"),
    "LBP": (edited("HAAR", "LBP"), "featureType 'LBP' are not supported yet"),
    "HOG": (edited("HAAR", "HOG"), "featureType 'HOG' are not supported yet"),
    "other stages": (edited("BOOST", "SVM"), "stageType 'SVM'"),
    "no width": (edited("<width>20</width>", ""), "<width> is missing"),
    "two widths in one": (edited("<width>20<", "<width>20 20<"), "<width> holds 2 values"),
    "tiny window": (edited("<width>20<", "<width>2<"), "window 2x18 is not usable"),
    "huge window": (edited("<width>20<", "<width>2147483647<"), "window 2147483647x18 is not usable"),
    "octal": (edited("<width>20<", "<width>024<"), "'024' is not a whole number"),
    "more than 32 bits": (edited("<width>20<", "<width>4294967316<"), "'4294967316' is not a whole number"),
    "word": (
        edited("<stageThreshold>0.25", "<stageThreshold>high"),
        "stage 0: 'high' is not a finite 32-bit number",
    ),
    "infinite": (edited("<stageThreshold>0.25", "<stageThreshold>1e39"), "stage 0: '1e39' is not a finite"),
    "NaN": (edited("<stageThreshold>0.25", "<stageThreshold>.Nan"), "stage 0: '.Nan' is not a finite"),
    "long number": (edited("<stageThreshold>0.25", "<stageThreshold>" + "1" * 90_000), "is not a finite"),
    "long text": (edited("<stageThreshold>0.25", "<stageThreshold>" + "1 " * 90_000), "a few plain values"),
    "elements for numbers": (
        edited("<width>20<", "<width><_>20</_><"),
        "<width> does not hold a few plain values",
    ),
    "no features": (edited(FEATURES, "<features></features>"), "<features> is not a list of items"),
    "no stages": (
        re.sub(r"<stages>.*</stages>", "<stages/>", GOOD, flags=re.DOTALL),
        "<stages> is not a list",
    ),
    "item of another name": (edited("<features>", "<features><a/>"), "<features> is not a list of items"),
    "stageNum": (edited("<stageNum>1<", "<stageNum>2<"), "stageNum says 2, but the list has 1 items"),
    "maxWeakCount": (
        edited(
            "<maxWeakCount>2</maxWeakCount>\n      <stage", "<maxWeakCount>3</maxWeakCount>\n      <stage"
        ),
        "stage 0: maxWeakCount says 3, but the list has 2 items",
    ),
    "one rectangle": (re.sub(r"<_>\s+4 0 4 8 2.</_>", "", GOOD), "feature 0: it has 1 rectangles"),
    "four rectangles": (edited(RECT, RECT + 2 * "<_>1 1 2 2 1.</_>"), "feature 0: it has 4 rectangles"),
    "no weight": (edited(RECT, "0 0 8 8</_>"), "feature 0: a rectangle is not five numbers"),
    "real coordinate": (edited(RECT, "0. 0 8 8 -1.</_>"), "feature 0: '0.' is not a whole number"),
    "rectangle outside": (edited(RECT, "13 0 8 8 -1.</_>"), "feature 0: rectangle [13, 0, 8, 8]"),
    "tilted rectangle outside": (edited("6 2 3 3 -1.", "2 2 3 3 -1."), "[2, 2, 3, 3] (x, y, w, h, tilted)"),
    "far rectangle": (edited(RECT, "2147483647 0 8 8 -1.</_>"), "feature 0: rectangle [2147483647,"),
    "tilted 2": (edited("<tilted>1<", "<tilted>2<"), "feature 1: tilted is 2"),
    "feature index": (edited("0 -1 0 0.1", "0 -1 2 0.1"), "node 0 has feature 2, but there are 2 features"),
    "loop": (edited("-1 -2 0 1e-30", "1 -2 0 1e-30"), "node 2: left child 1 is not a later node"),
    "leaf of another tree": (edited("-1 -2 0 1e-30", "-1 -3 0 1e-30"), "node 2: right child -3"),
    "swapped stump": (edited("0 -1 0 0.1", "-1 0 0 0.1"), "node 0 is a stump"),
    "node cut": (
        edited("0 -1 0 0.1", "0 -1 0"),
        "stage 0, tree 0: 3 numbers in internalNodes do not fit 2 leaf",
    ),
    "no nodes": (edited("0 -1 0 0.1", ""), "stage 0, tree 0: 0 numbers"),
    "leaf missing": (
        edited("-1. 2.<", "-1.<"),
        "stage 0, tree 0: 4 numbers in internalNodes do not fit 1 leaf",
    ),
    "metadata, no JSON": (edited('"booster"', "booster"), "the metadata in <vjcascade> is not JSON"),
    "metadata, list": (re.sub(r"<!--\n{.*}\n", "<!--[]", GOOD, flags=re.DOTALL), "is not a JSON object"),
    "metadata, infinite": (edited("0.995", "1e999"), "1e999 is not a finite number"),
    "metadata, NaN": (edited("0.995", "NaN"), "NaN is not a finite number"),
    "metadata, deep": (edited("0.995", "[" * 100_000), "the metadata in <vjcascade> is not JSON"),
}


@pytest.mark.parametrize(("content", "sentence"), BROKEN.values(), ids=BROKEN.keys())
def test_broken_file_is_refused_with_its_reason(tmp_path, content, sentence):
    path = tmp_path / "broken.xml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ModelError) as caught:
        load_xml(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert sentence in message
    assert ";" in message  # what to do comes after it
    assert len(message) < len(str(path)) + 250


def test_too_many_elements(monkeypatch):
    monkeypatch.setattr(_elements, "MAX_ELEMENTS", 20)
    with pytest.raises(ModelError, match="more than 20 elements"):
        parse_xml(GOOD.encode(), "model.xml")


NUMBERS = [
    *"012",
    "-1",
    "-2",
    "-0.",
    "1e39",
    "-1e39",
    "1e-60",
    "nan",
    "99999999999",
    "0x10",
    "",
    "2 3",
    "é",
    "<_>",
    "]]>",
]


def spoiled(data, rng):
    """Return the bytes with one to three accidents: a bit flipped, a cut, a piece twice or lost, another number."""
    for _ in range(rng.integers(1, 4)):
        start, length = rng.integers(0, len(data)), rng.integers(1, 40)
        match rng.integers(0, 10):
            case 0:
                data = data[:start] + bytes([data[start] ^ 1 << rng.integers(0, 8)]) + data[start + 1 :]
            case 1:
                data = data[: start + 1]
            case 2:
                data = data[:start] + data[start : start + length] + data[start:]
            case 3:
                data = data[: start + 1] + data[start + length :]
            case _:
                numbers = list(re.finditer(rb"-?\d[\d.e-]*", data)) or [re.match(b"", data)]
                number = numbers[rng.integers(0, len(numbers))]
                data = data[: number.start()] + rng.choice(NUMBERS).encode() + data[number.end() :]
    return data


def test_spoiled_files_load_whole_or_raise_model_error(rng):
    n_loaded = 0
    for _ in range(600):
        data = spoiled(GOOD.encode(), rng)
        try:
            cascade = parse_xml(data, "spoiled.xml")
        except ModelError:
            continue
        assert_same(parse_xml(dump_xml(cascade), ""), cascade)
        n_loaded += 1
    assert 20 < n_loaded < 580
