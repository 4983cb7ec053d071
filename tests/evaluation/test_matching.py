"""Matching rules: cases worked out by hand, and laws of all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.errors import SettingsError
from vjcascade.evaluation import match_detections, matching_rule
from vjcascade.evaluation.matching import (
    FDDB,
    RULES,
    UIUC,
    IoU,
    Matches,
    PascalVOC,
    ViolaJones,
    overlaps,
    within_heights,
)

BOXES = st.lists(st.tuples(*[st.integers(0, 40)] * 2, *[st.integers(1, 40)] * 2), max_size=8)
NONE = np.empty((0, 4))


def arrays(boxes):
    return np.array(boxes).reshape(-1, 4)


@pytest.mark.parametrize(
    ("box", "expected"),
    [((0, 0, 10, 10), 1.0), ((5, 0, 10, 10), 1 / 3), ((10, 0, 10, 10), 0.0), ((0, 0, 20, 10), 0.5)],
)
def test_overlap(box, expected):
    assert overlaps([box], [(0, 0, 10, 10)])[0, 0] == pytest.approx(expected)


@given(BOXES, BOXES)
def test_each_object_is_found_at_most_once(boxes, truth):
    matches = match_detections(arrays(boxes), np.arange(len(boxes)), arrays(truth))
    assert matches.hits.sum() <= len(truth)
    assert matches.n_objects == len(truth)


@given(BOXES.filter(len))
def test_true_boxes_find_themselves(boxes):
    assert match_detections(boxes, np.zeros(len(boxes)), boxes).hits.all()


@pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], 1.0])
@pytest.mark.parametrize("name", RULES)
def test_every_box_needs_a_score(name, scores):
    with pytest.raises(ValueError, match="2 boxes need as many scores"):
        matching_rule(name).match([[0, 0, 9, 9], [9, 9, 9, 9]], scores, [[0, 0, 9, 9]])


@pytest.mark.parametrize("min_overlap", [0, -0.5, 1.01, float("nan")])
def test_the_overlap_is_a_share(min_overlap):
    with pytest.raises(ValueError, match=f"min_overlap {min_overlap}"):
        match_detections([[0, 0, 9, 9]], [1.0], [[0, 0, 9, 9]], min_overlap=min_overlap)
    assert match_detections([[0, 0, 9, 9]], [1.0], [[0, 0, 9, 9]], min_overlap=1).hits.all()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: IoU(aspect=0), "aspect 0"),
        (lambda: PascalVOC(2), "min_overlap 2"),
        (lambda: ViolaJones(max_offset=0), "max_offset 0"),
        (lambda: ViolaJones(max_ratio=0.5), "max_ratio 0.5"),
        (lambda: UIUC(axes=0), "axes 0"),
        (lambda: matching_rule("violajones"), "no matching rule 'violajones'; did you mean 'viola-jones'"),
        (lambda: matching_rule("uiuc", min_overlap=0.5), "the matching rule uiuc has no min_overlap"),
        (lambda: matching_rule("iou", aspect=0), "aspect 0"),
    ],
)
def test_wrong_settings(make, sentence):
    with pytest.raises(SettingsError, match=sentence):
        make()


@pytest.mark.parametrize("name", RULES)
def test_rules_go_by_their_names(name):
    rule = matching_rule(name)
    assert rule.name == name
    assert str(rule)[0].islower()  # a sentence without its beginning
    assert rule.as_dict()["name"] == name
    assert matching_rule(name, min_overlap=None) == rule


# Laws of all rules.


@pytest.mark.parametrize("name", RULES)
@settings(max_examples=50, deadline=None)
@given(BOXES, BOXES, BOXES, st.lists(st.integers(0, 2), min_size=8, max_size=8))
def test_a_detection_is_a_hit_a_false_alarm_or_ignored(name, boxes, truth, ignored, scores):
    matches = matching_rule(name).match(arrays(boxes), scores[: len(boxes)], arrays(truth), arrays(ignored))
    assert not (matches.hits & matches.ignored).any()
    assert (matches.hits == (matches.objects >= 0)).all()
    assert len(set(matches.objects[matches.hits])) == matches.hits.sum() <= len(truth) == matches.n_objects
    assert matches.false_alarms.sum() == (~matches.hits & ~matches.ignored).sum()
    if name != "fddb-continuous":
        assert matches.gains.sum() == matches.hits.sum()


@pytest.mark.parametrize("name", [name for name in RULES if name != "fddb-discrete"])
@settings(max_examples=50, deadline=None)
@given(BOXES, BOXES, BOXES, st.lists(st.integers(0, 1), min_size=8, max_size=8), st.randoms())
def test_the_order_of_detections_is_no_matter(name, boxes, truth, ignored, scores, random):
    """Not that of equal scores, either. (In FDDB's discrete form, two assignments may be equally good.)"""
    rule, order = matching_rule(name), random.sample(range(len(boxes)), len(boxes))
    boxes, scores = arrays(boxes), np.array(scores[: len(boxes)])
    plain = rule.match(boxes, scores, arrays(truth), arrays(ignored))
    shuffled = rule.match(boxes[order], scores[order], arrays(truth), arrays(ignored))
    for score in (0, 1):
        assert plain.gains[scores == score].sum() == pytest.approx(
            shuffled.gains[scores[order] == score].sum()
        )
    if not name.startswith("fddb"):
        assert plain.ignored.sum() == shuffled.ignored.sum()


# Intersection over union. A has the columns 0 to 9, B the columns 4 to 13, both the rows 0 to 9.
A, B = (0, 0, 10, 10), (4, 0, 10, 10)


def test_iou_finds_the_next_best_object_where_voc_does_not():
    # (1, 0, 10, 10): shares 9 columns with A, IoU 9 / 11 = 0.82; 7 columns with B, 7 / 13 = 0.54.
    found, scores = [A, (1, 0, 10, 10)], [2.0, 1.0]
    assert IoU().match(found, scores, [A, B]).objects.tolist() == [0, 1]
    assert PascalVOC().match(found, scores, [A, B]).objects.tolist() == [0, -1]
    assert PascalVOC().match(found, scores, [A, B]).false_alarms.tolist() == [0, 1]


def test_the_better_score_goes_first_though_it_fits_less():
    # (2, 0, 10, 10) shares 8 columns with each: 8 / 12 = 0.67. Equally near, it takes the last, B.
    assert IoU().match([(2, 0, 10, 10), B], [2.0, 1.0], [A, B]).objects.tolist() == [1, -1]


def test_of_equal_scores_the_nearer_goes_first():
    assert IoU().match([(2, 0, 10, 10), B], [1.0, 1.0], [A, B]).objects.tolist() == [0, 1]
    assert IoU().match([B, (2, 0, 10, 10)], [1.0, 1.0], [A, B]).objects.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("box", "is_hit"),
    [
        ((0, 0, 10, 5), True),  # 50 / 100 = 0.5
        ((0, 0, 10, 4.9), False),
        ((0, 0, 20, 10), True),  # 100 / 200
        ((0, 0, 20.1, 10), False),
        ((3, 0, 10, 10), True),  # 70 / 130 = 0.54
        ((3.5, 0, 10, 10), False),  # 65 / 135 = 0.48
    ],
)
def test_iou_of_half(box, is_hit):
    for rule in (IoU(), PascalVOC()):
        assert rule.match([box], [1.0], [A]).hits.tolist() == [is_hit]


def test_both_are_brought_to_one_shape():
    # A plate 44 x 10 and a window 48 x 12 (4:1) around its centre (22, 5): 440 / 576 = 0.76. A window 44 x 22 (2:1)
    # has an overlap of 440 / 968 = 0.45, but brought to 4.4:1 it is 44 x 10, the plate itself.
    plate, flat, high = (0, 0, 44, 10), (-2, -1, 48, 12), (0, -6, 44, 22)
    assert IoU().match([flat, high], [2.0, 1.0], [plate]).hits.tolist() == [True, False]
    assert IoU().match([high], [1.0], [plate]).hits.tolist() == [False]
    assert IoU(aspect=4.4).match([high], [1.0], [plate]).hits.tolist() == [True]
    # A true box of 22 x 10 becomes one of 22 x 5 around (11, 5); one of 11 x 10 in its left half becomes 11 x 2.5
    # around (5.5, 5): 27.5 / 110 = 0.25.
    assert IoU(0.25, aspect=4.4).match([(0, 0, 11, 10)], [1.0], [(0, 0, 22, 10)]).hits.tolist() == [True]
    assert IoU(0.26, aspect=4.4).match([(0, 0, 11, 10)], [1.0], [(0, 0, 22, 10)]).hits.tolist() == [False]


# Regions to ignore.


def test_detections_in_regions_to_ignore_count_as_nothing():
    crowd = (100, 0, 40, 40)
    found = [
        A,  # a hit
        (100, 0, 10, 10),  # lies in the crowd: IoU 100 / 1600, but all of it is in there
        (95, 0, 10, 10),  # half of it
        (94, 0, 10, 10),  # 40 %
        (100, 0, 10, 10),  # the same place again: regions are not used up
    ]
    matches = IoU().match(found, [5.0, 4.0, 3.0, 2.0, 1.0], [A], [crowd])
    assert matches.hits.tolist() == [True, False, False, False, False]
    assert matches.ignored.tolist() == [False, True, True, False, True]
    assert matches.false_alarms.tolist() == [0, 0, 0, 1, 0]


def test_an_object_in_a_region_to_ignore_can_be_found():
    matches = IoU().match([A, (1, 0, 10, 10)], [2.0, 1.0], [A], [(0, 0, 50, 50)])
    assert matches.hits.tolist() == [True, False]
    assert matches.ignored.tolist() == [False, True]


def test_voc_takes_difficult_objects_for_objects_that_do_not_count():
    # The second overlaps the difficult B most: IoU 9 / 11 against 5 / 15 with A.
    matches = PascalVOC().match([A, (5, 0, 10, 10)], [1.0, 2.0], [A], [B])
    assert matches.hits.tolist() == [True, False]
    assert matches.ignored.tolist() == [False, True]


def test_other_rules_ignore_what_they_would_take_for_an_object():
    # Centres 2 apart, widths 20 and 36: a hit, were it an object; only a third of the detection is in it.
    found, region = (0, 0, 36, 36), (10, 10, 20, 20)
    assert ViolaJones().match([found], [1.0], NONE, [region]).ignored.tolist() == [True]
    assert ViolaJones().match([(30, 0, 36, 36)], [1.0], NONE, [region]).ignored.tolist() == [False]


# Viola and Jones: a true face of 20 pixels around (10, 10).


@pytest.mark.parametrize(
    ("box", "is_hit"),
    [
        ((6, 0, 20, 20), True),  # centre (16, 10), 6 = 0.3 * 20 away
        ((6.1, 0, 20, 20), False),
        ((4, 4, 20, 20), True),  # sqrt(32) = 5.66 away
        ((5, 5, 20, 20), False),  # sqrt(50) = 7.07 away
        ((5, 5, 10, 10), True),  # half as wide
        ((5.1, 5.1, 9.9, 9.9), False),
        ((-10, -10, 40, 40), True),  # twice as wide: IoU 0.25
        ((-10, -10, 40.1, 40), False),
    ],
)
def test_viola_jones(box, is_hit):
    assert ViolaJones().match([box], [1.0], [(0, 0, 20, 20)]).hits.tolist() == [is_hit]


def test_viola_jones_finds_the_face_whose_centre_is_nearest():
    faces = [(0, 0, 20, 20), (5, 0, 20, 20)]
    assert ViolaJones().match([(2, 0, 20, 20), (2, 0, 20, 20)], [1.0, 2.0], faces).objects.tolist() == [1, 0]


# UIUC: a true car of 100 x 40 at (20, 30); half axes of 25 columns and 10 rows.


@pytest.mark.parametrize(
    ("x", "y", "w", "one_scale", "many_scales"),
    [
        (45, 30, 100, True, True),  # 25 / 25 columns: 1
        (46, 30, 100, False, False),
        (20, 40, 100, True, True),  # 10 / 10 rows: 1
        (20, 19, 100, False, False),
        (35, 38, 100, True, True),  # (15 / 25)^2 + (8 / 10)^2 = 0.36 + 0.64 = 1
        (36, 38, 100, False, False),
        (20, 30, 125, True, True),  # (25 / 25)^2 of the width
        (20, 30, 126, True, False),
        (35, 30, 120, True, True),  # (15 / 25)^2 + (20 / 25)^2 = 1
        (35, 31, 120, True, False),  # and (1 / 10)^2
    ],
)
def test_uiuc(x, y, w, one_scale, many_scales):
    for rule, is_hit in ((UIUC(), one_scale), (UIUC(compares_scale=True), many_scales)):
        assert rule.match([(x, y, w, 0.4 * w)], [1.0], [(20, 30, 100, 40)]).hits.tolist() == [is_hit]


def test_uiuc_counts_one_detection_of_an_object():
    found = [(20, 30, 100, 40), (21, 30, 100, 40), (22, 30, 100, 40)]
    for rule in (UIUC(), UIUC(compares_scale=True)):
        assert rule.match(found, [1.0, 3.0, 2.0], [(20, 30, 100, 40)]).hits.tolist() == [False, True, False]


# FDDB. Detections and faces are 10 x 10 in one row; at distance d, the IoU is (10 - d) / (10 + d).


def row(*columns):
    return [(x, 0, 10, 10) for x in columns]


def test_fddb_assigns_best_over_all():
    # Faces at 0 and 3. The detection at 1.5 has 8.5 / 11.5 = 0.739 with both, the one at 0 has 1 with the first and
    # 7 / 13 = 0.538 with the second. Greedy by score, the first may take either; the best sum is 1.739.
    matches = FDDB().match(row(1.5, 0), [2.0, 1.0], row(0, 3))
    assert matches.objects.tolist() == [1, 0]
    assert matches.gains.tolist() == [1, 1]
    assert FDDB(is_continuous=True).match(row(1.5, 0), [2.0, 1.0], row(0, 3)).gains == pytest.approx(
        [17 / 23, 1]
    )


def test_fddb_assigns_anew_for_each_score():
    # Faces at 0 and 4. First the detection at 1 alone: 9 / 11 with the face at 0, a hit. With the one at -2 added (8 /
    # 12 with the face at 0, 4 / 16 = 0.25 with that at 4), the best sum is 8 / 12 + 7 / 13 (1 with 4): 1.205, more than
    # 9 / 11 + 0.25. Both are hits.
    discrete = FDDB().match(row(1, -2), [2.0, 1.0], row(0, 4))
    assert discrete.objects.tolist() == [1, 0]
    assert discrete.gains.tolist() == [1, 1]
    continuous = FDDB(is_continuous=True).match(row(1, -2), [2.0, 1.0], row(0, 4))
    assert continuous.gains == pytest.approx([9 / 11, 8 / 12 + 7 / 13 - 9 / 11])


def test_fddb_may_find_fewer_with_more_detections():
    # Faces at 0 and 8. The detection at 3.2 alone: 6.8 / 13.2 = 0.515 with the face at 0, a hit. Added is one at -3.4
    # (6.6 / 13.4 = 0.493 with the face at 0, nothing with that at 8). Now 0.493 + 5.2 / 14.8 (3.2 with 8, 0.351) =
    # 0.844 is the best sum, and neither is above 0.5.
    matches = FDDB().match(row(3.2, -3.4), [2.0, 1.0], row(0, 8))
    assert matches.gains.tolist() == [1, -1]
    assert matches.false_alarms.tolist() == [0, 2]
    assert not matches.hits.any()


def test_fddb_needs_more_than_half_and_counts_any_overlap_in_its_continuous_form():
    # 10 x 5 in 10 x 10 is exactly 0.5.
    for rule, gains in ((FDDB(), [0.0]), (FDDB(is_continuous=True), [0.5])):
        matches = rule.match([(0, 0, 10, 5)], [1.0], [A])
        assert matches.gains.tolist() == gains
        assert matches.false_alarms.tolist() == [1]


def test_fddb_adds_equal_scores_together():
    matches = FDDB().match(row(0, 50, 1), [1.0, 1.0, 1.0], row(0))
    assert matches.gains.sum() == 1
    assert matches.false_alarms.sum() == 2
    assert matches.hits.tolist() == [True, False, False]


# Sizes.


def test_only_objects_of_some_heights_count():
    truth = [(0, 0, 10, 10), (50, 0, 30, 30), (100, 0, 20, 20)]
    found = [
        (0, 0, 12, 12),  # finds the small one: 100 / 144
        (50, 0, 30, 30),  # finds the large one
        (52, 0, 19, 19),  # a small false alarm
        (200, 0, 40, 40),  # a large false alarm
    ]
    matches = IoU().match(found, [4.0, 3.0, 2.0, 1.0], truth)
    small = within_heights(matches, found, truth, 0, 20)
    assert small.n_objects == 1
    assert small.objects.tolist() == [0, -1, -1, -1]
    assert small.false_alarms.tolist() == [0, 0, 1, 0]
    large = within_heights(matches, found, truth, 20)
    assert large.n_objects == 2
    assert large.hits.tolist() == [False, True, False, False]
    assert large.false_alarms.tolist() == [0, 0, 0, 1]
    with pytest.raises(SettingsError, match="have no figures by size"):
        within_heights(FDDB(is_continuous=True).match(found, [4, 3, 2, 1], truth), found, truth, 0, 20)


def test_no_detections_no_objects():
    for rule in RULES.values():
        assert rule.match(NONE, [], NONE, NONE).n_objects == 0
        assert rule.match(NONE, [], [A], [B]).scores.shape == (0,)
        assert rule.match([A], [1.0], NONE).false_alarms.tolist() == [1]
    assert Matches(np.ones(1), np.ones(1, np.bool_), 1).objects.tolist() == [-1]
