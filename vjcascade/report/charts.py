"""The charts of a report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np

from vjcascade.messages import duration, pluralize
from vjcascade.report.cost import StageCost
from vjcascade.report.svg import bar, drawing, element, polyline, text
from vjcascade.training.events import RoundDone, SceneFigures, StageRecord
from vjcascade.training.settings import TrainingSettings

WIDTH = 430
"""Of charts that fill a row, in their own coordinates: on a telephone, their text can still be read."""

CHARACTER = 7.2
"""No character of a label is wider, in the wide fonts that some systems have."""

MAX_POINTS = 60
"""Points of a curve; more cannot be told apart."""

PART_NAMES = {
    "survivors": "positives left",
    "mining": "mining",
    "features": "features",
    "boosting": "boosting",
    "baseline": "AdaBoost beside it",
    "scenes": "trying the scenes",
}
"""Parts of a stage's time by their names in events."""

OTHER = "other"


def rounds_chart(stage: int, rounds: Sequence[RoundDone], settings: TrainingSettings | None) -> str:
    """Draw hit and false-alarm rate of a stage over its rounds.

    Parameters
    ----------
    stage : int
        Its number.
    rounds : sequence of RoundDone
        At least one.
    settings : TrainingSettings or None
        Has the targets.

    Returns
    -------
    str
        An SVG drawing.
    """
    width, height, left, bottom = 220, 132, 30, 18
    top, right = 18, 8
    picked = np.unique(np.linspace(0, len(rounds) - 1, MAX_POINTS).round().astype(int)).tolist()
    shown = [rounds[i] for i in picked]
    last = rounds[-1].n_weak

    def place(n_weak: int, rate: float) -> tuple[float, float]:
        x = left + (width - left - right) * ((n_weak - 1) / (last - 1) if last > 1 else 0.5)
        return x, top + (height - top - bottom) * (1 - rate)

    parts = []
    for rate in (0, 0.5, 1):
        y = place(1, rate)[1]
        parts.append(element("line", x1=left, x2=width - right, y1=y, y2=y, class_="grid"))
        parts.append(text(f"{rate:g}", left - 5, y + 3.5, class_="end"))
    if settings is not None:
        for target, kind in ((settings.hit_rate, "hit"), (settings.false_alarm_rate, "false")):
            y = place(1, target)[1]
            parts.append(element("line", x1=left, x2=width - right, y1=y, y2=y, class_=f"target {kind}-line"))
    curves = (
        ("natural false-line", [(r.n_weak, r.natural.false_alarm_rate) for r in shown]),
        ("natural hit-line", [(r.n_weak, r.natural.hit_rate) for r in shown]),
        ("false-line", [(r.n_weak, r.tuned.false_alarm_rate) for r in shown]),
        ("hit-line", [(r.n_weak, r.tuned.hit_rate) for r in shown]),
    )
    for kind, points in curves:
        places = [place(*point) for point in points]
        if len(places) == 1:
            parts.append(
                element("circle", cx=places[0][0], cy=places[0][1], r=2.2, class_=kind.replace("line", "dot"))
            )
        else:
            parts.append(polyline(places, class_=f"curve {kind}"))
    parts.append(text(f"stage {stage}", left, 11, class_="strong"))
    parts.append(text(pluralize(last, "round"), width - right, 11, class_="end"))
    parts.append(text("1", left, height - 4))
    parts.append(text(f"{last:,}", width - right, height - 4, class_="end"))
    rates = rounds[-1].tuned
    title = (
        f"Stage {stage} after {pluralize(last, 'round')}: hit rate {rates.hit_rate:.1%}, "
        f"false-alarm rate {rates.false_alarm_rate:.1%}"
    )
    return drawing(width, height, title, *parts)


def survival_chart(records: Mapping[int, StageRecord], n_stages: int, target: float | None) -> str:
    """Draw which share of background windows passes the cascade, stage by stage, on a logarithmic scale.

    Parameters
    ----------
    records : mapping
        By stage; at least one.
    n_stages : int
        Stages of the cascade.
    target : float or None
        The false-alarm rate asked for.

    Returns
    -------
    str
        An SVG drawing.
    """
    width, height, left, top, bottom = WIDTH, 170, 66, 10, 22
    rates = [(stage, record.overall_false_alarm_rate) for stage, record in sorted(records.items())]
    lowest = min(rate for _, rate in rates)
    decades = max(math.ceil(-math.log10(min(lowest, target or 1.0))), 1)
    step = math.ceil(decades / 6)

    def place(stage: int, rate: float) -> tuple[float, float]:
        x = left + (width - left - 12) * stage / n_stages
        return x, top + (height - top - bottom) * min(-math.log10(rate) / decades, 1.0)

    parts = []
    for decade in range(0, decades + 1, step):
        y = place(0, 10.0**-decade)[1]
        parts.append(element("line", x1=left, x2=width - 8, y1=y, y2=y, class_="grid"))
        label = "all" if decade == 0 else f"1 in {_short_count(10**decade)}"
        parts.append(text(label, left - 5, y + 3.5, class_="end"))
    if target is not None:
        y = place(0, target)[1]
        parts.append(element("line", x1=left, x2=width - 8, y1=y, y2=y, class_="target false-line"))
        parts.append(text("target", left + 4, y - 4))
    whole = [(0, 1.0), *rates] if rates[0][0] == 1 else rates
    parts.append(polyline([place(*point) for point in whole], class_="curve false-line"))
    for stage, rate in rates:
        x, y = place(stage, rate)
        parts.append(
            element("circle", element("title", f"{stage}: {rate:.1e}"), cx=x, cy=y, r=3, class_="false-dot")
        )
    every = math.ceil(n_stages / 15)
    parts += [
        text(stage, place(stage, 1.0)[0], height - 6, class_="middle")
        for stage in range(every, n_stages + 1, every)
    ]
    title = f"Windows of background that pass: one in {1 / rates[-1][1]:,.0f} after stage {rates[-1][0]}"
    return drawing(width, height, title, *parts)


def hits_chart(records: Mapping[int, StageRecord], n_stages: int) -> str:
    """Draw which share of the positives passes the cascade, stage by stage.

    Parameters
    ----------
    records : mapping
        By stage; at least one.
    n_stages : int
        Stages of the cascade.

    Returns
    -------
    str
        An SVG drawing.
    """
    width, height, left, top, bottom = WIDTH, 170, 66, 10, 22
    rates = [(stage, record.hit_rate_so_far) for stage, record in sorted(records.items())]
    lowest = min(rate for _, rate in rates)
    span = next(span for span in (0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if lowest >= 1 - span or span == 1.0)

    def place(stage: int, rate: float) -> tuple[float, float]:
        x = left + (width - left - 12) * stage / n_stages
        return x, top + (height - top - bottom) * (1 - rate) / span

    parts = []
    for step in range(5):
        share = 1 - span * step / 4
        y = place(0, share)[1]
        parts.append(element("line", x1=left, x2=width - 8, y1=y, y2=y, class_="grid"))
        parts.append(text(f"{100 * share:.4g}%", left - 5, y + 3.5, class_="end"))
    whole = [(0, 1.0), *rates] if rates[0][0] == 1 else rates
    parts.append(polyline([place(*point) for point in whole], class_="curve hit-line"))
    for stage, rate in rates:
        x, y = place(stage, rate)
        parts.append(
            element("circle", element("title", f"{stage}: {rate:.2%}"), cx=x, cy=y, r=3, class_="hit-dot")
        )
    every = math.ceil(n_stages / 15)
    parts += [
        text(stage, place(stage, 1.0)[0], height - 6, class_="middle")
        for stage in range(every, n_stages + 1, every)
    ]
    title = f"Positives that pass: {rates[-1][1]:.1%} after stage {rates[-1][0]}"
    return drawing(width, height, title, *parts)


def scenes_chart(tried: Sequence[SceneFigures], n_stages: int) -> str:
    """Draw recall in scenes with default settings, and the best F1, by the number of stages.

    Parameters
    ----------
    tried : sequence of SceneFigures
        By number of stages; at least one.
    n_stages : int
        Stages of the cascade.

    Returns
    -------
    str
        An SVG drawing.
    """
    width, height, left, top, bottom = WIDTH, 170, 42, 10, 22

    def place(stage: int, share: float) -> tuple[float, float]:
        x = left + (width - left - 12) * stage / n_stages
        return x, top + (height - top - bottom) * (1 - share)

    parts = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = place(0, share)[1]
        parts.append(element("line", x1=left, x2=width - 8, y1=y, y2=y, class_="grid"))
        parts.append(text(f"{share:.0%}", left - 5, y + 3.5, class_="end"))
    recalls = [(one.n_stages, one.usual.recall) for one in tried]
    best = [(one.n_stages, one.best.f1) for one in tried]
    for kind, name, points in (("false", "best F1", best), ("hit", "recall", recalls)):
        parts.append(polyline([place(*point) for point in points], class_=f"curve {kind}-line"))
        for stage, share in points:
            x, y = place(stage, share)
            title = element("title", f"{name} of {stage} stages: {share:.3f}")
            parts.append(element("circle", title, cx=x, cy=y, r=3, class_=f"{kind}-dot"))
    every = math.ceil(n_stages / 15)
    parts += [
        text(stage, place(stage, 0.0)[0], height - 6, class_="middle")
        for stage in range(every, n_stages + 1, every)
    ]
    last = tried[-1]
    title = f"In the scenes, {last.n_stages} stages reach a recall of {last.usual.recall:.1%}"
    return drawing(width, height, title, *parts)


def cost_chart(costs: Sequence[StageCost]) -> str:
    """Draw how many features each stage evaluates in a window, on average, and all so far.

    Parameters
    ----------
    costs : sequence of StageCost
        At least one.

    Returns
    -------
    str
        An SVG drawing.
    """
    width, left, row = WIDTH, 58, 17
    height = row * len(costs) + 6
    labels = [_cost_label(cost) for cost in costs]
    room = 12 + CHARACTER * max(map(len, labels))
    scale = (width - left - room) / max(costs[-1].so_far, 1e-9)
    parts = []
    for i, (cost, label) in enumerate(zip(costs, labels, strict=True)):
        y, before = 2 + row * i, cost.so_far - cost.cost
        parts.append(text(f"stage {i + 1}", left - 8, y + 11, class_="end"))
        parts.append(bar(left, y + 2, before * scale, row - 5, class_="before"))
        parts.append(bar(left + before * scale, y + 2, max(cost.cost * scale, 0.8), row - 5, class_="own"))
        parts.append(text(label, left + cost.so_far * scale + 6, y + 11))
    title = f"Features evaluated in a background window: {costs[-1].so_far:.1f} on average"
    return drawing(width, height, title, *parts)


def _cost_label(cost: StageCost) -> str:
    share = f"{100 * cost.reached:.3g}%" if cost.reached >= 1e-4 else "<0.01%"
    return f"{cost.so_far:,.{1 if cost.so_far >= 100 else 2}f} ({cost.n_features:,.0f} × {share})"


def parts_of(seconds: float | None, parts: Mapping[str, float]) -> dict[str, float]:
    """Return the seconds of a stage by what is shown of it: the known parts, in order, and the rest.

    Examples
    --------
    >>> parts_of(5.0, {"boosting": 3.0, "mining": 1.5})
    {'mining': 1.5, 'boosting': 3.0, 'other': 0.5}
    """
    shown = {name: parts[name] for name in PART_NAMES if name in parts}
    rest = max((seconds or 0.0) - sum(shown.values()), 0.0)
    return {**shown, OTHER: rest}


def time_chart(stages: Mapping[int, Mapping[str, float]]) -> str:
    """Draw how long each part of each stage took.

    Parameters
    ----------
    stages : mapping
        Seconds by stage and part; at least one stage.

    Returns
    -------
    str
        An SVG drawing.
    """
    width, left, row = WIDTH, 58, 17
    height = row * len(stages) + 6
    longest = max(sum(parts.values()) for parts in stages.values())
    scale = (width - left - 54) / max(longest, 1e-9)
    drawn = []
    for i, (stage, parts) in enumerate(sorted(stages.items())):
        y = 2 + row * i
        drawn.append(text(f"stage {stage}", left - 8, y + 11, class_="end"))
        ends = list(accumulate(parts.values()))
        for (name, seconds), end in zip(parts.items(), ends, strict=True):
            title = element("title", f"{PART_NAMES.get(name, OTHER)}: {duration(seconds)}")
            x = left + (end - seconds) * scale
            drawn.append(
                element(
                    "rect", title, x=x, y=y + 2, width=seconds * scale, height=row - 5, class_=f"part-{name}"
                )
            )
        drawn.append(text(duration(ends[-1]), left + ends[-1] * scale + 6, y + 11))
    return drawing(width, height, "Time of each stage by part", *drawn)


def _short_count(n: int) -> str:
    """Return a power of ten in few characters."""
    for unit, name in ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k")):
        if n >= unit:
            return f"{n // unit:,} {name}"
    return f"{n}"
