"""A model's errors on photos with boxes, the worst first: misses, false alarms, and near misses."""

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
"""Bootstrap resamples of the scenes; fewer than in reports, as the page shows few intervals."""


@dataclass(frozen=True)
class Mistake:
    """A place where the model and the boxes disagree.

    Attributes
    ----------
    kind : str
        "miss", "false alarm" or "near miss".
    photo : str
        Name of the photo.
    truth, found : Coordinates or None
        The labelled box and the detection.
    caption : str
        Score and overlap.
    """

    kind: str
    photo: str
    truth: Coordinates | None
    found: Coordinates | None
    caption: str

    @property
    def places(self) -> list[Coordinates]:
        """The one or two boxes."""
        return [box for box in (self.truth, self.found) if box is not None]


def scenes_of(pictures: Sequence[AnnotatedPicture], source: str) -> Scenes:
    """Return photos with boxes as scenes to evaluate models on.

    Parameters
    ----------
    pictures : sequence of AnnotatedPicture
        With their sizes.
    source : str
        Their name in messages.

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
            f"{source}: no photo that is done has a box; draw boxes in more photos, and mark these as done"
        )
    return Scenes(source, scenes)


def mistakes(evaluation: Evaluation, names: Sequence[str]) -> list[Mistake]:
    """Return the errors of the first model of an evaluation at its current settings, the worst of each kind first.

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
    """Return the crop `x, y, w, h` of a photo that shows a mistake: square, unless the photo is too small.

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
    """Searches for errors in the background.

    Parameters
    ----------
    tell : callable
        Called when anything in `state` has changed.
    prepare : callable
        Called with the errors before they are shown.
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
        """The progress, as plain JSON values."""
        return {
            "busy": self._is_busy,
            "ready": self._is_ready,
            "done": self._progress[0],
            "total": self._progress[1],
            "problem": self._problem,
        }

    @property
    def mistakes(self) -> list[Mistake]:
        """The errors that the last search found."""
        return self._mistakes

    def start(self, candidate: Candidate, pictures: Sequence[AnnotatedPicture], source: str) -> None:
        """Start searching, unless a search is in progress.

        Parameters
        ----------
        candidate : Candidate
            The model.
        pictures : sequence of AnnotatedPicture
            Photos that are done.
        source : str
            Their name in messages.

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
