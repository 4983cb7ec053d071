"""Video files, written whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import DeviceError, ImageError, SettingsError
from vjcascade.imaging import opencv
from vjcascade.types import Size
from vjcascade.video._colour import swap_red_and_blue

_CODECS = {".avi": "MJPG", ".mp4": "mp4v"}  # in every wheel of OpenCV


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
        If the suffix is another one, an `.mp4` video would have less than two rows or columns, or a frame is not RGB
        uint8 of this size.
    SettingsError
        If `fps` is not above 0.
    DeviceError
        On entering the block, if the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from vjcascade.video import read_frames
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
            raise ImageError(f"{path}: videos cannot be written with this suffix; use {' or '.join(_CODECS)}")
        if not fps > 0:  # nan too
            raise SettingsError(f"{path}: {fps} frames per second cannot be written; give a number above 0")
        if suffix == ".mp4" and min(size) < 2:
            raise ImageError(
                f"{path}: frames of {size} pixels are too small for this kind of video, 2x2 is the least"
            )
        # The suffix stays last: the encoder chooses the container by it.
        self._temporary = self.path.with_name(f".vjcascade-{secrets.token_hex(8)}{suffix}")

    def __enter__(self) -> Self:
        cv2 = opencv()
        codec = cv2.VideoWriter_fourcc(*_CODECS[self._temporary.suffix])
        # Known before the file is there, so that a Ctrl-C leaves none behind.
        self._writer = cv2.VideoWriter()
        self._writer.open(str(self._temporary), codec, self.fps, self.size)
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
        self._writer.write(swap_red_and_blue(image))

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
