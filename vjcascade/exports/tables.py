"""A model as tables of plain numbers, which all exports contain under the same names."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.evaluation.operating_point import OperatingPoint
from vjcascade.messages import pluralize, shortened
from vjcascade.types import FeatureType

FORMAT = "vjcascade-model"
VERSION = 1

_LINE = 110


def used_model(cascade: Cascade) -> tuple[Cascade, OperatingPoint]:
    """Return the part of a model that its operating point uses, and that point; if it has none, all and the defaults.

    Raises
    ------
    ModelError
        If the operating point in the metadata is damaged.
    """
    point = OperatingPoint.of(cascade)
    if point is None:
        return cascade.without_unused_features(), OperatingPoint(n_stages=max(cascade.n_stages, 1))
    return point.used_part(cascade).without_unused_features(), point


def model_tables(cascade: Cascade) -> dict[str, Any]:
    """Return window, features, nodes, stages and settings of a model as plain JSON values.

    Parameters
    ----------
    cascade : Cascade
        At least one stage.

    Returns
    -------
    dict
        The arrays of `Cascade`, with a list for each field of nodes; `stage_thresholds` are
        `Cascade.effective_thresholds`, with which sums are compared. Values of float32 survive a round trip.

    Examples
    --------
    >>> import vjcascade
    >>> tables = model_tables(Cascade.load(vjcascade.compat.data.find("frontalface")))
    >>> tables["window"], len(tables["stage_thresholds"]), tables["settings"]["min_neighbors"]
    ([20, 20], 27, 3)
    """
    used, point = used_model(cascade)
    nodes, features = used.nodes, used.features
    tables: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "about": about(cascade),
        "settings": {
            "scale_factor": point.scale_factor,
            "min_neighbors": point.min_neighbors,
            "min_size": list(point.min_size) if point.min_size else None,
            "min_ranking_score": point.min_ranking_score,
        },
        "window": list(used.window),
        "feature_type": str(used.feature_type),
    }
    if used.feature_type is FeatureType.LBP:
        tables["cells"] = features["cell"].tolist()
        tables["node_subsets"] = nodes["subset"].tolist()
    else:
        tables["rects"] = features["rects"].reshape(-1, 12).tolist()
        tables["weights"] = [_short(weights) for weights in features["weights"]]
        tables["tilted"] = features["tilted"].astype(int).tolist()
        tables["node_thresholds"] = _short(nodes["threshold"])
    return tables | {
        "node_features": nodes["feature"].tolist(),
        "node_left": nodes["left"].tolist(),
        "node_right": nodes["right"].tolist(),
        "tree_starts": used.tree_starts.tolist(),
        "leaves": _short(used.leaves),
        "stage_starts": used.stage_starts.tolist(),
        "stage_thresholds": _short(used.effective_thresholds),
    }


def short_float32(value: float) -> float:
    """Return the shortest decimal number that rounds to the same float32 as `value`.

    Examples
    --------
    >>> short_float32(float(np.float32(0.1)))
    0.1
    """
    exact = np.float32(value)
    short = float(str(exact))
    return short if np.float32(short) == exact else float(exact)


def model_json(tables: Mapping[str, Any]) -> str:
    """Return a model as JSON in ASCII, in lines of readable length.

    Examples
    --------
    >>> print(model_json({"window": [24, 24], "settings": {"min_size": None}}))
    {
    "window": [24, 24],
    "settings": {"min_size": null}
    }
    """
    entries = (f'"{name}": {json.dumps(value)}' for name, value in tables.items())
    return "{\n" + ",\n".join(map(_broken, entries)) + "\n}"


def _broken(text: str) -> str:
    """Break a long line of numbers after commas; `about` is not broken."""
    lines = [""]
    for word in text.split(", "):
        if len(lines[-1]) + len(word) > _LINE and not text.startswith('"about"'):
            lines.append("")
        lines[-1] += f"{word}, "
    return "\n".join(line.rstrip() for line in lines).removesuffix(",")


def _short(values: NDArray[np.float32]) -> list[float]:
    return [short_float32(value) for value in values.tolist()]


def about(cascade: Cascade) -> list[str]:
    """Describe a model, its training and its settings in lines of plain ASCII.

    Examples
    --------
    >>> import vjcascade
    >>> about(Cascade.load(vjcascade.compat.data.find("frontalface")))[0]
    'Window 20x20, 27 stages, 4,079 weak classifiers over Haar features'
    """
    used, point = used_model(cascade)
    n_stages, n_weak = pluralize(used.n_stages, "stage"), pluralize(used.n_trees, "weak classifier")
    lines = [f"Window {used.window}, {n_stages}, {n_weak} over {used.feature_type.label} features"]
    lines += _training(cascade.metadata)
    if OperatingPoint.of(cascade) is None:
        lines.append(f"Settings (OpenCV's defaults, as the model has no operating point): {point}")
    else:
        lines.append(f"Settings (operating point of the model): {point}")
    return [_plain(line) for line in lines]


def _training(metadata: Mapping[str, Any]) -> list[str]:
    """Describe the training record, as far as there is one; it is not trusted."""
    settings, data = metadata.get("settings"), metadata.get("data")
    words = []
    if isinstance(settings, Mapping) and "booster" in settings:
        words.append(f"booster {settings['booster']}, costs {settings.get('costs', 'not recorded')}")
    if isinstance(data, Mapping):
        words += [f"{data[name]} {name}" for name in ("positives", "photos") if name in data]
    lines = [f"Trained by vjcascade: {', '.join(words)}"] if words else []
    stages = metadata.get("stages")
    last = stages[-1] if isinstance(stages, list) and stages else None
    if isinstance(last, Mapping) and isinstance(tuned := last.get("tuned"), Mapping):
        lines.append(
            f"Stage {last.get('stage')}: hit rate {_rounded(tuned.get('hit_rate'))}, false-alarm rate "
            f"{_rounded(tuned.get('false_alarm_rate'))} on {last.get('hit_rate_on')} windows"
        )
    return lines


def _rounded(value: object) -> object:
    return f"{value:.4g}" if isinstance(value, float) else value


def _plain(text: str) -> str:
    """Return a line that is safe inside comments and strings of any language."""
    return re.sub(r"[^A-Za-z0-9 .,:;%+()\[\]_-]", "?", shortened(text, 300))
