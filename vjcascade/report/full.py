"""The part of a comparison's report on whole cascades: `full_part.html` and `full.html` arrange what is made here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from vjcascade import __version__
from vjcascade.boosters.state import Floats
from vjcascade.comparison.answer import default_name, listed, p_words
from vjcascade.comparison.full_results import (
    FALSE_ALARMS_PER_SCENE,
    MAIN_FALSE_ALARMS,
    FullComparison,
    FullRow,
)
from vjcascade.comparison.results import COMMAND
from vjcascade.comparison.summary import Verdict
from vjcascade.evaluation.intervals import LEVEL, Interval
from vjcascade.messages import duration, memory_size, pluralize, shortened
from vjcascade.report.charts import WIDTH
from vjcascade.report.svg import drawing, element, polyline, text
from vjcascade.report.templates import template

MAX_CURVES = 60
"""Entries whose curves are drawn, the best first."""

MAX_NAME = 26
"""Longer names are cut in drawings."""

NONE = "–"

MARKS = {Verdict.BETTER: "▲", Verdict.WORSE: "▼", Verdict.ALIKE: "≈", Verdict.UNKNOWN: ""}
"""Marks of hit rates, of which more is better."""


def build_full_report(full: FullComparison) -> str:
    """Return the report on whole cascades by themselves, a page of HTML that needs nothing else.

    Parameters
    ----------
    full : FullComparison
        What was compared.

    Returns
    -------
    str
        The page.
    """
    render = template("full.html")  # before the work
    title = f"{pluralize(len(full.outcomes), 'cascade')} on {pluralize(len(full.n_objects), 'scene')}"
    return render(full=full_values(full), title=title, version=__version__)


def full_values(full: FullComparison) -> dict[str, Any]:
    """Return what `full_part.html` shows, under the name `full`.

    Parameters
    ----------
    full : FullComparison
        What was compared.

    Returns
    -------
    dict
        Text is text, to be escaped; drawings are SVG.
    """
    order = _best_first(full)
    trained = [number for number in order if full.rows[number].n_trained]
    return {
        "answer": full_answer(full),
        "rates": [f"{rate:g}" for rate in FALSE_ALARMS_PER_SCENE],
        "main": f"{MAIN_FALSE_ALARMS:g}",
        "level": f"{LEVEL:.0%}",
        "n_scenes": len(full.n_objects),
        "n_objects": int(full.n_objects.sum()),
        "n_seeds": len(full.seeds),
        "rows": [_table_row(full.rows[number], is_baseline=number == full.baseline) for number in order],
        "forest": forest_chart(full),
        "curves": [curve_chart(full, number) for number in trained[:MAX_CURVES]],
        "n_hidden": max(len(trained) - MAX_CURVES, 0),
        "has_baseline": full.baseline is not None,
        "failed": list(_failed(full)),
        "metadata": {name: group for name, group in full.metadata.items() if name != COMMAND},
        "command": "\n".join(str(line) for line in full.metadata.get(COMMAND, {}).values()),
    }


def full_answer(full: FullComparison) -> list[str]:
    """Return what the comparison of whole cascades shows, in sentences.

    Parameters
    ----------
    full : FullComparison
        What was compared.

    Returns
    -------
    list of str
        Whether there is evidence of a difference from the baseline; which finds most, and how it compares with the
        baseline; which is fastest.
    """
    best = full.rows[_best_first(full)[0]]
    scenes = pluralize(len(full.n_objects), "scene")
    where = f"On {scenes} with {pluralize(int(full.n_objects.sum()), 'object')}"
    if best.main.mean == 0:
        return [f"{where}, no cascade finds any at {MAIN_FALSE_ALARMS:g} false alarms per scene."]
    who = f"the cascade of {best.entry.name} has the highest hit rate at {MAIN_FALSE_ALARMS:g} false alarms per scene"
    sentences = [*_verdict(full), f"{where}, {who}: {_with_ends(best.main)}."]
    if full.baseline is not None and full.rows[full.baseline] is not best:
        sentences.append(_against_baseline(full.rows[full.baseline], best))
    cheapest = min(full.rows, key=lambda row: _or_infinite(row.means["features"]))
    sentences.append(
        f"The cascade of {cheapest.entry.name} evaluates the fewest features in a window of these scenes, "
        f"{cheapest.means['features']:.1f} on average."
    )
    return sentences


def forest_chart(full: FullComparison) -> str:
    """Draw the hit rate of each entry at `MAIN_FALSE_ALARMS`, with its interval, the best first.

    Parameters
    ----------
    full : FullComparison
        What was compared.

    Returns
    -------
    str
        An SVG drawing.
    """
    width, left, right, row, top = WIDTH, 150, 44, 17, 8
    rows = [full.rows[number] for number in _best_first(full)]
    bottom = top + row * len(rows)

    def x_of(rate: float) -> float:
        return left + (width - left - right) * rate

    parts = []
    for rate in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(element("line", x1=x_of(rate), x2=x_of(rate), y1=top - 4, y2=bottom, class_="grid"))
        parts.append(text(f"{rate:.0%}", x_of(rate), bottom + 13, class_="middle"))
    if full.baseline is not None and not math.isnan(full.rows[full.baseline].main.mean):
        x = x_of(full.rows[full.baseline].main.mean)
        parts.append(element("line", x1=x, x2=x, y1=top - 4, y2=bottom, class_="target false-line"))
    for i, one in enumerate(rows):
        y = top + row * i + row / 2
        parts.append(text(shortened(one.entry.name, MAX_NAME), left - 9, y + 4, class_="end"))
        if math.isnan(one.main.mean):
            parts.append(text("not trained", left + 4, y + 4))
            continue
        if not math.isnan(one.main.low):
            ends = [(x_of(one.main.low), y), (x_of(one.main.high), y)]
            parts.append(polyline(ends, class_="curve hit-line"))
        parts.append(element("circle", cx=x_of(one.main.mean), cy=y, r=3.5, class_="hit-dot"))
        parts.append(text(f"{one.main.mean:.1%}", width - right + 7, y + 4))
    title = f"Hit rate at {MAIN_FALSE_ALARMS:g} false alarms per scene"
    return drawing(width, bottom + 18, title, *parts)


def curve_chart(full: FullComparison, number: int) -> str:
    """Draw an entry's hit rate over false alarms, with its band, and the baseline's.

    Parameters
    ----------
    full : FullComparison
        What was compared.
    number : int
        Of the entry.

    Returns
    -------
    str
        An SVG drawing; false alarms per scene on a logarithmic scale.
    """
    width, height, left, right, top, bottom = 220, 150, 34, 10, 20, 18
    false_alarms, curves = full.curves
    ends = math.log10(false_alarms[0]), math.log10(false_alarms[-1])

    def place(rate: float, hits: float) -> tuple[float, float]:
        along = (math.log10(rate) - ends[0]) / (ends[1] - ends[0])
        return left + (width - left - right) * along, top + (height - top - bottom) * (1 - hits)

    parts = []
    for hits in (0.0, 0.5, 1.0):
        y = place(false_alarms[0], hits)[1]
        parts.append(element("line", x1=left, x2=width - right, y1=y, y2=y, class_="grid"))
        parts.append(text(f"{hits:.0%}", left - 4, y + 3.5, class_="end"))
    for decade in range(math.ceil(ends[0]), math.floor(ends[1]) + 1):
        x = place(10.0**decade, 0)[0]
        parts.append(element("line", x1=x, x2=x, y1=top, y2=height - bottom, class_="grid"))
        parts.append(text(f"{10.0**decade:g}", x, height - 5, class_="middle"))
    own = curves[number]
    if not math.isnan(own[0].mean):
        around = [
            *zip(false_alarms, [one.low for one in own], strict=True),
            *reversed(list(zip(false_alarms, [one.high for one in own], strict=True))),
        ]
        band = [place(rate, hits) for rate, hits in around if not math.isnan(hits)]
        parts.append(polyline(band, class_="hit-dot", style="opacity: .16"))
        if full.baseline not in (None, number):
            parts.append(_steps(false_alarms, curves[full.baseline], place, "curve natural false-line"))
        parts.append(_steps(false_alarms, own, place, "curve hit-line"))
    name = full.entries[number].name
    parts.append(text(shortened(name, MAX_NAME), left, 12, class_="strong"))
    return drawing(width, height, f"{name}: hit rate over false alarms per scene", *parts)


def _steps(
    false_alarms: Floats,
    curve: Sequence[Interval],
    place: Callable[[float, float], tuple[float, float]],
    kind: str,
) -> str:
    """Return a curve that keeps its level until the next point."""
    points = [place(rate, one.mean) for rate, one in zip(false_alarms, curve, strict=True)]
    corners = [(after[0], before[1]) for before, after in pairwise(points)]
    stairs = [point for pair in zip(points, [*corners, points[-1]], strict=True) for point in pair]
    return polyline([point for point in stairs if not math.isnan(point[1])], class_=kind)


def _best_first(full: FullComparison) -> list[int]:
    """Return the numbers of the entries by hit rate, those that were not trained last."""
    rates = np.array([row.main.mean for row in full.rows])
    order: list[int] = np.argsort(-rates, kind="stable").tolist()
    return order


def _verdict(full: FullComparison) -> Iterator[str]:
    """Say whether cascades differ from the baseline's by more than chance, whatever the false alarms."""
    judged = [
        (p, f"{row.entry.name} at {rate:g} (p {p_words(p)})", Verdict.of(-difference.mean, p))
        for row in full.rows
        for rate, difference, p in zip(FALSE_ALARMS_PER_SCENE, row.differences, row.corrected, strict=True)
        if not math.isnan(p)
    ]
    if not judged:
        return
    keep = f"keep the default, {default_name()}"
    better, worse = (
        [words for _, words, verdict in sorted(judged) if verdict is one]
        for one in (Verdict.BETTER, Verdict.WORSE)
    )
    least = f"the least corrected p-value is {p_words(min(p for p, *_ in judged))}"
    n_compared = f"{pluralize(len(judged), 'comparison')} of hit rates with plain AdaBoost's"
    if not better and not worse:
        yield f"No evidence of a difference; {keep}. None of the {n_compared} is significant: {least}."
        return
    stand = f"Of the {n_compared}, {len(better) + len(worse):,} are significant; {least}."
    stand += f" Better: {listed(better)}." if better else ""
    stand += f" Worse: {listed(worse)}." if worse else ""
    head = "There is evidence of a difference." if better else f"No evidence of anything better; {keep}."
    yield f"{head} {stand}"


def _against_baseline(base: FullRow, best: FullRow) -> str:
    difference = best.main_difference
    if math.isnan(difference.mean):
        return "No cascade of plain AdaBoost, the baseline, could be trained."
    return (
        f"That of plain AdaBoost finds {_with_ends(base.main)}: the difference is "
        f"{_points(difference.mean)} points ({_ends(difference)}; corrected p {p_words(best.main_corrected)})."
    )


def _table_row(row: FullRow, *, is_baseline: bool) -> dict[str, Any]:
    means, difference = row.means, row.main_difference
    return {
        "name": row.entry.name,
        "n_trained": row.n_trained,
        "hits": [_percent(one.mean) for one in row.hit_rates],
        "main_ends": ""
        if math.isnan(row.main.low)
        else f"{100 * row.main.low:.1f} to {100 * row.main.high:.1f}",
        "difference": "baseline" if is_baseline else _points(difference.mean),
        "difference_ends": "" if is_baseline else _ends(difference),
        "mark": "" if is_baseline else MARKS[Verdict.of(-difference.mean, row.main_corrected)],
        "p": "" if math.isnan(row.main_corrected) else p_words(row.main_corrected),
        "features": _formatted(means["features"], "{:.1f}"),
        "stages": _formatted(means["n_stages"], "{:.3g}"),
        "weak": _formatted(means["n_weak"], "{:,.0f}"),
        "held_out": _percent(means["held_out_hit_rate"]),
        "false": _formatted(means["false_alarm_rate"], "{:.1e}"),
        "time": NONE if math.isnan(means["seconds"]) else duration(means["seconds"]),
        "processor": NONE if math.isnan(means["processor_seconds"]) else duration(means["processor_seconds"]),
        "memory": NONE if math.isnan(means["memory"]) else memory_size(int(means["memory"])),
    }


def _failed(full: FullComparison) -> Iterator[str]:
    """Yield why cascades could not be trained."""
    for (entry, seed), outcome in sorted(full.outcomes.items()):
        if outcome.found is None:
            yield f"{full.entries[entry].name}, seed {full.seeds[seed]}: {outcome.ended}"


def _ends(difference: Interval) -> str:
    return "" if math.isnan(difference.low) else f"{_points(difference.low)} to {_points(difference.high)}"


def _points(share: float) -> str:
    return NONE if math.isnan(share) else f"{100 * share:+.1f}"


def _with_ends(rate: Interval) -> str:
    ends = "" if math.isnan(rate.low) else f" ({100 * rate.low:.1f} to {_percent(rate.high)})"
    return f"{_percent(rate.mean)}{ends}"


def _percent(rate: float) -> str:
    return NONE if math.isnan(rate) else f"{rate:.1%}"


def _formatted(number: float, form: str) -> str:
    return NONE if math.isnan(number) else form.format(number)


def _or_infinite(number: float) -> float:
    return math.inf if math.isnan(number) else number
