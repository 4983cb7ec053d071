"""Search one input after the other, and hand on what is found."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vjcascade.cli.console import ProgressLine, plain_console
from vjcascade.cli.drawing import open_drawing
from vjcascade.cli.exit_codes import ExitCode
from vjcascade.cli.inputs import Input
from vjcascade.cli.reports import Report
from vjcascade.detection import Detector
from vjcascade.errors import ImageError
from vjcascade.imaging import draw_boxes
from vjcascade.training.events import Progress
from vjcascade.video import LiveWindow

SECONDS_TO_SHOW = 2.0
"""How long a still picture stays in the window."""


class Search:
    """A detector and what becomes of its results.

    Parameters
    ----------
    detector : Detector
        Finds the object.
    report : Report
        Gets everything that is found.
    drawings : mapping of Input to Path
        Files for drawn copies; empty if none are wanted.
    window : LiveWindow or None
        Shows everything.
    """

    def __init__(
        self,
        detector: Detector,
        report: Report,
        drawings: Mapping[Input, Path],
        window: LiveWindow | None,
    ) -> None:
        self._detector = detector
        self._report = report
        self._drawings = drawings
        self._window = window
        self._console = plain_console(stderr=True)
        self._n_shots = 0
        self._n_detections = 0

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
            WRONG_INPUT if an input could not be read, else DONE.
        """
        n_failed = 0
        with ProgressLine(self._console) as progress:
            for i, source in enumerate(inputs):
                if is_quiet or not sys.stdout.isatty():
                    progress.update(Progress("searching", i, len(inputs), source.name))
                try:
                    goes_on = self._search(source)
                except ImageError as error:
                    n_failed += 1
                    progress.clear()
                    self._console.print(f"cannot be searched: {error}")
                    continue
                if not goes_on:
                    break
        failed = f"; could not be read: {n_failed} of {len(inputs)}" if n_failed else ""
        self._console.print(f"searched: {self._n_shots}; detections: {self._n_detections}{failed}")
        return ExitCode.WRONG_INPUT if n_failed else ExitCode.DONE

    def _search(self, source: Input) -> bool:
        """Search all shots of an input; return False if the user has closed the window."""
        with ExitStack() as stack:
            target = self._drawings.get(source)
            drawing = stack.enter_context(open_drawing(source, target)) if target is not None else None
            try:
                for shot in source.shots():
                    found = self._detector.detect(shot.image)
                    self._n_shots += 1
                    self._n_detections += len(found)
                    self._report.add(shot, found)
                    if drawing is None and self._window is None:
                        continue
                    drawn = draw_boxes(shot.image, found.boxes)
                    if drawing is not None:
                        drawing.add(drawn, shot.seconds)
                    if self._window is not None and not _show(self._window, drawn, source):
                        return False
            except KeyboardInterrupt:
                if source.path is not None:
                    raise  # the usual end of a camera's pictures only
        return True


def _show(window: LiveWindow, drawn: NDArray[np.uint8], source: Input) -> bool:
    end = time.monotonic() + (0 if source.is_moving else SECONDS_TO_SHOW)
    while goes_on := window.show(drawn):
        if time.monotonic() >= end:
            break
        time.sleep(0.02)
    return goes_on
