"""What a model gets wrong on photos with boxes, the worst first: misses, false alarms, and near misses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vjcascade.errors import CascadeError, SettingsError
from vjcascade.evaluation import Candidate, Evaluation, Protocol, Scene, Scenes, evaluate
from vjcascade.formats.annotations.pictures import AnnotatedPicture, Coordinates
from vjcascade.parallel import run_behind_others
from vjcascade.report.examples import GROWTH, false_alarms, misses
from vjcascade.types import Size

N_RESAMPLES = 200
"""Of the scenes, for the intervals of figures that are shown on the page; reports take more."""


@dataclass(frozen=True)
class Mistake:
    """A place where model and boxes disagree.

    Attributes
    ----------
    kind : str
        "miss", "false alarm" or "near miss".
    photo : str
        Name of the photo.
    truth, found : Coordinates or None
        The box that was drawn, and the one that the model found.
    caption : str
        Scores and overlaps.
    """

    kind: str
    photo: str
    truth: Coordinates | None
    found: Coordinates | None
    caption: str

    @property
    def places(self) -> list[Coordinates]:
        """Both boxes, those that there are."""
        return [box for box in (self.truth, self.found) if box is not None]


def scenes_of(pictures: Sequence[AnnotatedPicture], source: str) -> Scenes:
    """Return photos with boxes as scenes to measure models on.

    Parameters
    ----------
    pictures : sequence of AnnotatedPicture
        With their sizes.
    source : str
        What to call them.

    Returns
    -------
    Scenes
        One for each picture.

    Raises
    ------
    SettingsError
        If there is no box in any of them.
    """
    scenes = tuple(
        Scene(one.path, _table(one.boxes), _table(one.ignored), one.size or Size(1, 1)) for one in pictures
    )
    if not any(len(scene.boxes) for scene in scenes):
        raise SettingsError(
            f"{source}: no photo that is done has a box; draw some, and mark their photos as done"
        )
    return Scenes(source, scenes)


def mistakes(evaluation: Evaluation, names: Sequence[str]) -> list[Mistake]:
    """Return what the first model of an evaluation gets wrong with the settings in use, the worst of each kind first.

    Parameters
    ----------
    evaluation : Evaluation
        Of one model.
    names : sequence of str
        Names of the photos, one for each scene.

    Returns
    -------
    list of Mistake
        False alarms, then misses, then near misses.
    """
    model = evaluation.models[0]
    kinds = {
        "false alarm": false_alarms(model, evaluation, near=False),
        "miss": misses(model, evaluation),
        "near miss": false_alarms(model, evaluation, near=True),
    }
    return [
        Mistake(kind, names[one.scene], _first(one.truth), _first(one.found), one.caption)
        for kind, examples in kinds.items()
        for one in examples
    ]


def cut_around(mistake: Mistake, size: Size) -> tuple[int, int, int, int]:
    """Return the part of a photo that shows a mistake: `x, y, w, h`, square where there is room.

    Examples
    --------
    >>> cut_around(Mistake("miss", "a.png", (10.0, 10.0, 20.0, 20.0), None, ""), Size(100, 40))
    (2, 2, 36, 36)
    """
    boxes = np.array(mistake.places)
    starts, ends = boxes[:, :2].min(axis=0), (boxes[:, :2] + boxes[:, 2:]).max(axis=0)
    side = float(np.ceil(GROWTH * (ends - starts).max()))
    sides = np.minimum([side, side], size).astype(int)
    corner = np.clip(np.rint((starts + ends - sides) / 2).astype(int), 0, np.array(size) - sides)
    return int(corner[0]), int(corner[1]), int(sides[0]), int(sides[1])


class Reviewer:
    """Looks for mistakes in the background.

    Parameters
    ----------
    tell : callable
        Called when anything in `state` has changed.
    prepare : callable
        Called with the mistakes before they are shown.
    """

    def __init__(
        self, tell: Callable[[], None], prepare: Callable[[Sequence[Mistake]], None] = lambda _: None
    ) -> None:
        self._tell = tell
        self._prepare = prepare
        self._lock = threading.Lock()
        self._is_busy = False
        self._problem = ""
        self._progress = (0, 0)
        self._mistakes: list[Mistake] = []
        self._is_ready = False

    @property
    def state(self) -> dict[str, Any]:
        """How far it is."""
        return {
            "busy": self._is_busy,
            "ready": self._is_ready,
            "done": self._progress[0],
            "total": self._progress[1],
            "problem": self._problem,
        }

    @property
    def mistakes(self) -> list[Mistake]:
        """What was found last."""
        return self._mistakes

    def start(self, candidate: Candidate, pictures: Sequence[AnnotatedPicture], source: str) -> None:
        """Begin to look, unless it does already.

        Parameters
        ----------
        candidate : Candidate
            The model.
        pictures : sequence of AnnotatedPicture
            Photos that are done.
        source : str
            What to call them.

        Raises
        ------
        SettingsError
            If there is no box in any of them.
        """
        scenes = scenes_of(pictures, source)
        with self._lock:
            if self._is_busy:
                return
            self._is_busy, self._problem, self._progress = True, "", (0, len(scenes))
        names = [picture.name for picture in pictures]
        threading.Thread(
            target=self._measure, args=(candidate, scenes, names), name="review", daemon=True
        ).start()
        self._tell()

    def _measure(self, candidate: Candidate, scenes: Scenes, names: Sequence[str]) -> None:
        run_behind_others()

        def progress(_: str, done: int, total: int) -> None:
            self._progress = done, total
            self._tell()

        try:
            protocol = Protocol(n_resamples=N_RESAMPLES)
            evaluation = evaluate([candidate], scenes, protocol, n_threads=1, progress=progress)
            found = mistakes(evaluation, names)
            self._prepare(found)
            self._mistakes = found
            self._is_ready = True
        except (CascadeError, OSError) as error:
            self._problem = str(error)
        finally:
            self._is_busy = False
            self._tell()


def _table(boxes: Sequence[Coordinates]) -> np.ndarray:
    return np.array(boxes, np.float64).reshape(-1, 4)


def _first(boxes: Any) -> Coordinates | None:
    return tuple(round(float(number), 1) for number in boxes[0]) if len(boxes) else None  # type: ignore[return-value]
