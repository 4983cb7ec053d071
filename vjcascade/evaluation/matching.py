"""Rules that say which detections found an object: those published with the usual test sets, by their names.

Whatever the rule, a detection is a hit, a false alarm, or ignored, and each object is found at most once: further
detections of it are false alarms. In regions to ignore nothing counts: a detection that found no object is ignored if
the rule would take such a region for its object, or if half of it lies in there (as in COCO, where regions are crowds
and detections may be parts of them).

No result depends on the order in which detections are given. Of equal scores, the one nearer to an object goes first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import Field, dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vjcascade.boosters.state import Floats
from vjcascade.errors import SettingsError
from vjcascade.messages import suggest

MIN_OVERLAP = 0.5
"""Intersection over union from which a detection counts as a hit, as in the PASCAL VOC challenge."""

MIN_SHARE_IGNORED = 0.5
"""Share of a detection that lies in a region to ignore, from which it is ignored."""

NO_BOXES = np.empty((0, 4))

_NOT_FOUND = np.inf
"""Distance of a detection from an object that it did not find."""


@dataclass(frozen=True, eq=False)
class Matches:
    """The detections of one scene, matched with the true boxes: parallel arrays, one row per detection.

    Attributes
    ----------
    scores : ndarray of shape (n,), dtype float64
        As given.
    hits : ndarray of shape (n,), dtype bool
        Whether a detection found an object that no better detection had found.
    n_objects : int
        True boxes in the scene.
    ignored : ndarray of shape (n,), dtype bool
        Neither hit nor false alarm; nowhere if not given.
    objects : ndarray of shape (n,), dtype int64
        Which true box was found, from 0; -1 where none was, or if not given.
    gains : ndarray of shape (n,), dtype float64
        How many objects more are found when detections of this score are added to those of higher ones; `hits` if
        not given. Rules that reassign at each score (FDDB's) have others: gains may be fractions, or below 0.
    false_alarms : ndarray of shape (n,), dtype int64
        How many false alarms more there are then; detections that are neither hits nor ignored, if not given.

    Examples
    --------
    >>> Matches(np.array([2.0, 1.0]), np.array([True, False]), 1).false_alarms.tolist()
    [0, 1]
    """

    scores: Floats
    hits: NDArray[np.bool_]
    n_objects: int
    ignored: NDArray[np.bool_] = None  # type: ignore[assignment]  # None does not outlive the constructor
    objects: NDArray[np.int64] = None  # type: ignore[assignment]
    gains: Floats = None  # type: ignore[assignment]
    false_alarms: NDArray[np.int64] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        n = len(self.scores)
        defaults = {
            "ignored": np.zeros(n, np.bool_),
            "objects": np.full(n, -1, np.int64),
            "gains": self.hits.astype(np.float64),
        }
        for name, values in defaults.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, values)
        if getattr(self, "false_alarms", None) is None:
            object.__setattr__(self, "false_alarms", (~self.hits & ~self.ignored).astype(np.int64))


class MatchingRule(ABC):
    """What decides which detections are hits.

    Examples
    --------
    >>> matching_rule("iou") is not None
    True
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """By which it is asked for."""

    def as_dict(self) -> dict[str, Any]:
        """Return its name and settings as plain JSON values.

        Examples
        --------
        >>> PascalVOC().as_dict()
        {'name': 'voc', 'min_overlap': 0.5}
        """
        settings: tuple[Field[Any], ...] = fields(self) if is_dataclass(self) else ()
        return {"name": self.name, **{field.name: getattr(self, field.name) for field in settings}}

    def match(
        self, boxes: ArrayLike, scores: ArrayLike, truth: ArrayLike, ignored: ArrayLike = NO_BOXES
    ) -> Matches:
        """Match the detections of one scene with the true boxes.

        Parameters
        ----------
        boxes : array_like of shape (n, 4)
            Detections, `x, y, w, h`.
        scores : array_like of shape (n,)
            Higher is better.
        truth : array_like of shape (m, 4)
            True boxes.
        ignored : array_like of shape (k, 4)
            Regions where nothing counts.

        Returns
        -------
        Matches
            Rows as in `boxes`.

        Raises
        ------
        ValueError
            If boxes and scores differ in number.
        """
        found, values = _boxes(boxes), np.asarray(scores, np.float64)
        if values.shape != found.shape[:1]:
            raise ValueError(f"{len(found)} boxes need as many scores, these have the shape {values.shape}")
        return self._judge(found, values, _boxes(truth), _boxes(ignored))

    @abstractmethod
    def _judge(self, found: Floats, scores: Floats, true: Floats, spared: Floats) -> Matches:
        """Judge the detections of one scene, all arguments being right; see `match`."""


class GreedyRule(MatchingRule):
    """A rule that gives each detection, best score first, the nearest object that is still free."""

    min_share_ignored: ClassVar[float] = MIN_SHARE_IGNORED

    @abstractmethod
    def distances(self, boxes: Floats, truth: Floats) -> Floats:
        """Return how far detections are from objects.

        Parameters
        ----------
        boxes, truth : ndarray of shape (n, 4) and (m, 4), dtype float64
            Detections and true boxes.

        Returns
        -------
        ndarray of shape (n, m), dtype float64
            In any unit; infinite where a detection did not find an object.
        """

    def _judge(self, found: Floats, scores: Floats, true: Floats, spared: Floats) -> Matches:
        distances = self.distances(found, true)
        objects = np.full(len(found), -1, np.int64)
        if distances.size:
            for detection in _best_first(found, scores, distances):
                # Of equally near ones the last, as in COCO's programs.
                nearest = len(true) - 1 - int(distances[detection, ::-1].argmin())
                if distances[detection, nearest] < _NOT_FOUND:
                    objects[detection] = nearest
                    distances[:, nearest] = _NOT_FOUND
        is_hit = objects >= 0
        is_spared = np.isfinite(self.distances(found, spared)).any(axis=1)
        is_spared |= _lie_in(found, spared, self.min_share_ignored)
        return Matches(scores, is_hit, len(true), ~is_hit & is_spared, objects)


@dataclass(frozen=True)
class IoU(GreedyRule):
    r"""Intersection over union, as in COCO: each detection finds the free object that it overlaps most.

    Attributes
    ----------
    min_overlap : float
        Intersection over union that a hit needs, in (0, 1].
    aspect : float or None
        If given, detections and objects are first brought to this ratio of width to height, around their centres and
        with their widths: so that a detector whose window has another shape is judged by what it found. The figures
        for licence plates use 4.4.

    Raises
    ------
    SettingsError
        If a number is out of range.

    References
    ----------
    .. [1] Lin et al., "Microsoft COCO: Common objects in context", ECCV 2014; evaluation as in `pycocotools.cocoeval`.

    Examples
    --------
    >>> IoU().match([[0, 0, 9, 9], [1, 0, 9, 9]], [1.0, 2.0], [[0, 0, 9, 9]]).hits.tolist()
    [False, True]
    >>> IoU(aspect=4.4).match([[0, 0, 44, 20]], [1.0], [[0, 5, 44, 10]]).hits.tolist()
    [True]
    """

    min_overlap: float = MIN_OVERLAP
    aspect: float | None = None
    name: ClassVar[str] = "iou"

    def __post_init__(self) -> None:
        if not 0 < self.min_overlap <= 1:
            raise SettingsError(f"min_overlap {self.min_overlap} must be above 0 and at most 1")
        if self.aspect is not None and not 0 < self.aspect < np.inf:
            raise SettingsError(
                f"aspect {self.aspect} is not an aspect ratio (width / height), for example 4.4"
            )

    def __str__(self) -> str:
        shape = f" at width : height {self.aspect:g}" if self.aspect else ""
        return f"intersection over union at least {self.min_overlap:g}{shape}"

    @property
    def min_share_ignored(self) -> float:  # type: ignore[override]  # as in COCO, the same for both
        """Share of a detection in a region to ignore, from which it is ignored."""
        return self.min_overlap

    def distances(self, boxes: Floats, truth: Floats) -> Floats:
        """Return by how much less than 0 the overlap is; see `GreedyRule`."""
        table = overlaps(self._shaped(boxes), self._shaped(truth))
        return np.where(table >= self.min_overlap, -table, _NOT_FOUND)

    def _shaped(self, boxes: Floats) -> Floats:
        if self.aspect is None:
            return boxes
        x, y, width, height = boxes.T
        shaped = width / self.aspect
        return np.stack([x, y + (height - shaped) / 2, width, shaped], axis=1)


@dataclass(frozen=True)
class PascalVOC(MatchingRule):
    """Intersection over union, as in the PASCAL VOC challenge: a detection counts for the one object it overlaps most.

    If a better detection found that object, it is a false alarm, though it may overlap another one enough. Objects
    to ignore ("difficult") are among those it may overlap most. Intersection over union counts no pixel more than
    the boxes have; the programs of the challenge add one to each side, as their boxes name the last pixel inside.

    Attributes
    ----------
    min_overlap : float
        Intersection over union that a hit needs, in (0, 1].

    Raises
    ------
    SettingsError
        If it is out of range.

    References
    ----------
    .. [1] Everingham et al., "The PASCAL Visual Object Classes (VOC) challenge", IJCV 88, 2010, sec. 4.2.
           :doi:`10.1007/s11263-009-0275-4`

    Examples
    --------
    >>> both = [[0, 0, 10, 10], [4, 0, 10, 10]]
    >>> found = [[0, 0, 10, 10], [1, 0, 10, 10]]
    >>> PascalVOC(0.4).match(found, [2.0, 1.0], both).hits.tolist()
    [True, False]
    >>> IoU(0.4).match(found, [2.0, 1.0], both).hits.tolist()
    [True, True]
    """

    min_overlap: float = MIN_OVERLAP
    name: ClassVar[str] = "voc"

    def __post_init__(self) -> None:
        IoU(self.min_overlap)  # the same range

    def __str__(self) -> str:
        return f"intersection over union at least {self.min_overlap:g} with the object overlapped most"

    def _judge(self, found: Floats, scores: Floats, true: Floats, spared: Floats) -> Matches:
        table = overlaps(found, np.concatenate([true, spared]))
        best = table.argmax(axis=1) if table.shape[1] else np.zeros(len(found), np.int64)
        is_near = table.max(axis=1, initial=0.0) >= self.min_overlap
        objects = np.full(len(found), -1, np.int64)
        for detection in _best_first(found, scores, -table):
            if is_near[detection] and best[detection] < len(true) and best[detection] not in objects:
                objects[detection] = best[detection]
        is_hit = objects >= 0
        is_spared = is_near & (best >= len(true)) | _lie_in(found, spared, self.min_overlap)
        return Matches(scores, is_hit, len(true), ~is_hit & is_spared, objects)


@dataclass(frozen=True)
class ViolaJones(GreedyRule):
    """Centres close together and similar sizes, as faces of the MIT+CMU set are counted here.

    Viola and Jones did not publish how they counted, nor are there boxes in that set, but eyes, noses and mouths. The
    rule is in the spirit of OpenCV's former program `opencv_performance`, whose limits were a distance of 0.3 widths
    and a ratio of sizes of 1.5; here it is 2, for boxes made from landmarks are larger or smaller than those that a
    detector was trained on.

    Attributes
    ----------
    max_offset : float
        Greatest distance of the centres, in widths of the true box; > 0.
    max_ratio : float
        Greatest ratio of the widths, either way; at least 1.

    Raises
    ------
    SettingsError
        If a number is out of range.

    References
    ----------
    .. [1] Viola & Jones, "Robust real-time face detection", IJCV 57(2), 2004, sec. 5.
           :doi:`10.1023/B:VISI.0000013087.49260.fb`

    Examples
    --------
    >>> ViolaJones().match([[0, 0, 20, 20]], [1.0], [[4, 4, 18, 18]]).hits.tolist()
    [True]
    """

    max_offset: float = 0.3
    max_ratio: float = 2.0
    name: ClassVar[str] = "viola-jones"

    def __post_init__(self) -> None:
        if not (self.max_offset > 0 and self.max_ratio >= 1):
            raise SettingsError(
                f"max_offset {self.max_offset} must be above 0, max_ratio {self.max_ratio} at least 1"
            )

    def __str__(self) -> str:
        return (
            f"centres within {self.max_offset:g} of the true width, widths within a factor {self.max_ratio:g}"
        )

    def distances(self, boxes: Floats, truth: Floats) -> Floats:
        """Return the distances of the centres in true widths; see `GreedyRule`."""
        centres, true_centres = (some[:, :2] + some[:, 2:] / 2 for some in (boxes, truth))
        between = centres[:, None] - true_centres
        offsets = np.hypot(between[..., 0], between[..., 1]) / truth[:, 2]
        ratios = boxes[:, None, 2] / truth[:, 2]
        is_alike = (ratios <= self.max_ratio) & (ratios >= 1 / self.max_ratio)
        return np.where((offsets <= self.max_offset) & is_alike, offsets, _NOT_FOUND)


@dataclass(frozen=True)
class UIUC(GreedyRule):
    r"""Places in an ellipse around the true one, as published with the UIUC cars.

    With the top left corner at column j and row i, of a window of width w, a detection is a hit if

    .. math:: \frac{(i - i^*)^2}{(h^* / 4)^2} + \frac{(j - j^*)^2}{(w^* / 4)^2} + \frac{(w - w^*)^2}{(w^* / 4)^2} \le 1

    where * marks the true box. The last term is that of the multi-scale test; the single-scale test has none.

    Attributes
    ----------
    compares_scale : bool
        Whether this is the rule of the multi-scale test.
    axes : float
        Half axes of the ellipse in sides of the true box; > 0.

    Raises
    ------
    SettingsError
        If `axes` is out of range.

    References
    ----------
    .. [1] Agarwal, Awan & Roth, "Learning to detect objects in images via a sparse, part-based representation", PAMI
           26(11), 2004, sec. 4. :doi:`10.1109/TPAMI.2004.108`; and the README of the data set, whose programs compare
           the corners that its lists name.

    Examples
    --------
    >>> UIUC().match([[25, 0, 100, 40], [26, 0, 100, 40]], [1.0, 2.0], [[0, 0, 100, 40]]).hits.tolist()
    [True, False]
    """

    compares_scale: bool = False
    axes: float = 0.25

    def __post_init__(self) -> None:
        if not self.axes > 0:
            raise SettingsError(f"axes {self.axes} of the ellipse must be above 0")

    @property
    def name(self) -> str:
        """`uiuc`, or `uiuc-scale` for the multi-scale test."""
        return "uiuc-scale" if self.compares_scale else "uiuc"

    def __str__(self) -> str:
        what = "place and width" if self.compares_scale else "place"
        return f"{what} in an ellipse with axes of {self.axes:.0%} of the true sides"

    def distances(self, boxes: Floats, truth: Floats) -> Floats:
        """Return the left side of the inequality; see `GreedyRule`."""
        columns = [0, 1, 2] if self.compares_scale else [0, 1]
        half_axes = self.axes * truth[:, [2, 3, 2]][:, columns]
        between = (boxes[:, None, columns] - truth[:, columns]) / half_axes
        distances: Floats = (between**2).sum(axis=2)
        return np.where(distances <= 1, distances, _NOT_FOUND)


@dataclass(frozen=True)
class FDDB(MatchingRule):
    """The best assignment of detections to objects, as in the face detection benchmark FDDB.

    For every score that may be asked for, the detections of at least this score are assigned to the objects one to
    one, so that the sum of their intersections over union is greatest. Those above 0.5 are hits. The continuous form
    counts each object by the intersection over union with its detection, whatever that is; false alarms are those of
    the discrete form in both. As the assignment is repeated for each score, fewer objects may be found with more
    detections. The benchmark's own faces are ellipses and its unions are counted in pixels; here both are boxes. It
    has no regions to ignore: detections there that are no hits are assigned as others, but are no false alarms.

    Attributes
    ----------
    is_continuous : bool
        Which of the two forms.

    References
    ----------
    .. [1] Jain & Learned-Miller, "FDDB: a benchmark for face detection in unconstrained settings", UMass technical
           report UM-CS-2010-009, 2010, sec. 6; and its evaluation program.

    Examples
    --------
    >>> matches = FDDB(is_continuous=True).match([[0, 0, 10, 8]], [1.0], [[0, 0, 10, 10]])
    >>> matches.hits.tolist(), matches.gains.tolist()
    ([True], [0.8])
    """

    is_continuous: bool = False

    @property
    def name(self) -> str:
        """`fddb-discrete` or `fddb-continuous`."""
        return "fddb-continuous" if self.is_continuous else "fddb-discrete"

    def __str__(self) -> str:
        credit = "objects count by their overlap" if self.is_continuous else "overlap above 0.5"
        return f"best assignment of detections to objects, {credit}"

    def _judge(self, found: Floats, scores: Floats, true: Floats, spared: Floats) -> Matches:
        from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]

        table = overlaps(found, true)
        is_spared = _lie_in(found, spared, MIN_SHARE_IGNORED)
        gains, false_alarms = np.zeros(len(found)), np.zeros(len(found), np.int64)
        objects = np.full(len(found), -1, np.int64)
        n_found, n_false = 0.0, 0
        levels, firsts = np.unique(scores, return_index=True)
        for level, first in zip(levels[::-1], firsts[::-1], strict=True):
            rows = np.flatnonzero(scores >= level)
            assigned, to = linear_sum_assignment(table[rows], maximize=True)
            shares = table[rows[assigned], to]
            is_hit = shares > 0.5
            objects[:] = -1
            objects[rows[assigned[is_hit]]] = to[is_hit]
            now_found = float(shares.sum() if self.is_continuous else is_hit.sum())
            now_false = int((~is_spared[rows] & (objects[rows] < 0)).sum())
            gains[first], false_alarms[first] = now_found - n_found, now_false - n_false
            n_found, n_false = now_found, now_false
        is_hit = objects >= 0
        return Matches(scores, is_hit, len(true), ~is_hit & is_spared, objects, gains, false_alarms)


RULES: dict[str, MatchingRule] = {
    rule.name: rule
    for rule in (
        IoU(),
        PascalVOC(),
        ViolaJones(),
        FDDB(),
        FDDB(is_continuous=True),
        UIUC(),
        UIUC(compares_scale=True),
    )
}
"""The rules with the settings that they were published with."""


class RuleSettings(TypedDict, total=False):
    """Settings of the rules as keyword arguments; which rule has which is in its docstring."""

    min_overlap: float | None
    aspect: float | None
    max_offset: float | None
    max_ratio: float | None
    compares_scale: bool | None
    axes: float | None
    is_continuous: bool | None


def matching_rule(name: str, **settings: Unpack[RuleSettings]) -> MatchingRule:
    """Return the rule of a name.

    Parameters
    ----------
    name : str
        One of `RULES`.
    **settings
        Its settings, where they are not as published; None leaves them so.

    Returns
    -------
    MatchingRule
        The rule.

    Raises
    ------
    SettingsError
        If there is none (near names are suggested), it has no such setting, or a value is out of range.

    Examples
    --------
    >>> matching_rule("viola-jones")
    ViolaJones(max_offset=0.3, max_ratio=2.0)
    >>> matching_rule("iou", min_overlap=0.7)
    IoU(min_overlap=0.7, aspect=None)
    """
    if name not in RULES:
        raise SettingsError(f"there is no matching rule {name!r}; {suggest(name, RULES)}")
    rule: Any = RULES[name]
    given: dict[str, Any] = {setting: value for setting, value in settings.items() if value is not None}
    known = [field.name for field in fields(rule)]
    for setting in given:
        if setting not in known:
            raise SettingsError(
                f"the matching rule {name} has no {setting}; leave it out, or take another rule"
            )
    changed: MatchingRule = replace(rule, **given)
    return changed


def overlaps(boxes: ArrayLike, others: ArrayLike) -> Floats:
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
    a, b = _boxes(boxes), _boxes(others)
    shared = _intersections(a, b)
    ratio: Floats = shared / (a[:, None, 2:].prod(-1) + b[:, 2:].prod(-1) - shared)
    return ratio


def match_detections(
    boxes: ArrayLike, scores: ArrayLike, truth: ArrayLike, *, min_overlap: float = MIN_OVERLAP
) -> Matches:
    """Give each detection, best score first, the free true box that it overlaps most: the rule `IoU`.

    Parameters
    ----------
    boxes : array_like of shape (n, 4)
        Detections, `x, y, w, h`.
    scores : array_like of shape (n,)
        Of equal scores the one that overlaps an object most goes first.
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
    return IoU(min_overlap).match(boxes, scores, truth)


def within_heights(
    matches: Matches, boxes: ArrayLike, truth: ArrayLike, low: float, high: float = np.inf
) -> Matches:
    """Return what detections of one scene are worth where only objects of some heights count.

    Parameters
    ----------
    matches : Matches
        Of all detections and objects, by a rule that names the objects found.
    boxes, truth : array_like of shape (n, 4) and (m, 4)
        Detections and true boxes, as they were matched.
    low, high : float
        Heights that count, in pixels: from `low` to less than `high`.

    Returns
    -------
    Matches
        Detections of other objects, and those of other heights that found nothing, are ignored.

    Raises
    ------
    SettingsError
        If `matches` is of a rule that reassigns at each score, such as FDDB's.

    Examples
    --------
    >>> boxes, truth = [[0, 0, 9, 9], [50, 0, 30, 30], [0, 50, 9, 9]], [[0, 0, 9, 9], [50, 0, 30, 30]]
    >>> small = within_heights(match_detections(boxes, [3.0, 2.0, 1.0], truth), boxes, truth, 0, 20)
    >>> small.hits.tolist(), small.ignored.tolist(), small.n_objects
    ([True, False, False], [False, True, False], 1)
    """
    if not np.array_equal(matches.gains, matches.hits):
        raise SettingsError("detections that are reassigned at each score have no figures by size")
    heights, true_heights = _boxes(boxes)[:, 3], _boxes(truth)[:, 3]
    counts = (true_heights >= low) & (true_heights < high)
    is_found = matches.hits.copy()
    is_found[matches.hits] = counts[matches.objects[matches.hits]]
    is_outside = ~matches.hits & ((heights < low) | (heights >= high))
    ignored = matches.ignored | is_outside | (matches.hits & ~is_found)
    objects = np.where(is_found, matches.objects, -1)
    return Matches(matches.scores, is_found, int(counts.sum()), ignored, objects)


def _boxes(boxes: ArrayLike) -> Floats:
    return np.asarray(boxes, np.float64).reshape(-1, 4)


def _best_first(boxes: Floats, scores: Floats, distances: Floats) -> NDArray[np.intp]:
    """Return detections by falling score; of equal ones the nearer first, then by place, so that order is no matter."""
    nearest = distances.min(axis=1, initial=_NOT_FOUND)
    order: NDArray[np.intp] = np.lexsort((*boxes.T, nearest, -scores))
    return order


def _intersections(boxes: Floats, others: Floats) -> Floats:
    """Return the shared area of every two boxes."""
    a, b = boxes[:, None], others[None]
    ends = np.minimum(a[..., :2] + a[..., 2:], b[..., :2] + b[..., 2:])
    shared: Floats = (ends - np.maximum(a[..., :2], b[..., :2])).clip(min=0).prod(-1)
    return shared


def _lie_in(boxes: Floats, regions: Floats, min_share: float) -> NDArray[np.bool_]:
    """Tell which boxes have at least this share of their area in one of the regions."""
    shares = _intersections(boxes, regions) / boxes[:, None, 2:].prod(-1)
    share: Floats = shares.max(axis=1, initial=0.0)
    return share >= min_share
