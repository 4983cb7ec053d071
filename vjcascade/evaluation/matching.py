"""Match detections to true boxes, and count hits against false alarms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vjcascade.errors import SettingsError

MIN_OVERLAP = 0.5
"""Intersection over union from which a detection counts as a hit, as in the PASCAL VOC challenge."""


@dataclass(frozen=True, eq=False)
class Matches:
    """The detections of one scene, judged.

    Attributes
    ----------
    scores : ndarray of shape (n,), dtype float64
        As given.
    hits : ndarray of shape (n,), dtype bool
        Whether a detection found an object that no better detection had found.
    n_objects : int
        True boxes in the scene.
    """

    scores: NDArray[np.float64]
    hits: NDArray[np.bool_]
    n_objects: int


@dataclass(frozen=True, eq=False)
class Curve:
    """Detections against false alarms over all scenes, as the score that is asked for falls.

    Attributes
    ----------
    scores : ndarray of shape (n,), dtype float64
        Falling; row `i` counts the detections with at least this score.
    hit_rate : ndarray of shape (n,), dtype float64
        Share of the objects found, in [0, 1].
    n_false_alarms : ndarray of shape (n,), dtype int64
        Detections that are no hits.
    n_objects : int
        Objects in all scenes.
    """

    scores: NDArray[np.float64]
    hit_rate: NDArray[np.float64]
    n_false_alarms: NDArray[np.int64]
    n_objects: int


def overlaps(boxes: ArrayLike, others: ArrayLike) -> NDArray[np.float64]:
    """Return the intersection over union of every two boxes.

    Parameters
    ----------
    boxes, others : array_like of shapes (n, 4) and (m, 4)
        `x, y, w, h`, also with fractions of pixels; sides > 0.

    Returns
    -------
    ndarray of shape (n, m), dtype float64
        In [0, 1].

    Examples
    --------
    >>> overlaps([[0, 0, 2, 2]], [[0, 0, 2, 2], [1, 0, 2, 2], [5, 5, 1, 1]]).round(3).tolist()
    [[1.0, 0.333, 0.0]]
    """
    a = np.asarray(boxes, np.float64).reshape(-1, 1, 4)
    b = np.asarray(others, np.float64).reshape(1, -1, 4)
    sides = np.minimum(a[..., :2] + a[..., 2:], b[..., :2] + b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    shared = sides.clip(min=0).prod(-1)
    ratio: NDArray[np.float64] = shared / (a[..., 2:].prod(-1) + b[..., 2:].prod(-1) - shared)
    return ratio


def match_detections(
    boxes: ArrayLike, scores: ArrayLike, truth: ArrayLike, *, min_overlap: float = MIN_OVERLAP
) -> Matches:
    """Give each detection, best score first, the free true box that it overlaps most.

    Parameters
    ----------
    boxes : array_like of shape (n, 4)
        Detections, `x, y, w, h`.
    scores : array_like of shape (n,)
        Of equal scores the earlier one goes first.
    truth : array_like of shape (m, 4)
        True boxes; each is found once, further detections of it are false alarms.
    min_overlap : float
        Intersection over union that a hit needs, in (0, 1].

    Returns
    -------
    Matches
        Rows as in `boxes`.

    Raises
    ------
    ValueError
        If boxes and scores differ in number, or `min_overlap` is out of range.

    Examples
    --------
    >>> match_detections([[0, 0, 9, 9], [1, 0, 9, 9]], [1.0, 2.0], [[0, 0, 9, 9]]).hits.tolist()
    [False, True]
    """
    scores = np.asarray(scores, np.float64)
    table = overlaps(boxes, truth)
    if scores.shape != table.shape[:1]:
        raise ValueError(f"{len(table)} boxes need as many scores, these have the shape {scores.shape}")
    if not 0 < min_overlap <= 1:
        raise SettingsError(f"min_overlap {min_overlap} must be above 0 and at most 1")
    hits = np.zeros(len(scores), np.bool_)
    if table.size:
        for detection in np.argsort(-scores, kind="stable"):
            best = int(table[detection].argmax())
            if table[detection, best] >= min_overlap:
                hits[detection] = True
                table[:, best] = -1
    return Matches(scores, hits, table.shape[1])


def detection_curve(scenes: Sequence[Matches]) -> Curve:
    """Count hits and false alarms of all scenes together for every score that may be asked for.

    Examples
    --------
    >>> scene = match_detections([[0, 0, 9, 9], [50, 0, 9, 9]], [2.0, 1.0], [[0, 0, 9, 9], [0, 50, 9, 9]])
    >>> curve = detection_curve([scene])
    >>> curve.hit_rate.tolist(), curve.n_false_alarms.tolist()
    ([0.5, 0.5], [0, 1])
    """
    n_objects = sum(scene.n_objects for scene in scenes)
    scores = np.concatenate([scene.scores for scene in scenes] or [np.empty(0)])
    hits = np.concatenate([scene.hits for scene in scenes] or [np.empty(0, np.bool_)])
    order = np.argsort(-scores, kind="stable")
    last_of_score = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)[: len(order)]
    n_hits = np.cumsum(hits[order])[last_of_score]
    return Curve(
        scores[order][last_of_score], n_hits / max(n_objects, 1), last_of_score + 1 - n_hits, n_objects
    )
