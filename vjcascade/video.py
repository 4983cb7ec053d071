"""Video in and out: frames of files and cameras, video files written whole or not at all, a live window."""

from __future__ import annotations

import os
import re
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import DeviceError, ImageError, SettingsError
from vjcascade.imaging import opencv
from vjcascade.types import Size

VIDEO_SUFFIXES = frozenset({".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm", ".wmv"})
"""Lower-case suffixes of files taken for videos."""

_CODECS = {".avi": "MJPG", ".mp4": "mp4v"}  # in every wheel of OpenCV
_QUIT_KEYS = frozenset({ord("q"), ord("Q"), 27})  # 27: Esc


class Frame(NamedTuple):
    """One picture of a video.

    Attributes
    ----------
    index : int
        0 for the first frame.
    seconds : float
        Time of the frame in the file; for a camera, time since the first frame.
    image : ndarray of shape (height, width, 3), dtype uint8
        RGB.
    """

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    seconds: float
    image: NDArray[np.uint8]


def is_video(path: str | os.PathLike[str]) -> bool:
    """Tell by its suffix whether a file is a video.

    Examples
    --------
    >>> is_video("holiday.MP4"), is_video("holiday.jpg")
    (True, False)
    """
    return Path(path).suffix.lower() in VIDEO_SUFFIXES


def read_frames(path: str | os.PathLike[str]) -> Iterator[Frame]:
    """Read a video file frame by frame.

    Parameters
    ----------
    path : path-like
        The file; it is opened at once, its frames are decoded one at a time.

    Returns
    -------
    iterator of Frame
        Every frame, blank ones too.

    Raises
    ------
    ImageError
        If there is no such file, or no frame of it can be decoded.
    """
    path = Path(path)
    if not path.is_file():  # OpenCV would also take addresses and patterns such as frame%d.png
        raise ImageError(f"{path}: there is no such file; check the path")
    capture = opencv().VideoCapture(str(path))
    first = _next_image(capture)
    if first is None:
        raise ImageError(
            f"{path}: no frame can be decoded: this is no video, or it is damaged or of a kind that OpenCV "
            "cannot read; convert it to .mp4 or .avi"
        )
    return _file_frames(capture, first)


def camera_frames(index: int = 0) -> Iterator[Frame]:
    """Read frames from a camera, until the caller stops.

    Parameters
    ----------
    index : int
        0 is the first camera of this machine.

    Returns
    -------
    iterator of Frame
        Frames as they come.

    Raises
    ------
    DeviceError
        If there is no such camera, another program holds it, or it stops delivering.
    """
    capture = opencv().VideoCapture(index)
    first = _next_image(capture)
    if first is None:
        raise DeviceError(
            f"camera {index} is not there or delivers no picture; plug it in, close other programs that use "
            "it, or give another number"
        )
    return _live_frames(capture, first, index)


class VideoSink:
    """A video file under construction; it gets its name when the `with` block ends without an error.

    Parameters
    ----------
    path : path-like
        The file to create or replace: `.mp4` (MPEG-4) or `.avi` (Motion JPEG), without sound.
    fps : float
        Frames per second, > 0.
    size : Size
        Size of every frame; the encoders drop an odd last row or column.

    Raises
    ------
    ImageError
        If the suffix is another one, or a frame is not RGB uint8 of this size.
    SettingsError
        If `fps` is not above 0.
    DeviceError
        On entering the block, if the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with VideoSink(f"{folder}/grey.avi", fps=10, size=Size(64, 48)) as sink:
    ...         sink.write(np.full((48, 64, 3), 128, np.uint8))
    ...     [frame.image.shape for frame in read_frames(f"{folder}/grey.avi")]
    [(48, 64, 3)]
    """

    def __init__(self, path: str | os.PathLike[str], fps: float, size: Size) -> None:
        self.path = Path(path)
        self.fps = fps
        self.size = size
        suffix = self.path.suffix.lower()
        if suffix not in _CODECS:
            raise ImageError(f"{path}: no video can be written with this suffix; use {' or '.join(_CODECS)}")
        if not fps > 0:  # nan too
            raise SettingsError(f"{path}: {fps} frames per second cannot be written; give a number above 0")
        # The suffix stays last: the encoder chooses the container by it.
        self._temporary = self.path.with_name(f".vjcascade-{secrets.token_hex(8)}{suffix}")

    def __enter__(self) -> Self:
        cv2 = opencv()
        codec = cv2.VideoWriter_fourcc(*_CODECS[self._temporary.suffix])
        self._writer = cv2.VideoWriter(str(self._temporary), codec, self.fps, self.size)
        if not self._writer.isOpened():
            self._discard()
            raise DeviceError(
                f"{self.path}: no video of {self.size} pixels can be written there; check that the folder "
                "exists and may be written to"
            )
        return self

    def write(self, image: NDArray[np.uint8]) -> None:
        """Append a frame: RGB, shape (height, width, 3), dtype uint8."""
        expected = (self.size.height, self.size.width, 3)
        if image.shape != expected or image.dtype != np.uint8:  # OpenCV would drop it without a word
            raise ImageError(
                f"{self.path}: a frame of shape {image.shape} and dtype {image.dtype} does not fit into this "
                f"video of shape {expected} and dtype uint8; resize it"
            )
        self._writer.write(_swap_red_and_blue(image))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._discard()
            return
        self._writer.release()
        self._temporary.replace(self.path)

    def _discard(self) -> None:
        self._writer.release()
        self._temporary.unlink(missing_ok=True)


class LiveWindow:
    """A window on the screen that shows one picture after the other.

    Parameters
    ----------
    title : str
        Its title, which also is its identity.

    Raises
    ------
    DeviceError
        If there is no screen, or this OpenCV is built without windows.
    """

    def __init__(self, title: str) -> None:
        self.title = title
        _require_screen()

    def __enter__(self) -> Self:
        return self

    def show(self, image: NDArray[np.uint8]) -> bool:
        """Show an RGB picture; False once the user has pressed q or Esc, or has closed the window."""
        cv2 = opencv()
        cv2.imshow(self.title, _swap_red_and_blue(image))
        key = cv2.waitKey(1) & 0xFF
        closed = cv2.getWindowProperty(self.title, cv2.WND_PROP_VISIBLE) < 1
        return not closed and key not in _QUIT_KEYS

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        cv2 = opencv()
        with suppress(cv2.error):  # the user has closed it already
            cv2.destroyWindow(self.title)


def _require_screen() -> None:
    """Refuse where `imshow` would raise or, on Linux, Qt would end the whole process."""
    if re.search(r"GUI:\s+NONE", opencv().getBuildInformation()):
        raise DeviceError(
            "this OpenCV is built without windows; replace opencv-python-headless by opencv-python, "
            "or write the result to a file"
        )
    if sys.platform.startswith("linux") and not os.environ.get("DISPLAY"):
        # Not WAYLAND_DISPLAY: the wheels bring Qt's plugin for X alone, and abort under bare Wayland too.
        raise DeviceError("there is no screen (DISPLAY is not set); write the result to a file")


def _file_frames(capture: Any, first: NDArray[np.uint8]) -> Iterator[Frame]:
    cv2 = opencv()
    fps = capture.get(cv2.CAP_PROP_FPS)
    index = 0
    image: NDArray[np.uint8] | None = first
    try:
        while image is not None:
            # Backends that know no time stamps report 0.
            seconds = capture.get(cv2.CAP_PROP_POS_MSEC) / 1000 or (index / fps if fps > 0 else 0.0)
            yield Frame(index, seconds, image)
            index, image = index + 1, _next_image(capture)
    finally:
        capture.release()


def _live_frames(capture: Any, first: NDArray[np.uint8], camera: int) -> Iterator[Frame]:
    start = time.monotonic()
    index = 0
    image: NDArray[np.uint8] | None = first
    try:
        while image is not None:
            yield Frame(index, time.monotonic() - start, image)
            index, image = index + 1, _next_image(capture)
    finally:
        capture.release()
    raise DeviceError(f"camera {camera} stopped after {index} frames; check that it is still plugged in")


def _next_image(capture: Any) -> NDArray[np.uint8] | None:
    decoded, image = capture.read()
    return _swap_red_and_blue(image) if decoded else None


def _swap_red_and_blue(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Go from RGB to OpenCV's BGR, or back."""
    cv2 = opencv()
    swapped: NDArray[np.uint8] = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
    return swapped
