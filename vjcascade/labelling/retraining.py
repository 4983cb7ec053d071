"""Train a model on the photos that are done, in a process of its own, and compare it with the current one.

The process is `vjcascade train` with a file of boxes, so its command line repeats the training. Validation photos are
not used for it: both models are evaluated on them afterwards, and the better one is kept.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from vjcascade.cascade import Cascade
from vjcascade.errors import CascadeError, SettingsError, TrainingError
from vjcascade.evaluation import Candidate, Evaluation, Protocol, evaluate
from vjcascade.evaluation.matching import overlaps
from vjcascade.evaluation.results import verdict
from vjcascade.files import EVENTS_NAME, MODEL_NAME, write_atomic
from vjcascade.formats.annotations.pictures import AnnotatedPicture, Coordinates
from vjcascade.formats.annotations.writing import write_annotations
from vjcascade.imaging import read_image, write_image
from vjcascade.labelling.models import load_candidate
from vjcascade.labelling.reviewing import N_RESAMPLES, scenes_of
from vjcascade.labelling.store import Store
from vjcascade.messages import pluralize
from vjcascade.parallel import default_threads
from vjcascade.report.evaluation_charts import recall_chart

RUNS_NAME = ".vjcascade-label"
"""Folder of the training runs, beside the file of boxes; hidden, so that its pictures are not listed as photos."""

BEST_NAME = "best-model.xml"
"""The better model, beside the file of boxes."""

STAGES_MORE = 4
"""Stages added to the current model."""

MARGIN = 0.25
"""Margin around a false alarm, relative to its width and height: mining finds shifted windows, too."""

POLL_SECONDS = 0.2
"""Time between two reads of a run's events."""

SECONDS_TO_END = 10.0
"""When the server ends, a run that has not stopped after this time is killed."""

NOTES = 6
"""Latest messages of a run that are shown."""

CURRENT, NEW = "the current model", "the new model"
"""Names of the two models in charts and sentences."""


class Start(StrEnum):
    """What training starts from."""

    FRESH = "fresh"
    CONTINUE = "continue"


@dataclass(frozen=True)
class Task:
    """What to train.

    Attributes
    ----------
    start : Start
        From scratch, or with the stages of the current model.
    label : str
        The kind of object.
    model : Path or None
        The current model.
    negatives : tuple of Path
        More photos without the object.
    """

    start: Start
    label: str
    model: Path | None = None
    negatives: tuple[Path, ...] = ()


class Retrainer:
    """Trains a model, evaluates it, and keeps the better one.

    Parameters
    ----------
    store : Store
        The boxes.
    tell : callable
        Called when anything in `state` has changed.
    use : callable
        Called as `use(path)` with the new model's file if it is better.
    """

    def __init__(self, store: Store, tell: Callable[[], None], use: Callable[[Path], None]) -> None:
        self._store = store
        self._tell = tell
        self._use = use
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._is_stopped = False
        self._state: dict[str, Any] = {"phase": "idle"}

    @property
    def state(self) -> dict[str, Any]:
        """The progress and the result, as plain JSON values."""
        return dict(self._state)

    @property
    def is_busy(self) -> bool:
        """Whether a run is in progress."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, task: Task) -> None:
        """Start training.

        Parameters
        ----------
        task : Task
            What to train.

        Raises
        ------
        SettingsError
            If a run is in progress, or there are no boxes to train on or to compare models on.
        """
        with self._lock:
            if self.is_busy:
                raise SettingsError("a model is being trained: wait until it is finished, or stop it")
            to_train, to_validate = (
                _of_label(self._store.pictures(use=use), task.label) for use in ("train", "validate")
            )
            if not any(picture.boxes for picture in to_train):
                raise SettingsError(
                    f"there is no {task.label} to train on: draw boxes, and mark their photos as done"
                )
            scenes_of(
                to_validate,
                f"validation photos ({len(to_validate)} done; a quarter of all photos is for validation)",
            )
            self._is_stopped = False
            self._state = {"phase": "preparing", "notes": [], "stages": [], "start": str(task.start)}
            self._thread = threading.Thread(
                target=self._work, args=(task, to_train, to_validate), name="training", daemon=True
            )
            self._thread.start()
        self._tell()

    def stop(self) -> None:
        """Stop the run; if it has finished stages, their model is evaluated."""
        with self._lock:
            self._is_stopped = True
            process = self._process
        if process is not None and process.poll() is None:
            process.terminate()

    def close(self) -> None:
        """Stop the run and wait for it; kill it if it takes too long."""
        self.stop()
        if self._thread is not None:
            self._thread.join(SECONDS_TO_END)
        if self._process is not None and self._process.poll() is None:
            self._process.kill()

    def _set(self, **values: Any) -> None:
        self._state = {**self._state, **values}
        self._tell()

    def _work(
        self, task: Task, to_train: Sequence[AnnotatedPicture], to_validate: Sequence[AnnotatedPicture]
    ) -> None:
        try:
            folder = _new_run(self._store.path.parent / RUNS_NAME)
            command = self._prepare(folder, task, to_train, to_validate)
            self._set(phase="training", command=shlex.join(["vjcascade", *command[3:]]))
            self._train(command, folder)
            model = folder / "model" / MODEL_NAME
            if not model.is_file():
                self._set(phase="stopped")
                return
            self._set(phase="measuring", progress=None)
            self._compare(task, model, to_validate)
        except (CascadeError, OSError) as error:
            self._set(phase="failed", problem=str(error))

    def _prepare(
        self,
        folder: Path,
        task: Task,
        to_train: Sequence[AnnotatedPicture],
        to_validate: Sequence[AnnotatedPicture],
    ) -> list[str]:
        """Write the training data; return the command."""
        boxes = folder / "train.json"
        write_annotations(boxes, to_train, "coco")
        write_annotations(folder / "validate.json", to_validate, "coco")
        alarms = folder / "false-alarms"
        n_alarms = write_false_alarms(alarms, to_train, self._store)
        more = [*map(str, task.negatives), *([str(alarms)] if n_alarms else [])]
        n_objects = sum(len(picture.boxes) for picture in to_train)
        self._note(
            f"{pluralize(n_objects, task.label)} in {pluralize(len(to_train), 'photo')} to train on, "
            f"{pluralize(n_alarms, 'false alarm')} as negatives, {pluralize(len(to_validate), 'photo')} for validation"
        )
        command = [sys.executable, "-m", "vjcascade.cli.tethered", "train", str(boxes), str(boxes)]
        command += [
            "--label",
            task.label,
            "--output",
            str(folder / "model"),
            "--preset",
            "quick",
            "--no-baseline",
        ]
        command += ["--threads", str(max(default_threads() - 1, 1))]  # one thread for the page
        command += ["--events", str(folder / EVENTS_NAME)]
        command += ["--more-negatives", *more] if more else []
        if task.start is Start.CONTINUE:
            if task.model is None:
                raise SettingsError("there is no model to continue: train from scratch")
            base = Cascade.load(task.model)
            command += ["--continue", str(task.model), "--features", str(base.feature_type).lower()]
            command += ["--stages", str(base.n_stages + STAGES_MORE)]
        return command

    def _train(self, command: Sequence[str], folder: Path) -> None:
        """Run the command and pass on its events; it ends when its standard input is closed, also if this process dies.

        Raises
        ------
        TrainingError
            If it fails; with the last line of its output.
        """
        log = folder / "log.txt"
        with log.open("wb") as output:
            with self._lock:
                if self._is_stopped:
                    return
                self._process = subprocess.Popen(  # noqa: S603  our own program
                    command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT
                )
            with self._process:
                for events in _events(folder / EVENTS_NAME, self._process):
                    for event in events:
                        self._hear(event)
                    self._tell()
        if self._process.returncode and not self._is_stopped:
            lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            last = next((line for line in reversed(lines) if line.strip()), "it printed nothing")
            raise TrainingError(f"training failed: {last.removeprefix('vjcascade: error: ')} (more in {log})")

    def _hear(self, event: dict[str, Any]) -> None:
        match event.get("event"):
            case "note":
                self._note(str(event.get("text", "")))
            case "progress":
                names = ("part", "done", "total", "detail")
                self._state = {**self._state, "progress": {name: event.get(name) for name in names}}
            case "stage":
                record = event.get("record", {})
                rates = record.get("tuned", {})
                stage = {
                    "stage": record.get("stage"),
                    "n_weak": record.get("n_weak"),
                    "hit_rate": rates.get("hit_rate"),
                    "false_alarm_rate": rates.get("false_alarm_rate"),
                    "overall_false_alarm_rate": record.get("overall_false_alarm_rate"),
                }
                self._set(stages=[*self._state["stages"], stage])
            case "end":
                self._note(str(event.get("text", "")))

    def _note(self, text: str) -> None:
        self._set(notes=[*self._state["notes"], text][-NOTES:])

    def _compare(self, task: Task, new: Path, to_validate: Sequence[AnnotatedPicture]) -> None:
        candidates = [load_candidate(new, NEW)]
        if task.model is not None:
            candidates.insert(0, load_candidate(task.model, CURRENT))
        evaluation = compare(
            candidates,
            to_validate,
            lambda done, total: self._set(
                progress={"part": "evaluating", "done": done, "total": total, "detail": ""}
            ),
        )
        is_better = evaluation.best_first[0].name == NEW
        best = self._store.path.parent / BEST_NAME
        if is_better:
            write_atomic(best, new.read_bytes())
            self._use(best)
        self._set(
            phase="done",
            progress=None,
            is_better=is_better,
            model=str(best if is_better else task.model),
            new_model=str(new),
            verdict=verdict(evaluation),
            chart=recall_chart(evaluation),
            names=[model.name for model in evaluation.models],
        )


def compare(
    candidates: Sequence[Candidate],
    pictures: Sequence[AnnotatedPicture],
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Evaluation:
    """Evaluate models on photos that none was trained on.

    Parameters
    ----------
    candidates : sequence of Candidate
        The models.
    pictures : sequence of AnnotatedPicture
        With all their boxes.
    progress : callable, optional
        Called as `progress(done, total)`.

    Returns
    -------
    Evaluation
        Of two models that are equally good, the first one ranks first.
    """
    scenes = scenes_of(pictures, "photos for validation")
    protocol = Protocol(n_resamples=N_RESAMPLES)
    return evaluate(
        candidates, scenes, protocol, n_threads=1, progress=lambda _, done, total: progress(done, total)
    )


def write_false_alarms(folder: Path, pictures: Sequence[AnnotatedPicture], store: Store) -> int:
    """Write crops of rejected detections, with a margin unless that would touch an object.

    Parameters
    ----------
    folder : Path
        For the crops; made if there are any.
    pictures : sequence of AnnotatedPicture
        Photos to train on.
    store : Store
        Has their false alarms.

    Returns
    -------
    int
        Number of crops.
    """
    n_written = 0
    for picture in pictures:
        places = store.labels(picture.name).false_alarms
        if not places:
            continue
        image = read_image(picture.path)
        objects = np.array([one.box for one in picture.objects], np.float64).reshape(-1, 4)
        folder.mkdir(exist_ok=True)
        for place in places:
            x, y, width, height = _with_margin(place, objects, image.shape[1], image.shape[0])
            n_written += 1
            write_image(
                folder / f"{n_written:05}.png", np.ascontiguousarray(image[y : y + height, x : x + width])
            )
    return n_written


def _with_margin(
    place: Coordinates, objects: np.ndarray, width: int, height: int
) -> tuple[int, int, int, int]:
    x, y, w, h = place
    grown = np.array([[x - MARGIN * w, y - MARGIN * h, (1 + 2 * MARGIN) * w, (1 + 2 * MARGIN) * h]])
    is_clear = overlaps(grown, objects).max(initial=0.0) == 0
    left, top, w, h = map(float, grown[0]) if is_clear else place
    corner = max(round(left), 0), max(round(top), 0)
    right, bottom = min(round(left + w), width), min(round(top + h), height)
    return corner[0], corner[1], max(right - corner[0], 1), max(bottom - corner[1], 1)


def _of_label(pictures: Sequence[AnnotatedPicture], label: str) -> list[AnnotatedPicture]:
    """Return the photos with the boxes of one kind of object only."""
    return [
        picture._replace(objects=tuple(one for one in picture.objects if one.label == label))
        for picture in pictures
    ]


def _new_run(above: Path) -> Path:
    """Make the folder of a run, named by the next free number."""
    above.mkdir(exist_ok=True)
    number = 1 + max((int(path.name) for path in above.iterdir() if path.name.isdecimal()), default=0)
    folder = above / f"{number:03}"
    folder.mkdir()
    return folder


def _events(path: Path, process: subprocess.Popen[bytes]) -> Iterator[list[dict[str, Any]]]:
    """Yield new events of a run until it has ended."""
    place, has_ended = 0, False
    while True:
        lines, place = _new_lines(path, place)
        if lines:
            yield [json.loads(line) for line in lines]
        if has_ended:
            return
        try:
            process.wait(POLL_SECONDS)
            has_ended = True
        except subprocess.TimeoutExpired:
            continue


def _new_lines(path: Path, place: int) -> tuple[list[bytes], int]:
    """Return the complete lines of a file from an offset on, and the offset of their end."""
    if not path.is_file():
        return [], place
    with path.open("rb") as file:
        file.seek(place)
        data = file.read()
    whole = data[: data.rfind(b"\n") + 1]
    return [line for line in whole.splitlines() if line.strip()], place + len(whole)
