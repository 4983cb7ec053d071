"""Which false alarms are new."""

from __future__ import annotations

import builders
import numpy as np
import pytest

from vjcascade.training.mining.false_alarms import DistinctFalseAlarms

NONE = np.empty((0, 4), np.int32)
BOX = np.array([[40, 30, 48, 48]], np.int32)


@pytest.fixture
def frame(rng):
    return builders.smooth_noise(rng, 120, 160, coarseness=8)


def test_one_false_alarm_counts_once(frame, rng):
    alarms = DistinctFalseAlarms()
    assert alarms.add(frame, NONE) == 0
    assert alarms.add(frame, BOX) == 1
    noisy = np.clip(frame + rng.normal(0, 6, frame.shape), 0, 255).astype(np.uint8)
    darker = (frame * 0.6 + 10).astype(np.uint8)
    for again, box in (
        (frame, BOX),
        (noisy, BOX),
        (darker, BOX),
        (frame, BOX + np.array([1, 1, 0, 0], np.int32)),
    ):
        assert alarms.add(again, box) == 0


def test_at_another_place_it_is_new(frame):
    alarms = DistinctFalseAlarms()
    assert alarms.add(frame, BOX) == 1
    moved = BOX + np.array([30, 0, 0, 0], np.int32)
    assert alarms.add(np.roll(frame, 30, axis=1), moved) == 1
    assert alarms.add(np.roll(frame, 30, axis=1), moved) == 0


def test_others_are_new(frame):
    alarms = DistinctFalseAlarms()
    boxes = np.array([[0, 0, 48, 48], [60, 0, 48, 48], [0, 60, 30, 30], [0, 0, 48, 48]], np.int32)
    assert alarms.add(frame, boxes) == 3
    assert alarms.add(frame, boxes) == 0
    assert alarms.add(255 - frame, boxes) == 3


def test_boxes_may_reach_beyond_and_show_nothing(frame):
    alarms = DistinctFalseAlarms()
    assert alarms.add(frame, np.array([[-3, -2, 30, 30], [140, 100, 40, 40]])) == 2
    assert alarms.add(np.full((50, 50), 7, np.uint8), np.array([[0, 0, 24, 24]])) == 1


def test_hundreds_are_all_known_when_they_come_again(frame):
    left, top = (place.ravel() for place in np.meshgrid(range(0, 150, 6), range(0, 110, 6)))
    boxes = np.stack([left, top, np.full_like(left, 8), np.full_like(left, 8)], axis=1)
    alarms = DistinctFalseAlarms()
    assert alarms.add(frame, boxes[:200]) == 200
    assert alarms.add(frame, boxes) == len(boxes) - 200 > 256
    assert alarms.add(frame, boxes[::-1]) == 0
