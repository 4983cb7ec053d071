"""What stages gain: in labelled scenes, and over a model that a run continues. The sentences that say so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from vjcascade.messages import pluralize
from vjcascade.training.events import Count, SceneFigures, Share, StageRecord

PATIENCE = 3
"""Training ends when so many stages, one after the other, have not made the best F1 in the scenes better."""


class BaseFigures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model that a run continues reaches, measured with the run's own data.

    Attributes
    ----------
    n_stages : int
        Of that model.
    hit_rate : float
        Share of the positives held out that pass it; of those to train on if none are held out.
    false_alarm_rate : float or None
        Share of the windows searched for the first stage added that pass it; None before they are searched.
    scenes : list of SceneFigures
        What it finds in the scenes, if they were tried: with all its stages, and with those that `vjcascade detect`
        uses.
    false_alarms : int or None
        Windows that pass in the further photos, which training learns from, before they are grouped; None if there are
        no such photos, or too many windows pass.
    """

    n_stages: Count
    hit_rate: Share
    false_alarm_rate: Annotated[float, Meta(gt=0, le=1)] | None = None
    scenes: list[SceneFigures] = []
    false_alarms: Count | None = None


def scene_figures(records: Sequence[StageRecord], base: BaseFigures | None = None) -> list[SceneFigures]:
    """Return what was found in the scenes by all numbers of stages that were tried, by number.

    Parameters
    ----------
    records : sequence of StageRecord
        Of all stages that have one.
    base : BaseFigures, optional
        Of the model that was continued.

    Returns
    -------
    list of SceneFigures
        Each number of stages once.

    Examples
    --------
    >>> scene_figures([])
    []
    """
    tried = {one.n_stages: one for one in (base.scenes if base else [])}
    tried |= {record.stage: record.scenes for record in records if record.scenes is not None}
    return [tried[n] for n in sorted(tried)]


def best_figures(tried: Sequence[SceneFigures]) -> SceneFigures | None:
    """Return the figures with the best F1: of equal ones those of most stages, which pass less background elsewhere.

    Examples
    --------
    >>> best_figures([SceneFigures(n, 2, 4, 3, 0, hits, 0, 0.5) for n, hits in ((4, 3), (5, 3), (6, 2))]).n_stages
    5
    """
    return max(tried, key=lambda one: (one.best.f1, one.n_stages), default=None)


def operating_point(records: Sequence[StageRecord], base: BaseFigures | None) -> dict[str, Any] | None:
    """Return the operating point of a model for its metadata: the stages that do best in the scenes.

    Parameters
    ----------
    records : sequence of StageRecord
        Of all stages that have one.
    base : BaseFigures or None
        Of the model that was continued.

    Returns
    -------
    dict or None
        See `vjcascade.evaluation.operating_point.OperatingPoint.as_dict`; None if no scenes were tried.
    """
    best = best_figures(scene_figures(records, base))
    if best is None:
        return None
    from vjcascade.evaluation.operating_point import OperatingPoint
    from vjcascade.training.validation import LEAST_NEIGHBORS

    return OperatingPoint(
        n_stages=best.n_stages, min_neighbors=LEAST_NEIGHBORS, min_ranking_score=best.min_ranking_score
    ).as_dict()


def why_no_longer_gains(records: Sequence[StageRecord], base: BaseFigures | None, n_continued: int) -> str:
    """Return why further stages are not worth while, or nothing.

    Parameters
    ----------
    records : sequence of StageRecord
        Of all stages that have one.
    base : BaseFigures or None
        Of the model that was continued.
    n_continued : int
        Stages of the model that was continued: at least `PATIENCE` more are tried.

    Returns
    -------
    str
        A clause.
    """
    tried = scene_figures(records, base)
    if not tried:
        return ""
    # Of equal ones the first: a stage that is no better is no gain.
    first_best = max(tried, key=lambda one: (one.best.f1, -one.n_stages))
    since = [one for one in tried if one.n_stages > max(first_best.n_stages, n_continued)]
    if len(since) < PATIENCE:
        return ""
    return f"early stopping, as the best F1 on the scenes has not improved for {PATIENCE} stages"


def say_scenes(tried: Sequence[SceneFigures], n_stages: int) -> str:
    """Say how many stages do best in the scenes, and which are used.

    Parameters
    ----------
    tried : sequence of SceneFigures
        From `scene_figures`.
    n_stages : int
        Of the model.

    Returns
    -------
    str
        A clause.
    """
    best = best_figures(tried)
    if best is None:
        return "the model could not be measured on the scenes, as too many of their windows pass"
    if best.n_stages == n_stages:
        stages = "its only stage" if n_stages == 1 else f"all its {n_stages} stages"
        return f"on the scenes, the model is best with {stages}: {best.best}; vjcascade detect uses them"
    last = tried[-1]
    whole = (
        f"with all of them: {last.best}" if last.n_stages == n_stages else "the whole model was not measured"
    )
    return (
        f"on the scenes, the model is best with {best.n_stages} of its {n_stages} stages: {best.best}; {whole}; "
        "vjcascade detect uses the best, and the others are kept"
    )


def say_trade(
    base: BaseFigures, last: StageRecord, figures: Sequence[SceneFigures], false_alarms: int | None
) -> str:
    """Say what continuing a model has changed.

    Parameters
    ----------
    base : BaseFigures
        Before.
    last : StageRecord
        Of the last stage added.
    figures : sequence of SceneFigures
        From `scene_figures`.
    false_alarms : int or None
        Windows that pass now in the additional photos.

    Returns
    -------
    str
        A clause for each figure.
    """
    kind = "training" if last.overall_held_out_hit_rate is None else "held-out"
    hits = (
        f"{kind} positives that pass: {base.hit_rate:.1%} before, {last.hit_rate_so_far:.1%} now (single, exactly "
        "aligned windows)"
    )
    clauses = [hits]
    if base.false_alarm_rate is not None:
        before, now = (1 / rate for rate in (base.false_alarm_rate, last.overall_false_alarm_rate))
        clauses.append(
            f"background windows that pass: about one in {before:,.0f} before, one in {now:,.0f} now"
        )
    if base.false_alarms is not None and false_alarms is not None:
        clauses.append(
            f"windows of the additional photos, now trained on, that pass: {base.false_alarms:,} before, "
            f"{false_alarms:,} now"
        )
    by_stages = {one.n_stages: one for one in figures}
    pair = [by_stages.get(n) for n in (base.n_stages, last.stage)]
    if pair[0] is not None and pair[1] is not None:
        before_, now_ = (
            f"recall {one.usual.recall:.1%} with {pluralize(one.n_false_alarms, 'false alarm')}, best F1 "
            f"{one.best.f1:.3f}"
            for one in pair
            if one is not None
        )
        clauses.append(f"on the scenes, with default settings: {before_} before, {now_} now")
    stages = f"from {pluralize(base.n_stages, 'stage')} to {last.stage}"
    go_back = "" if figures else f". To go back: `vjcascade convert MODEL OLD.xml --stages {base.n_stages}`"
    return f"continued {stages}; {'; '.join(clauses)}{go_back}"
