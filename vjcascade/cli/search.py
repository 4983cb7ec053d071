"""Search one input after the other, and hand on what is found."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vjcascade.cli.annotation_reports import AnnotationReport
from vjcascade.cli.console import PlainConsole, ProgressLine
from vjcascade.cli.drawing import open_drawing
from vjcascade.cli.inputs import Input, Shot
from vjcascade.cli.process import ExitCode, code_of
from vjcascade.cli.reports import Report, ResumableReport
from vjcascade.clusters import Cluster
from vjcascade.errors import CascadeError, ImageError
from vjcascade.messages import one_line
from vjcascade.storage import fetch_ahead
from vjcascade.training.events import Progress
from vjcascade.types import Detections
from vjcascade.video import LiveWindow

RECENT = 30
"""Frames that tell the rate now."""

SECONDS_TO_SHOW = 2.0
"""How long a still picture stays in the window."""

SECONDS_OF_GROUPING = 2.0
"""Grouping that is done sooner is not worth a line of its own."""


MOST_AT_ONCE, ROUNDS = 16, 8
"""Pictures that a worker of a cluster gets together, but fewer where there are not so many rounds of them."""


class Detect(Protocol):
    """Finds the object in a picture, or in the next frame of a video."""

    def __call__(self, image: NDArray[np.uint8], /, *, progress: Callable[[int, int], object]) -> Detections:
        """Call `progress(done, total)` now and then while windows are grouped."""


FRAMES_MISCOUNTED, SHARE_MISCOUNTED = 2, 0.05
"""How many frames may be missing from a good video: some files only tell about how many they have."""


class Search:
    """A detector and what becomes of its results.

    Parameters
    ----------
    detect_in : callable
        `detect_in(input)` returns what finds the object in the shots of that input.
    report : Report, ResumableReport or AnnotationReport
        Gets everything that is found.
    drawings : mapping of Input to Path
        Files for drawn copies; empty if none are wanted.
    window : LiveWindow or None
        Shows everything.
    cluster : Cluster, optional
        Its workers search. For pictures alone, without drawings and window, which need the pixels here.
    """

    def __init__(
        self,
        detect_in: Callable[[Input], Detect],
        report: Report | ResumableReport | AnnotationReport,
        drawings: Mapping[Input, Path],
        window: LiveWindow | None,
        cluster: Cluster | None = None,
    ) -> None:
        self._detect_in = detect_in
        self._cluster = cluster
        self._report = report
        self._drawings = drawings
        self._window = window
        self._console = PlainConsole(sys.stderr)
        self._progress = ProgressLine(self._console, remaining="about")
        self._tells_progress = False
        self._n_shots = 0
        self._n_detections = 0
        self._n_without = 0
        self._n_failed = 0
        self._n_cut_off = 0
        self._n_frames = 0
        self._n_skipped = 0
        self._seconds_of_frames = 0.0

    def run(self, inputs: Sequence[Input], *, is_quiet: bool) -> ExitCode:
        """Search all inputs, and sum up on standard error.

        Parameters
        ----------
        inputs : sequence of Input
            In this order.
        is_quiet : bool
            Whether results do not show on the terminal, so that progress may.

        Returns
        -------
        ExitCode
            INTERRUPTED or TERMINATED if the search of files was stopped, WRONG_INPUT if an input could not be read to
            its end, else DONE.
        """
        self._tells_progress = is_quiet or not sys.stdout.isatty()
        if any(source.is_moving and source.path is not None for source in self._drawings):
            self._console.print("drawn copies of videos are without sound")
        code = None
        with self._progress:
            try:
                self._search_all(inputs)
            except KeyboardInterrupt as interrupt:
                # The usual end of a camera's pictures.
                code = ExitCode.DONE if inputs[0].path is None else code_of(interrupt)
        if code:
            self._console.print("stopped; results so far are kept")
        self._sum_up(len(inputs))
        return code or (ExitCode.WRONG_INPUT if self._n_failed or self._n_cut_off else ExitCode.DONE)

    def _search_all(self, inputs: Sequence[Input]) -> None:
        if self._cluster is not None:
            self._search_by_workers(self._cluster, inputs)
            return
        stored = any(source.path is not None and source.local_path is None for source in inputs)
        for i, source in enumerate(fetch_ahead(_fetched, inputs) if stored else inputs):
            self._tell(Progress("searching", i, len(inputs), source.name))
            if not self._search_or_tell(source):
                break

    def _search_by_workers(self, cluster: Cluster, inputs: Sequence[Input]) -> None:
        """Search pictures on a cluster; here, those that a worker cannot read."""
        n_workers = sum(cluster.workers().values())
        n_each = max(1, min(MOST_AT_ONCE, len(inputs) // (ROUNDS * n_workers)))
        parts = [inputs[first : first + n_each] for first in range(0, len(inputs), n_each)]
        n_done = 0
        for part, answers in zip(
            parts, cluster.ordered_map(_found_in, self._detect_in(inputs[0]), parts), strict=True
        ):
            for source, answer in zip(part, answers, strict=True):
                if answer is None:
                    self._search_or_tell(source)
                else:
                    (height, width), found = answer
                    self._add(Shot(source.name, np.broadcast_to(np.uint8(0), (height, width))), found)
                n_done += 1
                self._tell(Progress("searching", n_done, len(inputs), source.name))

    def _search_or_tell(self, source: Input) -> bool:
        """Search an input, or say why it cannot be read; return False if the user has closed the window."""
        try:
            return self._search(source)
        except ImageError as error:
            self._n_failed += 1
            self._progress.clear()
            self._console.print(one_line(f"cannot be searched: {error}"))
        return True

    def _add(self, shot: Shot, found: Detections) -> None:
        """Count and report what was found in a shot."""
        self._n_shots += 1
        self._n_detections += len(found)
        self._n_without += not len(found)
        self._report.add(shot, found)

    def _search(self, source: Input) -> bool:
        """Search all shots of an input; return False if the user has closed the window."""
        rate = FrameRate()
        expected = n_frames = 0
        start = time.monotonic()
        with ExitStack() as stack:
            target = self._drawings.get(source)
            drawing = stack.enter_context(open_drawing(source, target)) if target is not None else None
            detect = self._detect_in(source)
            for shot in stack.enter_context(closing(source.shots())):
                found = detect(shot.image, progress=self._grouping_teller(source))
                self._add(shot, found)
                if shot.frame is not None:
                    rate.tick()
                    self._n_frames += 1
                    self._n_skipped += 0 if source.path is not None else shot.frame - expected
                    self._seconds_of_frames += time.monotonic() - start
                    start, expected, n_frames = time.monotonic(), shot.frame + source.every, shot.n_frames
                    self._tell(_frame_progress(source, shot, rate))
                if drawing is None and self._window is None:
                    continue
                drawn = found.draw(shot.image)
                if drawing is not None:
                    drawing.add(drawn, shot.seconds)
                if self._window is not None and not _show(self._window, drawn, source, str(rate)):
                    return False
        if n_frames - expected > max(FRAMES_MISCOUNTED, n_frames * SHARE_MISCOUNTED):
            self._n_cut_off += 1
            self._progress.clear()
            self._console.print(
                f"{one_line(source.name)}: it should have {n_frames} frames, but after {expected} no more could be "
                "decoded: it is cut off or damaged, and the last frame searched may be damaged, too"
            )
        return True

    def _tell(self, progress: Progress) -> None:
        if self._tells_progress:
            self._progress.update(progress)

    def _grouping_teller(self, source: Input) -> Callable[[int, int], None]:
        """Return what tells how far the grouping of a shot's windows is, once it takes long."""
        begun = math.inf

        def tell(done: int, total: int) -> None:
            nonlocal begun
            begun = min(begun, time.monotonic())
            if time.monotonic() >= begun + SECONDS_OF_GROUPING:
                part = f"grouping the windows of {source.short_name}"
                self._tell(Progress(part, done, total, f"{done / total:.0%}"))

        return tell

    def _sum_up(self, n_inputs: int) -> None:
        parts = [f"searched: {self._n_shots}", f"detections: {self._n_detections}"]
        if self._n_without and self._n_shots > 1:
            parts.append(f"nothing found in: {self._n_without}")
        if self._n_frames:
            parts.append(per_second(self._n_frames, self._seconds_of_frames))
        if self._n_skipped:
            parts.append(f"frames skipped, as the search could not keep up: {self._n_skipped}")
        if self._n_failed:
            parts.append(f"could not be read: {self._n_failed} of {n_inputs}")
        if self._n_cut_off:
            parts.append(f"cut off: {self._n_cut_off} of {n_inputs}")
        self._console.print("; ".join(parts))


def _found_in(detect: Detect, sources: Sequence[Input]) -> list[tuple[tuple[int, ...], Detections] | None]:
    """Search pictures on a worker: the height and width of each, and what was found; None where it cannot be read."""
    found: list[tuple[tuple[int, ...], Detections] | None] = []
    for source in sources:
        try:
            (shot,) = source.shots()
        except (CascadeError, OSError):
            found.append(None)
        else:
            found.append((shot.image.shape[:2], detect(shot.image, progress=_silent)))
    return found


def _silent(_done: int, _total: int) -> None:
    """Tell nobody how far grouping is."""


def _fetched(source: Input) -> Input:
    try:
        return source.fetched()
    except ImageError:  # said when it is its turn
        return source


def _frame_progress(source: Input, shot: Shot, rate: FrameRate) -> Progress:
    frame = shot.frame or 0
    total = f" of {shot.n_frames}" if shot.n_frames else ""
    detail = ", ".join(filter(None, [f"frame {frame}{total}", str(rate)]))
    return Progress(f"searching {source.short_name}", frame, max(shot.n_frames, frame + 1), detail)


def _show(window: LiveWindow, drawn: NDArray[np.uint8], source: Input, caption: str) -> bool:
    end = time.monotonic() + (0 if source.is_moving else SECONDS_TO_SHOW)
    while goes_on := window.show(drawn, caption):
        if time.monotonic() >= end:
            break
        time.sleep(0.02)
    return goes_on


class FrameRate:
    """How fast frames come by.

    Examples
    --------
    >>> rate = FrameRate()
    >>> str(rate)
    ''
    """

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=RECENT)

    def tick(self) -> None:
        """Count a frame."""
        self._times.append(time.monotonic())

    def __str__(self) -> str:
        """Tell the rate of the last frames, or nothing before there are two."""
        if len(self._times) < 2:
            return ""
        return per_second(len(self._times) - 1, self._times[-1] - self._times[0])


def per_second(n_frames: int, seconds: float) -> str:
    """Return a rate in words.

    Examples
    --------
    >>> per_second(50, 2.0)
    '25.0 frames/s'
    """
    return f"{n_frames / max(seconds, 1e-6):.1f} frames/s"
