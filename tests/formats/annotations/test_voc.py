"""Pascal VOC's XML."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from vjcascade.errors import SourceError
from vjcascade.formats.annotations import voc
from vjcascade.formats.annotations.voc import annotation_files, read_voc

PART = (
    "<part><name>head</name><bndbox><xmin>7</xmin><ymin>7</ymin><xmax>8</xmax><ymax>8</ymax></bndbox></part>"
)


def thing(numbers, name="face", difficult=0, more=""):
    tags = zip(("xmin", "ymin", "xmax", "ymax"), numbers, strict=True)
    box = "".join(f"<{tag}>{number}</{tag}>" for tag, number in tags)
    return f"<object><name>{name}</name><difficult>{difficult}</difficult>\n<bndbox>{box}</bndbox>{more}</object>"


def annotation(*things, picture="a.png"):
    head = '<?xml version="1.0"?>\n<!-- made by hand -->\n'
    size = "<size><width>640</width><height>480</height></size>"
    return f'{head}<annotation verified="no"><filename>{picture}</filename>{size}{"".join(things)}</annotation>\n'


@pytest.fixture
def folder(tmp_path):
    """Return a folder in the form of VOC."""
    for name in ("Annotations", "JPEGImages"):
        (tmp_path / name).mkdir()
    for name in ("a.png", "b&c.png"):
        (tmp_path / "JPEGImages" / name).touch()
    return tmp_path


def read(folder, *texts, **options):
    for number, text in enumerate(texts):
        (folder / "Annotations" / f"{number}.xml").write_text(text)
    return read_voc(folder).of_label(options.get("category"))


def test_boxes_begin_at_one_and_end_inside(folder):
    found = read(
        folder,
        annotation(thing((1, 1, 24, 12), more=PART), thing((3, 4, 5.5, 6), difficult=1)),
        annotation(picture="b&amp;c.png"),
    )
    assert [(one.name, one.boxes, one.ignored) for one in found.pictures] == [
        ("a.png", ((0, 0, 24, 12),), ((2, 3, 3.5, 3),)),
        ("b&c.png", (), ()),
    ]
    assert found.faults == ()
    assert annotation_files(folder / "Annotations") == annotation_files(folder)


def test_the_category_is_chosen(folder):
    text = annotation(thing((1, 1, 2, 2), "cat"), thing((1, 1, 4, 4), "dog"))
    assert read(folder, text, category="dog").pictures[0].boxes == ((0, 0, 4, 4),)
    with pytest.raises(SourceError, match=r"objects of 2 kinds \(cat, dog\)"):
        read(folder, text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<annotation></annotation>", "it has no <filename>"),
        (annotation(picture="gone.png"), "gone.png: not found in"),
        ("<opencv_storage/>", "line 1: it is not <annotation>"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><annotation/>', "document type or entities"),
        (annotation()[:60], "cut off"),
        ("<annotation><a></b></annotation>", "</b> closes nothing"),
        ("", "cut off"),
        ("<annotation>" + "<a>" * 50_000, "it is not <annotation>"),
        ("<annotation>" + "<a/>\n" * 200_000, "cut off"),
    ],
)
def test_wrong_files_are_named(folder, text, reason):
    began = time.process_time()
    found = read(folder, text, annotation())
    ((place, said, *_),) = found.faults
    assert place == 1
    assert said.startswith("0.xml: ")
    assert reason in said
    assert len(found.pictures) == 1
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (thing((1, 2, 3, "x")), "line 5: the object that ends here: ymax: 'x' is not a number"),
        (thing((1, 2, 3, "1e999")), "line 5: the object that ends here: ymax: '1e999' is not a number"),
        (
            thing((1, 2, "1e99", 3)),
            "line 5: the object that ends here: 1e+99 is not a valid number of pixels",
        ),
        ("\n<object><name>face</name></object>", "line 5: the object that ends here: it has no xmin"),
    ],
)
def test_a_wrong_object_is_named_and_the_others_are_read(folder, wrong, reason):
    found = read(folder, annotation(thing((1, 1, 24, 12)), wrong, thing((3, 4, 5, 6))))
    assert [one.boxes for one in found.pictures] == [((0, 0, 24, 12), (2, 3, 3, 3))]
    assert found.faults == ((1, f"0.xml: {reason}", "face", "a.png"),)


def test_too_much_is_refused(folder, monkeypatch):
    monkeypatch.setattr(voc, "MAX_OBJECTS", 2)
    assert "more than 2 objects" in read(folder, annotation(*[thing((1, 1, 2, 2))] * 3)).faults[0].reason
    monkeypatch.setattr(voc, "MAX_BYTES", 20)
    assert "too much for annotations" in read(folder, annotation()).faults[0].reason


def test_a_nul_byte_joins_no_objects(folder):
    text = annotation(thing((1, 1, 24, 12)), thing((3, 4, 5, 6))).replace("</object>", "\0/object>", 1)
    assert "a NUL byte" in read(folder, text).faults[0].reason


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(st.integers(0, 300), st.sampled_from(["", "<", ">", "&", "\0", "</object>", "<bndbox>", "9" * 50]))
def test_spoiled_files_end_in_a_sentence_or_in_boxes(folder, place, inserted):
    text = annotation(thing((1, 1, 24, 12)), thing((3, 4, 5, 6), difficult=1))
    try:
        found = read(folder, text[:place] + inserted + text[place + 1 :])
    except SourceError as error:  # one of the names is another now
        assert "objects of 2 kinds" in str(error)  # noqa: PT017
    else:
        n_objects = sum(len(picture.objects) for picture in found.pictures)
        assert n_objects + len(found.faults) == (
            2 if found.pictures else 1
        )  # the file, or what is wrong in it


@pytest.mark.parametrize(("word", "n_wanted"), [("true", 0), ("True", 0), ("1", 0), ("false", 1), ("0", 1)])
def test_difficult_in_numbers_and_in_words(folder, word, n_wanted):
    (picture,) = read(folder, annotation(thing((1, 1, 24, 24), difficult=word))).pictures
    assert (len(picture.boxes), len(picture.objects)) == (n_wanted, 1)
