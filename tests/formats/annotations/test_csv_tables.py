"""Tables of boxes, as people write them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.csv_tables import is_csv, read_csv
from vjcascade.formats.annotations.opencv_lists import read_opencv_list
from vjcascade.formats.annotations.reading import read_annotations, reader_of


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("a.png", "b c.png", "sub/d.png"):
        (tmp_path / name).touch()
    return tmp_path


def read(folder, text, **options):
    (folder / "boxes.csv").write_text(text)
    return read_csv(folder / "boxes.csv").of_label(options.get("category"))


@pytest.mark.parametrize(
    "text",
    [
        "file,x,y,w,h\na.png,1,2,3,4",
        "\ufeffFile,X,Y,Width,Height\r\na.png,1,2,3,4\r\n",
        "image;left;top;width;height\na.png;1;2;3.0;4",
        "filename\tx\ty\tw\th\n\na.png\t1\t2\t3\t4\n\n",
        'w,h,"file",x,y\n3,4,"a.png",1, 2',
        "filename,width,height,class,xmin,ymin,xmax,ymax\na.png,640,480,face,1,2,4,6",
        "image,x1,y1,x2,y2,score\na.png,1,2,4,6,high",
    ],
)
def test_usual_tables(folder, text):
    assert is_csv(text.removeprefix("\ufeff"))  # as `decoded` does
    (picture,) = read(folder, text).pictures
    assert (picture.name, picture.boxes) == ("a.png", ((1, 2, 3, 4),))


def test_lines_of_one_picture_are_joined_and_one_without_a_box_has_none(folder):
    found = read(folder, "file,x,y,w,h\na.png,1.5,2,3,4\nb c.png,,,,\na.png,5,6,7,8e0\nsub\\d.png\n")
    assert [(one.place, one.name, one.boxes) for one in found.pictures] == [
        (2, "a.png", ((1.5, 2, 3, 4), (5, 6, 7, 8))),
        (3, "b c.png", ()),
        (5, "sub\\d.png", ()),
    ]
    assert found.faults == ()


def test_regions_to_ignore(folder):
    (one,) = read(folder, "file,x,y,w,h,ignore\na.png,1,2,3,4,0\na.png,5,6,7,8,1\na.png,9,9,9,9,\n").pictures
    assert one.boxes == ((1, 2, 3, 4), (9, 9, 9, 9))
    assert one.ignored == ((5, 6, 7, 8),)


def test_the_category_is_chosen(folder):
    text = "file,x,y,w,h,class\na.png,1,2,3,4,cat\na.png,5,6,7,8,dog\nb c.png,5,6,7,8,dog"
    found = read(folder, text, category="cat")
    assert [one.boxes for one in found.pictures] == [((1, 2, 3, 4),), ()]
    with pytest.raises(SourceError, match=r"objects of 2 kinds \(cat, dog\); choose one"):
        read(folder, text)
    with pytest.raises(SourceError, match="no objects of the category 'dogs'; did you mean 'dog'"):
        read(folder, text, category="dogs")
    with pytest.raises(SourceError, match="the file has no categories"):
        read(folder, "file,x,y,w,h\na.png,1,2,3,4", category="dog")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a.png,1,2,3,", "'' is not a number; a box needs four"),
        ("a.png,1,2,3,nan", "'nan' is not a number"),
        ("a.png,1,2,3,1e999", "inf is not a valid number of pixels"),
        ("a.png,1,2,3,9999999999", "1e+10 is not a valid number of pixels"),
        (f"a.png,1,2,3,{'9' * 99}", "is not a number"),
        (",1,2,3,4", "there is no file name"),
        ("gone.png,1,2,3,4", "gone.png: not found in"),
        (".,1,2,3,4", "it is a folder"),
        ("a\0.png,1,2,3,4", "not found in"),
    ],
)
def test_wrong_lines_are_named(folder, line, reason):
    found = read(folder, f"file,x,y,w,h\na.png,1,2,3,4\n{line}\n")
    ((place, said, *_),) = found.faults
    assert place == 3
    assert reason in said
    assert len(found.pictures) == 1


@pytest.mark.parametrize(
    "text", ["", "a.png 1 2 3 4 5", "file,x,y\na.png,1,2", "x,y,w,h\n1,2,3,4", "file,count,x,y,w,h"]
)
def test_other_texts_are_no_tables(text):
    assert not is_csv(text)


def test_a_table_needs_names_of_columns(folder):
    with pytest.raises(SourceError, match=r"boxes\.csv: the first line must name the columns"):
        read(folder, "a.png,b,c")
    with pytest.raises(SourceError, match=r"boxes\.csv:2: field larger than field limit"):
        read(folder, f"file,x,y,w,h\n{'a' * 200_000},1,2,3,4")


@pytest.mark.parametrize(
    "text",
    [
        "a.png,1,2,3,4\nb c.png,5,6,7,8.5",
        "\na.png,1,2,3,4,car",
        '"a.png"; 1; 2; 3; 4; 0.9',
        "a.png,640,480,car,1,2,3,4",
    ],
)
def test_a_table_that_lacks_names_of_columns_says_so(folder, text):
    (folder / "boxes.csv").write_text(text)
    with pytest.raises(SourceError, match=r"the header is missing; add a first line such as file,x"):
        read_annotations(folder / "boxes.csv")


@pytest.mark.parametrize(
    "text",
    ["a.png,1,2,3,4,5\nb c.png,0", "a.png,1,2,3,4\nb c.png,1,2,3,4,5", "a.png 1 2 3 4", "a,1,2,3,4.png"],
)
def test_lists_with_commas_are_lists(folder, text):
    (folder / "boxes.csv").write_text(text)
    assert reader_of(folder / "boxes.csv") is read_opencv_list


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(alphabet='a.png,;"\n\t\0 123e-+', max_size=60))
def test_hostile_tables_end_in_a_sentence_or_in_boxes(folder, rest):
    try:
        found = read(folder, "file,x,y,w,h\n" + rest)
    except SourceError:
        return
    assert all(len(box) == 4 for one in found.pictures for box in one.boxes)


def test_endless_names_are_cut_short(folder):
    (fault,) = read(folder, f"file,x,y,w,h\na.png{'9' * 5000},1,2,3,4\n").faults
    assert "a space is missing between a.png and 999" in fault.reason
    assert len(fault.reason) < 1500
