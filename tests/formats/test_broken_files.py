import gzip
import re

import pytest
from model_files import as_json, as_yaml, lbp_cascade
from sample_cascades import cascade_with

from vjcascade.errors import ModelError
from vjcascade.formats import _source, _tree
from vjcascade.formats.cascade_files import dump_cascade, load_cascade, parse_cascade

GOOD = dump_cascade(cascade_with({"booster": "cga", "rates": [0.995, 0.5]})).decode()


def edited(old, new, count=1, good=GOOD):
    assert old in good
    return good.replace(old, new, count)


def as_yaml_of(text):
    return as_yaml(text.encode())


def as_json_of(text):
    return as_json(text.encode())


FEATURES = GOOD[GOOD.index("<features>") : GOOD.index("</features>") + len("</features>")]
RECT = "0 0 8 8 -1.</_>"
BROKEN = {
    "empty": (b"", "the file is empty"),
    "blank": (b" \r\n\t", "the file is empty"),
    "web page": (b"\n<!DOCTYPE html>\n<html><body>404</body></html>", "web page"),
    "web page after a comment": (b"<!-- saved --><HTML lang='en'>", "web page"),
    "text": (b"hello, I am a cascade", "not a cascade: it is neither XML nor"),
    "NUL bytes": (bytes(1000), "neither XML nor the YAML or JSON"),
    "UTF-16": (GOOD.encode("utf-16"), "it is a text in UTF-16"),
    "JPEG": (b"\xff\xd8\xff\xe0\x00\x10JFIF", "a JPEG picture"),
    "gzip in gzip": (gzip.compress(gzip.compress(GOOD.encode())), "it is compressed twice"),
    "gzip, cut": (gzip.compress(GOOD.encode())[:-20], "the compressed file (gzip) is damaged or cut off"),
    "gzip, changed": (
        gzip.compress(GOOD.encode())[:-8] + b"abcdefgh",
        "the compressed file (gzip) is damaged",
    ),
    "gzip, only the signature": (b"\x1f\x8b", "the compressed file (gzip) is damaged"),
    "gzip of nothing": (gzip.compress(b""), "the file is empty"),
    "first 600 bytes": (GOOD[:600], "cut off: it ends in line"),
    "cut inside a tag": (GOOD[: GOOD.index("<stages>") + 4], "cut off"),
    "cut after a tag": (GOOD[: GOOD.index("<stages>")], "cut off"),
    "wrong closing tag": (
        edited("</height>", "</hight>"),
        "line 15: not well-formed XML (mismatched tag): </hight> closes <height>",
    ),
    "something after the end": (GOOD + "<a/>", "'<a/>' follows </opencv_storage>"),
    "another file after the end": (
        GOOD + GOOD,
        "follows </opencv_storage>, so OpenCV refuses the file",
    ),
    "blank line first": ("\n" + GOOD, "line 2: the file must begin with <?xml, else OpenCV refuses it"),
    "blank first": (" " + GOOD, "line 1: the file must begin with <?xml, else OpenCV refuses it"),
    "comment first": ("<!-- mine -->\n" + GOOD, "line 2: the file must begin with <?xml"),
    "blank line first, gzip": (
        gzip.compress(b"\n" + GOOD.encode()),
        "line 2: the file must begin with <?xml",
    ),
    "text first": ("<!-- mine -->x" + GOOD, "line 1: 'x' comes before <opencv_storage>"),
    "CDATA": (
        edited("BOOST", "<![CDATA[BOOST]]>"),
        "line 13: CDATA sections are not supported, nor by OpenCV",
    ),
    "comment in CDATA": (
        edited("BOOST", "<![CDATA[<!--]]>BOOST<!-- -->"),
        "CDATA sections are not supported",
    ),
    "comment in a tag": (
        edited("<stages>", "<stages <!-- a -->>"),
        "is not well-formed XML ('<stages <!-- a --'",
    ),
    "comment in a number": (edited("<width>20<", "<width>2<!-- a -->0<"), "width is not one plain value"),
    "comment without end": (edited("<stages>", "<!-- <stages>").replace("-->", "->"), "the file is cut off"),
    "comment up to the next one's end": (
        edited("<stageType>", "<!--<stageType>"),
        "</stages> closes <cascade>",
    ),
    "comment after a comment's end": (edited("<stages>", "<!-- <!-- a --> --><stages>"), "text beside other"),
    "end of nothing": ("</opencv_storage>", "</opencv_storage> closes nothing"),
    "document type after comments": (
        '<?xml version="1.0"?><!-- -- --><!DOCTYPE a SYSTEM "file:///etc/passwd"><opencv_storage/>',
        "document type or entities",
    ),
    "document type inside": (
        edited("<stages>", '<!ENTITY a SYSTEM "file:///etc/passwd"><stages>'),
        "document type or entities",
    ),
    "entities": (
        '<!DOCTYPE a [<!ENTITY b "c">]><opencv_storage>&b;</opencv_storage>',
        "document type or entities",
    ),
    "undefined entity": (edited("BOOST", "&boost;"), "stageType '&boost;' are not supported"),
    "character by its number": (edited("<width>20<", "<width>2&#48;<"), "'2&#48;' is not a whole number"),
    "deep nesting": ("<opencv_storage>" * 100_000, "line 1: it is nested more than 16 deep"),
    "other XML": ("<svg><path/></svg>", "this XML file is not a cascade: it is a <svg>"),
    "no cascade in it": ("<opencv_storage/>", "not a cascade"),
    "other storage": ("<opencv_storage><camera>1</camera></opencv_storage>", "its 'camera' has no 'stages'"),
    "LBP": (edited("HAAR", "LBP"), "maxCatCount is 0 instead of 256"),
    "HOG": (edited("HAAR", "HOG"), "featureType 'HOG' are not supported"),
    "other stages": (edited("BOOST", "SVM"), "stageType 'SVM'"),
    "no width": (edited("<width>20</width>", ""), ": width is missing"),
    "two widths in one": (edited("<width>20<", "<width>20 20<"), ": width is not one plain value"),
    "tiny window": (edited("<width>20<", "<width>2<"), "window 2x18 is not usable"),
    "huge window": (edited("<width>20<", "<width>2147483647<"), "window 2147483647x18 is not usable"),
    "octal": (edited("<width>20<", "<width>024<"), "'024' is not a whole number"),
    "more than 32 bits": (edited("<width>20<", "<width>4294967316<"), "'4294967316' is not a whole number"),
    "word": (
        edited("<stageThreshold>0.25", "<stageThreshold>high"),
        "stage 0: stageThreshold: 'high' is not a finite 32-bit number",
    ),
    "infinite": (
        edited("<stageThreshold>0.25", "<stageThreshold>1e39"),
        "stage 0: stageThreshold: '1e39' is not a finite",
    ),
    "NaN": (
        edited("<stageThreshold>0.25", "<stageThreshold>.Nan"),
        "stage 0: stageThreshold: '.Nan' is not a finite",
    ),
    "long number": (edited("<stageThreshold>0.25", "<stageThreshold>" + "1" * 90_000), "is not a finite"),
    "long text": (
        edited("<stageThreshold>0.25", "<stageThreshold>" + "1 " * 90_000),
        "stage 0: stageThreshold is not one plain value",
    ),
    "elements for numbers": (
        edited("<width>20<", "<width><_>20</_><"),
        ": width is not one plain value",
    ),
    "no features": (edited(FEATURES, "<features></features>"), "features is not a list with items"),
    "no stages": (
        re.sub(r"<stages>.*</stages>", "<stages/>", GOOD, flags=re.DOTALL),
        "stages is not a list with items",
    ),
    "item of another name": (
        edited("<features>", "<features><a/>"),
        "<features>: it holds items <_> beside other",
    ),
    "no rectangle": (
        re.sub(r"<rects>.*?</rects>", "<rects/>", GOOD, flags=re.DOTALL),
        "feature 0: rects is not",
    ),
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
        "stage 0, tree 0: 3 numbers in internalNodes cannot fit 2 leaf",
    ),
    "no nodes": (edited("0 -1 0 0.1", ""), "stage 0, tree 0: 0 numbers"),
    "leaf missing": (
        edited("-1. 2.<", "-1.<"),
        "stage 0, tree 0: 4 numbers in internalNodes cannot fit 1 leaf value; ",
    ),
    "twice": (edited("<width>20<", "<width>20</width><width>20<"), "'width' appears twice"),
    "text beside elements": (
        edited("<features>", "<features>7"),
        "<features>: it holds text beside other elements",
    ),
    "metadata, no JSON": (edited('"booster"', "booster"), "the metadata in <vjcascade> is not JSON"),
    "metadata, list": (re.sub(r"<!--\n{.*}\n", "<!--[]", GOOD, flags=re.DOTALL), "is not a JSON object"),
    "metadata, infinite": (edited("0.995", "1e999"), "1e999 is not a finite number"),
    "metadata, NaN": (edited("0.995", "NaN"), "NaN is not a finite number"),
    "metadata, deep": (edited("0.995", "[" * 100_000), "the metadata in <vjcascade> is not JSON"),
}


LBP = dump_cascade(lbp_cascade()).decode()
OLD = dump_cascade(cascade_with(), "old").decode()
YAML, JSON = as_yaml_of(GOOD).decode(), as_json_of(GOOD).decode()


def lbp(old, new):
    return edited(old, new, good=LBP)


def old(old, new):
    return edited(old, new, good=OLD)


def yaml(old, new):
    return edited(old, new, good=YAML)


def json(old, new):
    return edited(old, new, good=JSON)


BROKEN |= {
    "LBP, cell outside": (lbp("2 3 1 2<", "2 13 1 2<"), "feature 1: three by three cells [2, 13, 1, 2]"),
    "LBP, three numbers": (lbp("2 3 1 2<", "2 3 1<"), "feature 1: its rect is not four numbers"),
    "LBP, categories": (lbp("<maxCatCount>256<", "<maxCatCount>512<"), "maxCatCount is 512 instead of 256"),
    "LBP, unsigned subset": (
        lbp("-2147483648", "2147483648"),
        "stage 0, tree 0: '2147483648' is not a whole",
    ),
    "LBP, short subset": (
        lbp("-2147483648 ", ""),
        "stage 0, tree 0: 10 numbers in internalNodes cannot fit 2 leaf",
    ),
    "LBP, no cells": (
        lbp("<rect>", "<rects>").replace("</rect>", "</rects>", 1),
        "feature 0: rect is missing",
    ),
    "old, three sizes": (old("20 18", "20 18 1"), "size is not two numbers"),
    "old, word for a size": (old("20 18", "20 x"), "size: 'x' is not a whole number"),
    "old, no threshold": (
        old("<threshold>0.1</threshold>", ""),
        "stage 0, tree 0: node 0: threshold is missing",
    ),
    "old, NaN": (old("<threshold>0.1<", "<threshold>nan<"), "node 0: threshold: 'nan' is not a finite"),
    "old, no feature": (
        old("<feature>", "<a>").replace("</feature>", "</a>", 1),
        "tree 0: node 0: feature is missing",
    ),
    "old, stump with a child": (
        old("<left_val>-1.</left_val>", "<left_node>1</left_node>"),
        "stage 0, tree 0: node 0: it is alone in its tree",
    ),
    "old, loop": (
        old("<left_val>-4.</left_val>", "<left_node>1</left_node>"),
        "stage 0, tree 1: 2 nodes cannot fit 2 leaf values; ",
    ),
    "old, root as a child": (old("<left_node>1<", "<left_node>0<"), "tree 1: node 0: left_node is 0"),
    "old, far child": (old("<left_node>1<", "<left_node>9<"), "node 1: left child 9 is not a later node"),
    "old, four rectangles": (
        old("0 0 8 8 -1.</_>", "0 0 8 8 -1.</_>" + 2 * "<_>1 1 2 2 1.</_>"),
        "stage 0, tree 0: node 0: it has 4 rectangles",
    ),
    "old, rectangle outside": (old("0 0 8 8 -1.", "13 0 8 8 -1."), "feature 0: rectangle [13, 0, 8, 8]"),
    "old, empty tree": (
        re.sub(r"<!-- tree 0 -->.*?</_></_>", "</_>", OLD, flags=re.DOTALL),
        "tree 0: it is not a list",
    ),
    "YAML, version": (yaml("%YAML:1.0", "%YAML:2.0"), "line 1: '%YAML:2.0' is not a version of YAML"),
    "YAML, only a header": ("%YAML:1.0", "the file is cut off: it ends in line 2"),
    "YAML, cut": (YAML[: YAML.index("stages:") + 8], "the file is cut off: it ends in line"),
    "YAML, indentation": (yaml("   width:", "    width:"), "line 7: 'width:' is not expected here"),
    "YAML, less indentation": (yaml("   width:", "  width:"), "line 7: 'width:' is not expected here"),
    "YAML, tab": (yaml("   width:", "\twidth:"), "line 7: '\\twidth: 20' is not understood"),
    "YAML, twice": (yaml("   width: 20", "   width: 20\n   width: 20"), "line 8: 'width' appears twice"),
    "YAML, item for a name": (yaml("   width: 20", "   - 20"), "line 7: '-' is not expected here"),
    "YAML, anchor": (yaml("width: 20", "width: &a 20"), "width: '&a 20' is not a whole number"),
    "YAML, bracket": (yaml("[ 0, -1, 0, 0.1 ]", "[ 0, -1, 0, 0.1 }"), "'}' is not expected here"),
    "YAML, deep": ("%YAML:1.0\n---\na: " + 10_000 * "[", "nested more than 16 deep"),
    "YAML, deep blocks": ("%YAML:1.0\n---\n" + 10_000 * "- ", "nested more than 16 deep"),
    "YAML, infinite": (yaml("stageThreshold: 0.25", "stageThreshold: .Inf"), "'.Inf' is not a finite"),
    "YAML, list": ("%YAML:1.0\n---\n- 1\n- 2\n", "it has no named entries"),
    "YAML, no text": (YAML.encode() + b"\xff", "'ÿ' is not expected here"),
    "YAML, blank line first": ("\n" + YAML, "line 1: the file must begin with %YAML"),
    "JSON, cut": (JSON[: JSON.index('"stages"') + 12], "the file is cut off: it ends in line"),
    "JSON, comma": (json('"width": 20,', '"width": 20'), "line 8: '\"stageParams\":' is not expected here"),
    "JSON, null": (json('"width": 20', '"width": null'), "width: 'null' is not a whole number"),
    "JSON, no quotes": (json('"width": 20', "width = 20"), "line 7: 'width' is not expected here"),
    "JSON, open comment": (json('"width": 20', '"width": /* 20'), "line 7: '/* 20,' is not understood"),
    "JSON, twice": (json('"width": 20', '"width": 20, "width": 20'), "line 7: 'width' appears twice"),
    "JSON, deep": ('{"a": ' + 100_000 * "[", "nested more than 16 deep"),
    "JSON, empty": ("{}", "it has no named entries"),
    "JSON, list for numbers": (json('"width": 20', '"width": [20]'), "width is not one plain value"),
    "JSON, mapping for numbers": (
        re.sub(r'"leafValues": \[.*?\]', '"leafValues": {}', JSON, count=1, flags=re.DOTALL),
        "stage 0, tree 0: leafValues holds named values",
    ),
}


STORAGE = '<?xml version="1.0"?>\n<opencv_storage>\n'
OTHERS = {
    "GitHub page": (
        '{"payload":{"allShortcutsEnabled":true,"blob":{"rawLines":null}}}',
        "a page of GitHub as JSON",
    ),
    "GitHub answer": (
        '{\n  "name": "c.xml",\n  "html_url": "https://github.com/a"}',
        "a page of GitHub as JSON",
    ),
    "Git LFS": (
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 930127\n",
        "a Git LFS pointer instead of the file; get the file with `git lfs pull`",
    ),
    "HOG": (
        STORAGE
        + '<hog type_id="opencv-object-detector-hog"><winSize>64 128</winSize></hog></opencv_storage>',
        "a HOG detector; cv2.HOGDescriptor loads it",
    ),
    "SVM": (
        STORAGE + "<opencv_ml_svm><format>3</format></opencv_ml_svm></opencv_storage>",
        "a support vector",
    ),
    "old SVM": (
        STORAGE + '<my_svm type_id="opencv-ml-svm"><svm_type>C_SVC</svm_type></my_svm></opencv_storage>',
        "a support vector machine; cv2.ml.SVM_load loads it",
    ),
    "SVM in YAML": ("%YAML:1.0\n---\nopencv_ml_svm:\n   svmType: C_SVC\n", "a support vector machine"),
    "forest": (
        STORAGE + "<opencv_ml_rtrees><format>3</format></opencv_ml_rtrees></opencv_storage>",
        "module ml",
    ),
    "face recogniser": ("%YAML:1.0\n---\nopencv_lbphfaces:\n   threshold: 1.\n", "a face recogniser"),
    "params.xml": (
        STORAGE + "<params>\n  <stageType>BOOST</stageType></params>\n</opencv_storage>\n",
        "params.xml of opencv_traincascade, its settings; give cascade.xml",
    ),
    "stage3.xml": (
        STORAGE + "<stage3>\n  <maxWeakCount>3</maxWeakCount></stage3>\n</opencv_storage>\n",
        "one stage of opencv_traincascade; give cascade.xml",
    ),
    "Keras": (b"\x89HDF\r\n\x1a\n" + bytes(100), "an HDF5 file"),
}


@pytest.mark.parametrize(("content", "kind"), OTHERS.values(), ids=OTHERS.keys())
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_other_files_are_named_with_what_to_do(content, kind, pack):
    data = pack(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ModelError, match=re.escape("m.xml: this is not a cascade: it is ")) as caught:
        parse_cascade(data, "m.xml")
    assert kind in str(caught.value)
    assert "; " in str(caught.value)


def test_a_good_cascade_may_speak_of_other_files():
    speech = '<!-- <html> svm_type opencv_ml_svm SVMDetector "payload" <!DOCTYPE html> -->'
    assert parse_cascade(edited("<opencv_storage>", "<opencv_storage>" + speech).encode(), "").n_stages == 1


@pytest.mark.parametrize(("content", "sentence"), BROKEN.values(), ids=BROKEN.keys())
def test_broken_file_is_refused_with_its_reason(tmp_path, content, sentence):
    path = tmp_path / "broken.xml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ModelError) as caught:
        load_cascade(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert sentence in message
    assert ";" in message  # what to do comes after it
    assert len(message) < len(str(path)) + 250


@pytest.mark.parametrize("form", [str.encode, as_yaml_of, as_json_of])
def test_too_many_values(monkeypatch, form):
    monkeypatch.setattr(_tree, "MAX_VALUES", 40)
    with pytest.raises(ModelError, match="more than 40 values"):
        parse_cascade(form(GOOD), "model")


def test_gzip_bomb_is_not_unpacked(monkeypatch):
    monkeypatch.setattr(_source, "MAX_BYTES", 100_000)
    bomb = gzip.compress(b"<opencv_storage>" + bytes(1_000_000))
    with pytest.raises(ModelError, match=r"has more than 0 MB, which no cascade has; do not trust it"):
        parse_cascade(bomb, "model.xml.gz")
