from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from vjcascade.errors import MissingLibraryError, SettingsError
from vjcascade.types import ROWS_SHOWN, Box, Detection, Detections, Size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("24x20", (24, 20)),
        ("24", (24, 24)),
        ("24X20", (24, 20)),
        (" 24 x 20 ", (24, 20)),
        ("24×20", (24, 20)),
    ],
)
def test_sizes_that_can_be_read(text, size):
    assert Size.parse(text) == size
    assert Size.parse(str(Size.parse(text))) == size


@pytest.mark.parametrize(
    "text", ["", "x", "24x", "x24", "24x20x3", "0x24", "24x0", "-24x20", "24.5x20", "24,20", "²x²", "a"]
)
def test_sizes_that_cannot_be_read(text):
    with pytest.raises(SettingsError, match="is not WIDTHxHEIGHT") as caught:
        Size.parse(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["9" * 5000, "24x" + "9" * 5000, "1000000", "24x1000000"])
def test_sizes_of_too_many_digits(text):
    with pytest.raises(SettingsError, match="is not WIDTHxHEIGHT") as caught:
        Size.parse(text)
    assert len(str(caught.value)) < 120
    assert Size.parse("999999x24") == (999999, 24)


def test_size_is_width_first():
    assert (Size(24, 20).width, Size(24, 20).height, str(Size(24, 20))) == (24, 20, "24x20")


@pytest.mark.parametrize(
    ("boxes", "scores", "neighbors"), [((2, 4), 3, 2), ((2, 4), 2, 1), ((2, 3), 2, 2), ((0,), 0, 0)]
)
def test_detections_are_parallel_arrays(boxes, scores, neighbors):
    with pytest.raises(ValueError, match="must have the shapes") as caught:
        Detections(np.zeros(boxes, np.int32), np.zeros(scores), np.zeros(neighbors, np.int32))
    assert str(boxes) in str(caught.value)


def test_length_is_the_number_of_boxes():
    assert len(Detections(np.zeros((3, 4), np.int32), np.zeros(3), np.ones(3, np.int32))) == 3


def some_detections():
    return Detections(
        np.arange(12, dtype=np.int32).reshape(3, 4),
        np.array([0.5, 1.5, 2.5]),
        np.array([1, 2, 3], np.int32),
        np.array([7, 8, 9], np.int32),
        np.array([0.0, 30.0, -30.0]),
        np.array([3.0, 4.0, 5.0]),
    )


def test_ranking_scores_are_those_of_single_windows_if_not_given():
    found = Detections(np.zeros((3, 4), np.int32), np.array([4.0, 0.25, -9.0]), np.ones(3, np.int32))
    assert (found.ranking_scores.tolist(), found.ranking_scores.dtype) == ([2.0, 0.5, 0.0], np.float64)


def test_stages_and_angles_are_zeros_if_not_given():
    found = Detections(np.zeros((2, 4), np.int32), np.zeros(2), np.ones(2, np.int32))
    assert (found.stages.tolist(), found.stages.dtype) == ([0, 0], np.int32)
    assert (found.angles.tolist(), found.angles.dtype) == ([0, 0], np.float64)


@pytest.mark.parametrize("column", ["stages", "angles", "ranking_scores"])
def test_other_columns_are_parallel_too(column):
    with pytest.raises(ValueError, match=rf"{column} \(3,\)"):
        Detections(np.zeros((2, 4), np.int32), np.zeros(2), np.ones(2, np.int32), **{column: np.zeros(3)})


@pytest.mark.parametrize("rows", [np.array([False, True, True]), np.array([2, 0, 0]), np.array([], np.intp)])
def test_rows_are_selected_in_every_column(rows):
    found = some_detections()
    part = found.select(rows)
    for column in ("boxes", "scores", "neighbors", "stages", "angles", "ranking_scores"):
        np.testing.assert_array_equal(getattr(part, column), getattr(found, column)[rows])


def test_parts_are_joined_in_order():
    found = some_detections()
    joined = Detections.joined(found.select(np.array([i])) for i in (0, 1, 2))
    for column in ("boxes", "scores", "neighbors", "stages", "angles", "ranking_scores"):
        np.testing.assert_array_equal(getattr(joined, column), getattr(found, column))
        assert getattr(joined, column).dtype == getattr(found, column).dtype


def test_no_detections_have_the_usual_dtypes():
    none = Detections.empty()
    assert (none.boxes.dtype, none.scores.dtype, none.neighbors.dtype) == (np.int32, np.float64, np.int32)
    assert (none.boxes.shape, none.scores.shape, none.neighbors.shape) == ((0, 4), (0,), (0,))


def test_iterating_gives_plain_records():
    found = list(some_detections())
    assert found[1] == Detection(Box(4, 5, 6, 7), 1.5, 2, 8, 30.0, 4.0)
    x, y, w, h = found[2].box
    assert (x, y, w, h, found[2].box.area) == (8, 9, 10, 11, 110)
    assert {type(value) for one in found for value in (*one.box, *one[1:])} == {int, float}
    assert list(Detections.empty()) == []


def test_an_index_gives_a_record_and_all_else_gives_detections():
    found = some_detections()
    assert found[0] == found[np.int64(0)] == next(iter(found))
    assert found[-1] == list(found)[-1]
    for rows in (slice(1, None), [1, 2], np.array([1, 2]), found.scores > 1, [-2, -1]):
        assert list(found[rows]) == list(found)[1:]
    assert len(found[[]]) == 0
    with pytest.raises(IndexError):
        found[3]


@pytest.mark.parametrize(
    ("bounds", "rows"),
    [
        ({}, [0, 1, 2]),
        ({"min_score": 1.5}, [1, 2]),
        ({"min_ranking_score": 4.5}, [2]),
        ({"min_neighbors": 2}, [2]),  # more than this, as in detectors
        ({"min_size": (6, 7)}, [1, 2]),
        ({"max_size": (6, 7)}, [0, 1]),
        ({"max_size": (100, 3)}, [0]),
        ({"region": (4, 5, 6, 7)}, [1]),
        ({"region": (4, 5, 6, 6)}, []),
        ({"region": (0, 0, 100, 100), "min_score": 1, "max_size": (6, 7)}, [1]),
    ],
)
def test_filters_keep_what_is_within_all_bounds(bounds, rows):
    found = some_detections()
    assert list(found.filter(**bounds)) == list(found[rows])


def test_a_region_is_not_lost_to_the_range_of_32_bits():
    edge = Detections(np.array([[2**31 - 5, 0, 24, 24]], np.int32), np.zeros(1), np.ones(1, np.int32))
    assert len(edge.filter(region=(0, 0, 2**31, 100))) == 0


@given(st.lists(st.integers(0, 3), max_size=8), st.booleans())
def test_sorting_is_stable(neighbors, ascending):
    n = len(neighbors)
    boxes = (
        np.stack([np.arange(n), np.zeros(n), np.ones(n), np.ones(n)], axis=1).astype(np.int32).reshape(n, 4)
    )
    found = Detections(boxes, np.zeros(n), np.array(neighbors, np.int32)).sorted(
        "neighbors", ascending=ascending
    )
    wanted = sorted(enumerate(neighbors), key=lambda pair: pair[1], reverse=not ascending)
    assert found.boxes[:, 0].tolist() == [place for place, _ in wanted]


def test_the_best_comes_first_unless_said_otherwise():
    found = some_detections()
    assert found.sorted().ranking_scores.tolist() == [5.0, 4.0, 3.0]
    assert found.sorted("area", ascending=True).boxes[:, 2].tolist() == [2, 6, 10]
    with pytest.raises(SettingsError, match="did you mean 'score'"):
        found.sorted("scores")


def test_dicts_are_what_the_command_line_writes():
    first = {"x": 0, "y": 1, "w": 2, "h": 3, "score": 0.5, "neighbors": 1, "stages": 7, "angle": 0.0}
    assert some_detections().to_dicts()[0] == first | {"ranking_score": 3.0}
    assert Detections.empty().to_dicts() == []


def test_drawing_marks_boxes_and_writes_scores():
    picture = np.zeros((60, 80), np.uint8)
    found = Detections(np.array([[20, 30, 24, 20]], np.int32), np.array([4.0]), np.array([9], np.int32))
    plain, scored = found.draw(picture, scores=False), found.draw(picture)
    assert plain.shape == (60, 80, 3)
    assert not picture.any()
    assert (plain[30, 20:44] == (0, 255, 0)).all()
    assert not plain[:30].any()
    assert scored[:30].any()
    at_the_top = Detections(np.array([[70, 0, 10, 9]], np.int32), np.array([4.0]), np.array([9], np.int32))
    assert at_the_top.draw(picture).shape == (60, 80, 3)


def test_crops_are_copies_of_the_pixels_within_the_picture():
    picture = np.arange(48, dtype=np.uint8).reshape(6, 8)
    boxes = np.array([[1, 2, 3, 2], [6, 4, 4, 4]], np.int32)
    found = Detections(boxes, np.zeros(2), np.ones(2, np.int32))
    first, second = found.crops(picture)
    np.testing.assert_array_equal(first, picture[2:4, 1:4])
    np.testing.assert_array_equal(second, picture[4:, 6:])
    first[:] = 0
    assert picture[2, 1] == 17
    assert [crop.shape for crop in found.crops(picture, margin=0.5)] == [(4, 6), (4, 4)]
    assert found.crops(np.zeros((6, 8, 3)))[0].shape == (2, 3, 3)
    with pytest.raises(SettingsError, match=r"margin -1\.0"):
        found.crops(picture, margin=-1)


def test_detections_show_themselves_in_a_line_and_in_notebooks():
    found = some_detections()
    assert repr(found) == "<Detections: 3, best at 8, 9, 10, 11 (x, y, w, h), ranking score 5.0>"
    assert repr(Detections.empty()) == "<Detections: none>"
    assert found._repr_html_().count("<tr>") == 4
    assert Detections.empty()._repr_html_() == "<p>0 detections</p>"
    many = Detections.joined([found] * 10)
    assert many._repr_html_().count("<tr>") == ROWS_SHOWN + 1
    assert f"30 detections, the first {ROWS_SHOWN} of them" in many._repr_html_()


@pytest.mark.parametrize(("library", "method"), [("pandas", "to_pandas"), ("supervision", "to_supervision")])
def test_libraries_that_are_missing_are_named(library, method, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingLibraryError, match=f"needs {library}: `pip install {library}`"):
        getattr(some_detections(), method)()


def test_a_data_frame_has_the_columns_of_dicts():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = some_detections().to_pandas()
    assert frame.to_dict("records") == some_detections().to_dicts()
    assert isinstance(frame, pandas.DataFrame)
    assert len(Detections.empty().to_pandas()) == 0


def test_supervision_gets_corners_ranking_scores_and_the_other_columns(monkeypatch):
    made = SimpleNamespace(Detections=lambda **columns: columns)  # the names and shapes of supervision's own
    monkeypatch.setitem(sys.modules, "supervision", made)
    columns = some_detections().to_supervision()
    np.testing.assert_array_equal(columns["xyxy"][1], [4, 5, 10, 12])
    np.testing.assert_array_equal(columns["confidence"], [3, 4, 5])
    assert (columns["xyxy"].dtype, columns["class_id"].tolist()) == (np.float32, [0, 0, 0])
    assert list(columns["data"]) == ["score", "neighbors", "stages", "angle"]


def test_supervision_itself_takes_them():
    supervision = pytest.importorskip("supervision", reason="supervision is not installed")
    taken = some_detections().to_supervision()
    assert isinstance(taken, supervision.Detections)
    assert len(taken) == 3
    assert len(Detections.empty().to_supervision()) == 0
