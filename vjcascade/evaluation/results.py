"""What an evaluation says: in sentences, and as tables for other programs."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from vjcascade.evaluation.evaluating import Evaluation, ModelResult
from vjcascade.evaluation.figures import Figure
from vjcascade.evaluation.goals import FEW_OBJECTS
from vjcascade.evaluation.intervals import Interval
from vjcascade.evaluation.operating_point import OperatingPoint
from vjcascade.messages import pluralize

RESULT_COLUMNS = (
    "model",
    "objects",
    "figure",
    "value",
    "low",
    "high",
    "difference",
    "difference_low",
    "difference_high",
)
MANY_MORE = 2
"""Times the false alarms that models are compared at: more than that is said."""

CURVE_COLUMNS = (
    "model",
    "score",
    "recall",
    "precision",
    "false_alarms",
    "false_alarms_per_picture",
    "false_alarms_per_megawindow",
)


def verdict(evaluation: Evaluation) -> list[str]:
    """Return what was found, in sentences.

    Parameters
    ----------
    evaluation : Evaluation
        Of one model or several.

    Returns
    -------
    list of str
        How much the best finds, against each of the others: more, or no evidence either way. Then, where the settings
        in use give far more false alarms than that, how many.
    """
    return [*_found(evaluation), *_as_used(evaluation)]


def _found(evaluation: Evaluation) -> list[str]:
    """Say which model finds most at the same false alarms."""
    best, *others = evaluation.best_first
    where = f"at {_rate(evaluation)}"
    objects = pluralize(evaluation.n_objects, "object")
    if not others:
        return [f"{best.name} finds {_with_ends(evaluation.main(best))} of {objects} {where}."]
    sentences = [_against(evaluation, best, other, where) for other in others]
    if len(others) > 1:
        sentences.append(
            f"{best.name} was chosen as the best of {len(others) + 1} on these scenes; elsewhere it may lead by less."
        )
    return sentences


def _as_used(evaluation: Evaluation) -> list[str]:
    """Say how many false alarms the settings in use give, if far more than those that models are compared at."""
    rates = {model.name: model.used.n_false_alarms / len(evaluation.scenes) for model in evaluation.models}
    if max(rates.values()) < MANY_MORE * evaluation.protocol.false_alarms_per_picture:
        return []
    numbers = ", ".join(f"{name} {rate:.2f}" for name, rate in rates.items())
    return [
        f"With the settings in use, false alarms per picture: {numbers}; vjcascade tune chooses settings for fewer."
    ]


def _seen(evaluation: Evaluation) -> Iterator[str]:
    """Say which models have seen the scenes, and so look better here than elsewhere."""
    scenes = evaluation.scenes.fingerprint
    for model in evaluation.models:
        metadata = model.candidate.cascade.metadata
        tuned, trained = (_inner(metadata, *path) for path in (("tuning", "scenes"), ("data",)))
        if scenes in {tuned.get("sha256"), trained.get("scenes_sha256")}:
            yield (
                f"The settings of {model.name} were chosen on these scenes: expect less elsewhere, and evaluate it on "
                "others."
            )


def _inner(metadata: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """Return a mapping inside a model's metadata; an empty one if there is none, as anybody may have written it."""
    inner: Any = metadata
    for name in path:
        inner = inner.get(name) if isinstance(inner, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def notes(evaluation: Evaluation) -> list[str]:
    """Return what to bear in mind with the figures, in sentences.

    Parameters
    ----------
    evaluation : Evaluation
        Of one model or several.

    Returns
    -------
    list of str
        None where there is nothing.
    """
    found = [*evaluation.scenes.notes, *_seen(evaluation)]
    if evaluation.n_objects < FEW_OBJECTS:
        found.append(
            f"{pluralize(evaluation.n_objects, 'object')} are few; such figures may be off by ten points."
        )
    ends = {model.name: _last_rate(model) for model in evaluation.best_first}
    short = {name: end for name, end in ends.items() if end < evaluation.protocol.false_alarms_per_picture}
    if short:
        numbers = ", ".join(f"{end:.2g}" for end in short.values())
        found.append(
            f"At {_rate(evaluation)}, all detections of {', '.join(short)} count: they include fewer false alarms "
            f"({numbers})."
        )
    if not evaluation.sizes:
        found.append(
            f"No figures by size: {evaluation.protocol.rule.name} reassigns detections at each score."
        )
    return found


def settings_in_use(model: ModelResult) -> str:
    """Return the settings of a model in words, and where they are from."""
    values = model.candidate.settings
    known = {
        name: values[name] for name in ("scale_factor", "min_neighbors", "min_ranking_score", "min_size")
    }
    most = "x".join(map(str, values["max_size"])) if values["max_size"] else ""
    words = str(OperatingPoint(n_stages=model.candidate.cascade.n_stages, **known))
    tuned = " (tuned)" if model.candidate.is_tuned else ""
    return f"{words}{f', at most {most}' if most else ''}{tuned}"


def results_csv(evaluation: Evaluation) -> str:
    """Return all figures as a table: one line for each model, class of objects and figure.

    Parameters
    ----------
    evaluation : Evaluation
        Of one model or several.

    Returns
    -------
    str
        Comma-separated values; differences are those to the first model. Empty where nothing is known.
    """
    return _csv(RESULT_COLUMNS, _result_rows(evaluation))


def curve_csv(evaluation: Evaluation) -> str:
    """Return all steps of all curves as a table.

    Parameters
    ----------
    evaluation : Evaluation
        Of one model or several.

    Returns
    -------
    str
        Comma-separated values.
    """
    return _csv(CURVE_COLUMNS, (row for model in evaluation.models for row in _curve_rows(model)))


def results_json(evaluation: Evaluation, command: str = "") -> str:
    """Return settings, scenes and figures.

    Parameters
    ----------
    evaluation : Evaluation
        Of one model or several.
    command : str
        The command line that repeats it, if it is known.

    Returns
    -------
    str
        JSON.
    """
    values = {
        "command": command,
        "verdict": verdict(evaluation),
        "notes": notes(evaluation),
        "scenes": evaluation.scenes.as_dict(),
        "protocol": evaluation.protocol.as_dict(),
        "models": [_model_dict(evaluation, model) for model in evaluation.models],
    }
    return json.dumps(values, allow_nan=False, ensure_ascii=False, indent=1) + "\n"


def _last_rate(model: ModelResult) -> float:
    """Return the false alarms per picture at the end of a model's curve."""
    rates = model.curve.false_alarms_per_picture
    return float(rates[-1]) if len(rates) else 0.0


def _rate(evaluation: Evaluation) -> str:
    rate = f"{evaluation.protocol.false_alarms_per_picture:g}"
    return f"{rate} false alarm{'' if rate == '1' else 's'} per picture"


def _against(evaluation: Evaluation, best: ModelResult, other: ModelResult, where: str) -> str:
    difference = evaluation.main_difference(best, other)
    found = f"{evaluation.main(best).mean:.1%} against {evaluation.main(other).mean:.1%}"
    gap = _in_points(difference.interval, evaluation.protocol.level)
    if difference.is_significant:
        return f"{best.name} finds more than {other.name} {where}: {found}, difference {gap}."
    return f"No evidence either way between {best.name} and {other.name} {where}: {found}, difference {gap}."


def _in_points(interval: Interval, level: float) -> str:
    low, high = 100 * interval.low, 100 * interval.high
    return f"{100 * interval.mean:.1f} points ({level:.0%} CI {low:.1f} to {high:.1f})".replace("%", " %")


def _with_ends(share: Interval) -> str:
    return f"{share.mean:.1%} ({100 * share.low:.1f} to {share.high:.1%})"


def _result_rows(evaluation: Evaluation) -> Iterator[Sequence[Any]]:
    first, n_all = evaluation.models[0], evaluation.n_objects
    for model in evaluation.models:
        differences = evaluation.differences(model, first)
        rows = zip(evaluation.figures, evaluation.intervals(model), differences, strict=True)
        for figure, interval, difference in rows:
            gap = [""] * 3 if model is first else _ends(difference.interval)
            yield [model.name, f"all {n_all}", figure.key, *_ends(interval), *gap]
        for number, size in enumerate(evaluation.sizes):
            sized = zip(evaluation.size_figures, evaluation.size_intervals(model, number), strict=True)
            for figure, interval in sized:
                yield [model.name, str(size), figure.key, *_ends(interval), "", "", ""]


def _curve_rows(model: ModelResult) -> Iterator[Sequence[Any]]:
    curve = model.curve
    columns = (
        curve.scores,
        curve.hit_rate,
        curve.precision,
        curve.n_false_alarms,
        curve.false_alarms_per_picture,
        curve.false_alarms_per_megawindow(max(model.n_windows, 1)),
    )
    for row in zip(*(column.tolist() for column in columns), strict=True):
        yield [model.name, *(f"{value:.6g}" for value in row)]


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def _ends(interval: Interval) -> list[str]:
    numbers = (interval.mean, interval.low, interval.high)
    return ["" if math.isnan(number) else f"{number:.6g}" for number in numbers]


def _model_dict(evaluation: Evaluation, model: ModelResult) -> dict[str, Any]:
    first = evaluation.models[0]
    differences = [one.interval for one in evaluation.differences(model, first)]
    used = model.used
    return {
        "name": model.name,
        "settings": model.candidate.settings,
        "tuned": model.candidate.is_tuned,
        "windows": model.n_windows,
        "used": vars(used),
        "figures": _figures_dict(evaluation.figures, evaluation.intervals(model)),
        "difference_to_first": {} if model is first else _figures_dict(evaluation.figures, differences),
        "sizes": [
            {
                "objects": str(size),
                "figures": _figures_dict(evaluation.size_figures, evaluation.size_intervals(model, number)),
            }
            for number, size in enumerate(evaluation.sizes)
        ],
        "tried": [
            {"stages": n_stages, "min_neighbors": min_neighbors, **vars(figures)}
            for (n_stages, min_neighbors), figures in model.tried.items()
        ],
    }


def _figures_dict(figures: Sequence[Figure], intervals: Sequence[Interval]) -> dict[str, Any]:
    return {
        figure.key: {name: _or_none(getattr(interval, name)) for name in ("mean", "low", "high")}
        for figure, interval in zip(figures, intervals, strict=True)
    }


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else number
