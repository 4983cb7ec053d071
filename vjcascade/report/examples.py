"""Cuts from scenes that show what a model misses, and what it takes for the object: the worst first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.state import Floats
from vjcascade.evaluation import Evaluation
from vjcascade.evaluation.evaluating import ModelResult
from vjcascade.evaluation.matching import overlaps
from vjcascade.imaging import read_gray, resize_exact
from vjcascade.report.pictures import png_address
from vjcascade.report.svg import drawing, element
from vjcascade.types import Size

NEAR = 0.1
"""Intersection over union with an object from which what is no hit is a near miss."""

MOST_CUTS = 54
"""Of one kind, shared among the models."""

GROWTH = 1.8
"""Side of a cut, in sides of the boxes that it shows."""

MAX_SIDE = 80
"""Pixels of a cut; larger ones are shown smaller."""

Box = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Example:
    """A place in a scene.

    Attributes
    ----------
    scene : int
        Its number.
    truth, found : ndarray of shape (n, 4), dtype float64
        True boxes and detections to draw.
    caption : str
        Scores and overlaps.
    badness : tuple of float
        The largest comes first.
    """

    scene: int
    truth: Box
    found: Box
    caption: str
    badness: tuple[float, ...]


def misses(model: ModelResult, evaluation: Evaluation) -> list[Example]:
    """Return the objects that are not found with the settings in use.

    Parameters
    ----------
    model : ModelResult
        One of those evaluated.
    evaluation : Evaluation
        Has the scenes.

    Returns
    -------
    list of Example
        First those that no detection of the whole curve overlaps, and of these the largest.
    """
    examples = []
    for number, (scene, one) in enumerate(zip(evaluation.scenes.scenes, model.findings, strict=True)):
        shared = overlaps(scene.boxes, one.found.boxes)
        for row in sorted(set(range(len(scene.boxes))) - set(one.used_matches.objects.tolist())):
            best = float(shared[row].max(initial=0.0))
            nearest = one.found.boxes[[int(shared[row].argmax())]] if best > 0 else np.empty((0, 4))
            score = f", {_score(one.matches.scores[int(shared[row].argmax())])}" if best > 0 else ""
            caption = f"{scene.boxes[row, 3]:.0f} px; " + (
                f"IoU {best:.2f}{score}" if best > 0 else "nothing near"
            )
            badness = (-best, float(scene.boxes[row, 3]))
            examples.append(Example(number, scene.boxes[[row]], nearest.astype(np.float64), caption, badness))
    return _worst_first(examples)


def false_alarms(model: ModelResult, evaluation: Evaluation, *, near: bool) -> list[Example]:
    """Return the false alarms with the settings in use: those near an object, or the others.

    Parameters
    ----------
    model : ModelResult
        One of those evaluated.
    evaluation : Evaluation
        Has the scenes.
    near : bool
        Whether those that overlap an object by `NEAR` or more are wanted: boxes in the wrong place or of the wrong
        size, and further detections of an object.

    Returns
    -------
    list of Example
        The highest scores first.
    """
    examples = []
    for number, (scene, one) in enumerate(zip(evaluation.scenes.scenes, model.findings, strict=True)):
        matches, boxes = one.used_matches, one.used.boxes.astype(np.float64)
        shared = overlaps(boxes, scene.boxes)
        best: Floats = shared.max(axis=1, initial=0.0)
        is_false = ~matches.hits & ~matches.ignored
        for row in np.flatnonzero(is_false & ((best >= NEAR) == near)).tolist():
            caption = _score(matches.scores[row])
            truth = np.empty((0, 4))
            if near:
                nearest = int(shared[row].argmax())
                again = ", found already" if nearest in matches.objects else ""
                truth, caption = scene.boxes[[nearest]], f"{caption}, IoU {best[row]:.2f}{again}"
            examples.append(Example(number, truth, boxes[[row]], caption, (float(matches.scores[row]),)))
    return _worst_first(examples)


def _score(score: float) -> str:
    return f"score {score:,.0f}" if abs(score) >= 1000 else f"score {score:.3g}"


def cuts(examples: Sequence[Example], evaluation: Evaluation) -> list[tuple[str, str]]:
    """Return drawings of the places, each with its caption.

    Parameters
    ----------
    examples : sequence of Example
        What to show; at most as many as there is room for are.
    evaluation : Evaluation
        Has the scenes.

    Returns
    -------
    list of (str, str)
        SVG drawings, and captions to be escaped.
    """
    shown = examples[: max(MOST_CUTS // max(len(evaluation.models), 3), 3)]
    drawn: dict[int, str] = {}
    for scene in sorted({one.scene for one in shown}):
        path = evaluation.scenes.scenes[scene].path
        gray = read_gray(path)
        for place, one in enumerate(shown):
            if one.scene == scene:
                drawn[place] = _cut(gray, one, path.name)
    return [(drawn[place], one.caption) for place, one in enumerate(shown)]


def _worst_first(examples: list[Example]) -> list[Example]:
    return sorted(examples, key=lambda one: one.badness, reverse=True)


def _cut(gray: NDArray[np.uint8], example: Example, name: str) -> str:
    boxes = np.concatenate([example.truth, example.found])
    starts, ends = boxes[:, :2].min(axis=0), (boxes[:, :2] + boxes[:, 2:]).max(axis=0)
    whole = np.array(gray.shape[::-1])
    sides = np.minimum(np.ceil(GROWTH * (ends - starts)).astype(int), whole)
    corner = np.clip(np.rint((starts + ends - sides) / 2).astype(int), 0, whole - sides)
    (x, y), (width, height) = corner.tolist(), sides.tolist()
    shrink = max(max(width, height) / MAX_SIDE, 1.0)
    small = Size(max(round(width / shrink), 1), max(round(height / shrink), 1))
    address = png_address(resize_exact(np.ascontiguousarray(gray[y : y + height, x : x + width]), small))
    parts = [element("image", href=address, width=width, height=height)]
    parts += _frames(example.truth - [x, y, 0, 0], "truth") + _frames(example.found - [x, y, 0, 0], "found")
    return drawing(width, height, f"{name}: {example.caption}", *parts)


def _frames(boxes: Box, kind: str) -> list[str]:
    return [element("rect", x=x, y=y, width=w, height=h, class_=kind) for x, y, w, h in boxes.tolist()]
