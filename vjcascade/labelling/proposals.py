"""Boxes that a model proposes, computed in the background: photos that a page is waiting for come first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters.calibration import PlattScaling
from vjcascade.boosters.state import Floats
from vjcascade.cascade import Cascade
from vjcascade.detection import Detector
from vjcascade.errors import ImageError
from vjcascade.evaluation.matching import IoU, overlaps
from vjcascade.evaluation.protocol import CURVE_NEIGHBORS
from vjcascade.imaging import read_reduced, to_gray
from vjcascade.labelling.labels_file import Labels
from vjcascade.labelling.photos import Photos
from vjcascade.labelling.store import Store
from vjcascade.parallel import run_behind_others

SIDE = 1280
"""Larger photos are scaled to this longer side before the search: objects that are too small then are drawn by hand."""

LEAST_PROBABILITY = 0.1
"""Detections with a lower probability are not proposed."""

SURE = 0.5
"""Proposals from this probability on are confident: they are accepted with the screen."""

TAKEN = 0.3
"""IoU with a box or a rejected place from which a detection is not proposed."""

USUAL = PlattScaling(slope=-0.2, offset=0.7)
"""The calibration of ranking scores until there are enough decisions to fit one."""

FEWEST_DECISIONS = 12
"""Right and wrong detections, of each as many, from which a calibration is fitted."""


@dataclass(frozen=True, eq=False)
class Found:
    """A model's detections in a photo.

    Attributes
    ----------
    boxes : ndarray of shape (n, 4), dtype float64
        `x, y, w, h` in pixels of the photo, highest scores first.
    scores : ndarray of shape (n,), dtype float64
        Ranking scores.
    """

    boxes: Floats
    scores: Floats


@dataclass(frozen=True)
class Proposal:
    """A detection that can be accepted or rejected.

    Attributes
    ----------
    box : tuple of float
        `x, y, w, h` in pixels of the photo.
    score : float
        The model's ranking score.
    probability : float
        That it is an object, calibrated on the photos that are done.
    """

    box: tuple[float, ...]
    score: float
    probability: float


@dataclass(frozen=True, eq=False)
class _Decisions:
    """Which of a photo's detections are right, for one revision of its boxes."""

    revision: int
    found: Found
    scores: Floats
    hits: NDArray[np.bool_]


class Proposer:
    """Searches photos with a model, one after the other, in a thread of its own.

    Parameters
    ----------
    photos : Photos
        The photos.
    store : Store
        Their boxes; scores are calibrated on the photos that are done.
    tell : callable
        Called as `tell(name)` from that thread after each search.
    """

    def __init__(self, photos: Photos, store: Store, tell: Callable[[str], None]) -> None:
        self._photos = photos
        self._store = store
        self._tell = tell
        self._detector: Detector | None = None
        self._found: dict[str, Found] = {}
        self._urgent: OrderedDict[str, None] = OrderedDict()
        self._waiting: OrderedDict[str, None] = OrderedDict()
        self._changed = threading.Condition()
        self._is_closed = False
        self._scaling = USUAL
        self._scaled_at: tuple[int, ...] = ()
        self._decisions: dict[str, _Decisions] = {}
        self._thread = threading.Thread(target=self._work, name="proposals", daemon=True)
        self._thread.start()

    @property
    def has_model(self) -> bool:
        """Whether there is a model that proposes boxes."""
        return self._detector is not None

    @property
    def n_searched(self) -> int:
        """Photos that the model has searched so far."""
        return len(self._found)

    def use(self, cascade: Cascade | None, settings: dict[str, Any] | None = None) -> None:
        """Search all photos with a model; the detections of an earlier one are dropped.

        Parameters
        ----------
        cascade : Cascade or None
            The model; None for none.
        settings : dict, optional
            Settings of the detector; only "scale_factor" is used.
        """
        kept = {name: value for name, value in (settings or {}).items() if name in {"scale_factor"}}
        detector = None
        if cascade is not None:
            detector = Detector(cascade, min_neighbors=CURVE_NEIGHBORS, n_threads=1, **kept)
        with self._changed:
            self._detector = detector
            self._found.clear()
            self._decisions.clear()
            self._urgent.clear()
            self._waiting = OrderedDict.fromkeys(self._photos if detector else ())
            self._scaled_at = ()
            self._changed.notify()

    def add(self, name: str) -> None:
        """Search a new photo, too."""
        with self._changed:
            if self._detector is not None:
                self._waiting[name] = None
                self._changed.notify()

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join()

    def found(self, name: str) -> Found | None:
        """Return the detections in a photo; None if it was not searched yet."""
        return self._found.get(name)

    def hurry(self, names: Sequence[str]) -> None:
        """Search these photos next, the first of them first."""
        with self._changed:
            for name in reversed(names):
                if name in self._waiting:
                    self._urgent[name] = None
                    self._urgent.move_to_end(name)
            self._changed.notify()

    def proposals(self, name: str, labels: Labels) -> list[Proposal] | None:
        """Return the proposals for a photo, highest scores first.

        Parameters
        ----------
        name : str
            Of the photo.
        labels : Labels
            Its boxes and rejected places.

        Returns
        -------
        list of Proposal or None
            None if the photo was not searched yet; empty if it is done or there is no model.
        """
        found = self.found(name)
        if found is None:
            return None if self.has_model else []
        if labels.done:
            return []
        probabilities = self.scaling().probability(found.scores)
        taken = [*(one.box for one in labels.boxes.values()), *labels.false_alarms]
        is_free = (
            overlaps(found.boxes, np.array(taken, np.float64).reshape(-1, 4)).max(axis=1, initial=0.0) < TAKEN
        )
        shown = np.flatnonzero(is_free & (probabilities >= LEAST_PROBABILITY))
        rows = zip(found.boxes[shown], found.scores[shown], probabilities[shown], strict=True)
        return [
            Proposal(tuple(map(float, box)), round(float(score), 2), float(probability))
            for box, score, probability in rows
        ]

    def scaling(self) -> PlattScaling:
        """Return the calibration of scores, fitted to the detections in photos that are done."""
        done = [(name, labels) for name, labels in self._store.done() if name in self._found]
        state = (len(done), max((labels.revision for _, labels in done), default=0))
        if self._scaled_at != state:
            self._scaling = self._fitted(done)
            self._scaled_at = state
        return self._scaling

    def _fitted(self, done: Sequence[tuple[str, Labels]]) -> PlattScaling:
        decisions = [self._decided(name, labels) for name, labels in done]
        scores = np.concatenate([np.empty(0), *(one.scores for one in decisions)])
        is_hit = np.concatenate([np.empty(0, np.bool_), *(one.hits for one in decisions)])
        if min(int(is_hit.sum()), int((~is_hit).sum())) < FEWEST_DECISIONS:
            return USUAL
        fitted = PlattScaling.fit(scores, is_hit)
        return fitted if fitted.slope < 0 else USUAL

    def _decided(self, name: str, labels: Labels) -> _Decisions:
        """Return which of a photo's detections are right; computed once for each revision of its boxes."""
        found, known = self._found[name], self._decisions.get(name)
        if known is not None and known.revision == labels.revision and known.found is found:
            return known
        boxes = list(labels.boxes.values())
        true, ignored = (
            np.array([one.box for one in boxes if bool(one.flag) == is_flagged], np.float64).reshape(-1, 4)
            for is_flagged in (False, True)
        )
        judged = IoU().match(found.boxes, found.scores, true, ignored)
        kept = ~judged.ignored
        decided = _Decisions(labels.revision, found, found.scores[kept], judged.hits[kept])
        self._decisions[name] = decided
        return decided

    def _work(self) -> None:
        run_behind_others()
        while True:
            with self._changed:
                while not (self._is_closed or self._waiting):
                    self._changed.wait()
                if self._is_closed:
                    return
                detector = self._detector
                name = next(reversed(self._urgent)) if self._urgent else next(iter(self._waiting))
                self._urgent.pop(name, None)
                self._waiting.pop(name, None)
            if detector is None:
                continue
            found = self._search(detector, name)
            with self._changed:
                if detector is not self._detector:
                    continue
                self._found[name] = found
            self._tell(name)

    def _search(self, detector: Detector, name: str) -> Found:
        try:
            size = self._photos.size(name)
            pixels = read_reduced(self._photos.path(name), SIDE)
        except ImageError:  # the page reports it in place of the photo
            return Found(np.empty((0, 4)), np.empty(0))
        found = detector.detect(to_gray(pixels))
        scale = np.array([size.width / pixels.shape[1], size.height / pixels.shape[0]] * 2)
        best_first = np.argsort(-found.ranking_scores, kind="stable")
        return Found((found.boxes * scale)[best_first].round(1), found.ranking_scores[best_first])
