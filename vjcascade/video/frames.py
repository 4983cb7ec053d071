"""Frames of video files and of cameras."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import DeviceError, ImageError, SettingsError
from vjcascade.imaging import opencv
from vjcascade.video._ahead import read_ahead, read_latest
from vjcascade.video._colour import swap_red_and_blue

VIDEO_SUFFIXES = frozenset({".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm", ".wmv"})
"""Lower-case suffixes of files taken for videos."""

FRAMES_AHEAD = 3
"""Frames of a file that are decoded while others are searched."""

LAST_CAMERA = 99
"""OpenCV takes hundreds for kinds of drivers."""

MAX_BAD_FRAMES = 10
"""A camera that fails more often than this in a row has stopped."""

SECONDS_AFTER_BAD_FRAME = 0.05
"""What a camera gets to come round."""


class Frame(NamedTuple):
    """One picture of a video.

    Attributes
    ----------
    index : int
        0 for the first frame. A camera counts those, too, that came while the reader was busy.
    seconds : float
        Time of the frame in the file; for a camera, time since the first frame.
    image : ndarray of shape (height, width, 3), dtype uint8
        RGB, upright where the file tells how the camera was held.
    n_frames : int
        Frames in the file, by its own account; 0 for a camera, and where the file does not tell.

    Examples
    --------
    >>> Frame(12, 0.4, np.zeros((48, 64, 3), np.uint8)).seconds
    0.4
    """

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody needs here
    seconds: float
    image: NDArray[np.uint8]
    n_frames: int = 0


def is_video(path: str | os.PathLike[str]) -> bool:
    """Tell by its suffix whether a file is a video.

    Examples
    --------
    >>> is_video("holiday.MP4"), is_video("holiday.jpg")
    (True, False)
    """
    return Path(path).suffix.lower() in VIDEO_SUFFIXES


def read_frames(path: str | os.PathLike[str], *, every: int = 1) -> Generator[Frame]:
    """Read a video file frame by frame, a few frames ahead of their use.

    Parameters
    ----------
    path : path-like
        The file; it is opened at once.
    every : int, optional
        2 reads every second frame, and so on, beginning with the first.

    Returns
    -------
    generator of Frame
        Every frame, blank ones too; none is skipped, however long the caller takes. Closing it closes the file.

    Raises
    ------
    ImageError
        If there is no such file, or no frame of it can be decoded.
    SettingsError
        If `every` is below 1.

    Examples
    --------
    >>> from vjcascade.types import Size
    >>> from vjcascade.video import VideoSink
    >>> with VideoSink("short.mp4", 10, Size(64, 48)) as sink:
    ...     for level in (0, 100, 200):
    ...         sink.write(np.full((48, 64, 3), level, np.uint8))
    >>> [frame.index for frame in read_frames("short.mp4", every=2)]
    [0, 2]
    """
    path = Path(path)
    if every < 1:
        raise SettingsError(f"every {every}: give 1 for all frames, 2 for every second one, and so on")
    if not path.is_file():  # OpenCV would also take addresses and patterns such as frame%d.png
        if path.exists():
            raise ImageError(f"{path}: this is a folder, a pipe or a device; give a video file")
        raise ImageError(f"{path}: there is no such file; check the path")
    cv2 = opencv()
    capture = cv2.VideoCapture(str(path))
    capture.set(cv2.CAP_PROP_ORIENTATION_AUTO, 1)  # already so where FFmpeg reads; not everywhere
    first = _next_image(capture)
    if first is None:
        raise ImageError(
            f"{path}: no frame can be decoded: this is not a video, or it is damaged or of a kind that OpenCV "
            "cannot read; convert it to .mp4 or .avi"
        )
    return read_ahead(_file_frames(capture, first, every), FRAMES_AHEAD)


def camera_frames(index: int = 0) -> Generator[Frame]:
    """Read frames from a camera, until the caller stops: always the newest one.

    A thread takes all that the camera delivers, so that a slow caller gets fewer frames and not older ones;
    the indices tell how many were skipped.

    Parameters
    ----------
    index : int
        0 is the first camera of this machine.

    Returns
    -------
    generator of Frame
        Frames as they come; a few that the camera fails to deliver are passed over. Closing it lets the camera go.

    Raises
    ------
    DeviceError
        If there is no such camera, another program holds it, or it stops delivering.

    Examples
    --------
    >>> for frame in camera_frames(0):  # doctest: +SKIP
    ...     print(frame.index, frame.image.shape)
    ...     break
    """
    if not 0 <= index <= LAST_CAMERA:
        raise DeviceError(f"camera {index}: cameras are numbered from 0 to {LAST_CAMERA}; the first is 0")
    capture = opencv().VideoCapture(index)
    first = _next_good_image(capture) if capture.isOpened() else None
    if first is None:
        capture.release()
        raise DeviceError(
            f"camera {index} is missing or sends no picture; plug it in, close other programs that use "
            "it, or give another number"
        )
    return read_latest(_live_frames(capture, first, index))


def _file_frames(capture: Any, first: NDArray[np.uint8], every: int) -> Generator[Frame]:
    cv2 = opencv()
    fps = capture.get(cv2.CAP_PROP_FPS)
    n_frames = max(0, int(capture.get(cv2.CAP_PROP_FRAME_COUNT)))
    index = 0
    image: NDArray[np.uint8] | None = first
    try:
        while image is not None:
            # Backends that know no time stamps report 0.
            seconds = capture.get(cv2.CAP_PROP_POS_MSEC) / 1000 or (index / fps if fps > 0 else 0.0)
            yield Frame(index, seconds, image, n_frames)
            for _ in range(every - 1):
                if not capture.grab():  # past the end, or `every` might ask for billions
                    break
            index, image = index + every, _next_image(capture)
    finally:
        capture.release()


def _live_frames(capture: Any, first: NDArray[np.uint8], camera: int) -> Generator[Frame]:
    start = time.monotonic()
    index = 0
    image: NDArray[np.uint8] | None = first
    try:
        while image is not None:
            yield Frame(index, time.monotonic() - start, image)
            index, image = index + 1, _next_good_image(capture)
    finally:
        capture.release()
    raise DeviceError(f"camera {camera} stopped after {index} frames; check that it is still plugged in")


def _next_good_image(capture: Any) -> NDArray[np.uint8] | None:
    """Return the next picture of a camera; None if it fails again and again."""
    for _ in range(MAX_BAD_FRAMES):
        image = _next_image(capture)
        if image is not None:
            return image
        time.sleep(SECONDS_AFTER_BAD_FRAME)
    return None


def _next_image(capture: Any) -> NDArray[np.uint8] | None:
    decoded, image = capture.read()
    return swap_red_and_blue(image) if decoded and image.size else None
