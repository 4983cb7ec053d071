"""Goals of an operating point, and figures."""

import pytest

from vjcascade.errors import SettingsError
from vjcascade.evaluation.goals import Figures, Goal


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        (Goal(), [0.0, 2 * 5 / 16, 2 * 8 / 22]),
        (Goal(recall=0.5), [-1.0, 5 / 6, 8 / 12]),
        (Goal(precision=0.75), [-1.0, 0.5, 8 / 12 - 1]),
        (Goal(false_alarms_per_picture=0.5), [0.0, 0.5, -4 / 5]),
    ],
)
def test_qualities(goal, expected):
    found = goal.qualities([0, 5, 8], [0, 1, 4], 10, 4)
    assert found.tolist() == pytest.approx(expected)
    figures = Figures(4, 10, 5, 1)
    assert goal.quality(figures) == pytest.approx(expected[1])


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"recall": 0}, r"recall 0\.0 is not in \(0, 1\]"),
        ({"recall": 1.01}, r"recall 1\.01 is not in"),
        ({"precision": "high"}, "precision 'high' is not a number"),
        ({"false_alarms_per_picture": -1}, "false_alarms_per_picture -1"),
        ({"recall": 0.5, "precision": 0.5}, "recall and precision cannot both be the goal"),
    ],
)
def test_goals_out_of_range(values, reason):
    with pytest.raises(SettingsError, match=reason):
        Goal(**values)


def test_figures_add_up():
    total = Figures(1, 4, 2, 1) + Figures(3, 6, 3, 0)
    assert total == Figures(4, 10, 5, 1)
    assert (total.recall, total.precision, total.false_alarms_per_picture) == (0.5, 5 / 6, 0.25)
    assert total.f1 == pytest.approx(2 * 0.5 * (5 / 6) / (0.5 + 5 / 6))


def test_figures_of_nothing():
    nothing = Figures(0, 0, 0, 0)
    assert (nothing.recall, nothing.precision, nothing.f1, nothing.false_alarms_per_picture) == (0, 1, 0, 0)
