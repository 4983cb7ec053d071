"""Copies of pictures and videos with the detections drawn in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.cli.inputs import Input
from vjcascade.errors import SettingsError
from vjcascade.imaging import DRAWN, IMAGE_SUFFIXES, write_image
from vjcascade.types import Size
from vjcascade.video import VideoSink, is_video

FRAMES_TO_TIME = 10
"""Frames whose times decide the rate of a drawn video."""

DEFAULT_RATE = 25.0
"""Frames per second where their times do not tell."""


def names_file(place: Path) -> bool:
    """Tell whether what is given to --draw is the name of a picture or video, and not of a folder."""
    return not place.is_dir() and (place.suffix.lower() in IMAGE_SUFFIXES or is_video(place))


def plan_drawings(inputs: Sequence[Input], place: Path) -> dict[Input, Path]:
    """Choose a file for each input: `place` itself, if that names a file, else one in this folder.

    In a folder, it is named after the input and as `DRAWN`; inputs of one name get numbers.

    Raises
    ------
    SettingsError
        If `place` names a file, and there are several inputs, or the one is of another kind.
    """
    if names_file(place):
        if len(inputs) != 1:
            raise SettingsError(
                f"--draw {place} names one file, but there are {len(inputs)} inputs: give a folder"
            )
        if inputs[0].is_moving != is_video(place):
            wanted = "video, as out.mp4" if inputs[0].is_moving else "picture, as out.png"
            raise SettingsError(
                f"--draw {place}: of {inputs[0].name} a {wanted}, can be drawn, or give a folder"
            )
        return {inputs[0]: place}
    taken: set[str] = set()
    return {source: place / _free_name(source, taken) for source in dict.fromkeys(inputs)}


def open_drawing(source: Input, target: Path) -> Drawing:
    """Return the drawn copy of an input, still to be entered."""
    return VideoDrawing(target) if source.is_moving else PictureDrawing(target)


def _free_name(source: Input, taken: set[str]) -> str:
    stem = source.name.replace(" ", "-") if source.path is None else source.path.stem
    suffix = DRAWN + (".mp4" if source.is_moving else ".png")
    names = (f"{stem}{suffix}" if n == 1 else f"{stem}-{n}{suffix}" for n in count(1))
    name = next(name for name in names if name.casefold() not in taken)
    taken.add(name.casefold())
    return name


class Drawing(ABC):
    """The drawn copy of an input under construction; a context manager.

    Parameters
    ----------
    target : Path
        The file.
    """

    def __init__(self, target: Path) -> None:
        self.target = target

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def add(self, drawn: NDArray[np.uint8], seconds: float) -> None:
        """Take a picture or the next frame: RGB, shape (h, w, 3), and its time."""

    def __exit__(  # noqa: B027  nothing to do for pictures
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish the file, also if the user stops the work; after an error leave none."""


class PictureDrawing(Drawing):
    """The drawn copy of a picture."""

    def add(self, drawn: NDArray[np.uint8], seconds: float) -> None:
        """Write the picture."""
        del seconds
        write_image(self.target, drawn)


class VideoDrawing(Drawing):
    """The drawn copy of a video; the first frames wait until their times tell the rate."""

    def __init__(self, target: Path) -> None:
        super().__init__(target)
        self._waiting: list[NDArray[np.uint8]] = []
        self._seconds: list[float] = []
        self._sink: VideoSink | None = None

    def add(self, drawn: NDArray[np.uint8], seconds: float) -> None:
        """Append a frame."""
        if self._sink is not None:
            self._sink.write(drawn)
            return
        self._waiting.append(drawn)
        self._seconds.append(seconds)
        if len(self._waiting) == FRAMES_TO_TIME:
            self._write_waiting()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            kind = error = trace = None  # what was drawn until then is a video, too
        if self._waiting and kind is None:
            self._write_waiting()
        if self._sink is not None:
            self._sink.__exit__(kind, error, trace)

    def _write_waiting(self) -> None:
        """Write the frames that wait; if a Ctrl-C comes between, the next call goes on."""
        if self._sink is None:
            self._sink = self._new_sink()
            self._sink.__enter__()
        while self._waiting:
            self._sink.write(self._waiting.pop(0))

    def _new_sink(self) -> VideoSink:
        height, width = self._waiting[0].shape[:2]
        steps = np.diff(self._seconds)
        step = float(np.median(steps)) if len(steps) else 0.0
        return VideoSink(self.target, 1 / step if step > 0 else DEFAULT_RATE, Size(width, height))
