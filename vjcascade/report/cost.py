"""What a cascade costs: how many features it evaluates in a window of background."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from vjcascade.evaluation.features import features_of_stages
from vjcascade.report.training_run import Run

ASSUMED_RATE = 0.5
"""False-alarm rate of a stage that nothing is known of: what most cascades are trained for."""


@dataclass(frozen=True)
class StageCost:
    """What one stage costs.

    Attributes
    ----------
    reached : float
        Share of background windows that reach it.
    n_features : float
        Features that it evaluates in a window that does.
    cost : float
        Features that it evaluates in any window, on average.
    so_far : float
        The same for it and all stages before it.
    """

    reached: float
    n_features: float
    cost: float
    so_far: float


def expected_costs(run: Run) -> list[StageCost]:
    """Return what each stage costs, on average over windows of background.

    The share of windows that reach a stage was measured when its negatives were mined. Where it is not recorded, the
    false-alarm rate of the stages before tells it, and where that is missing, too, each passes `ASSUMED_RATE`.

    Parameters
    ----------
    run : Run
        A model, with its record if there is one.

    Returns
    -------
    list of StageCost
        One for each stage.

    References
    ----------
    .. [1] Viola & Jones, "Robust real-time face detection", IJCV 57(2), 2004, sec. 4.1.
           :doi:`10.1023/B:VISI.0000013087.49260.fb`
    """
    reached, sizes = _reached(run), features_of_stages(run.cascade)
    costs = [share * size for share, size in zip(reached, sizes, strict=True)]
    return [StageCost(*values) for values in zip(reached, sizes, costs, accumulate(costs), strict=True)]


def _reached(run: Run) -> list[float]:
    shares: list[float] = []
    for stage in range(1, run.cascade.n_stages + 1):
        history, before = run.stage(stage), run.records.get(stage - 1)
        if history is not None and history.pass_rate is not None:
            shares.append(history.pass_rate)
        elif before is not None:
            shares.append(before.overall_false_alarm_rate)
        else:
            shares.append(shares[-1] * ASSUMED_RATE if shares else 1.0)
    return shares
