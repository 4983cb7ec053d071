"""A live window."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import DeviceError
from vjcascade.imaging import opencv
from vjcascade.video._colour import swap_red_and_blue

_QUIT_KEYS = frozenset({ord("q"), ord("Q"), 27})  # 27: Esc


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

    Examples
    --------
    >>> with LiveWindow("camera") as window:  # doctest: +SKIP
    ...     window.show(frame.image)
    """

    def __init__(self, title: str) -> None:
        self.title = title
        _require_screen()

    def __enter__(self) -> Self:
        return self

    def show(self, image: NDArray[np.uint8], caption: str = "") -> bool:
        """Show an RGB picture with a caption; False once the user has pressed q or Esc, or closed the window."""
        cv2 = opencv()
        shown = swap_red_and_blue(image)
        for colour, thickness in (((0, 0, 0), 4), ((255, 255, 255), 1)):  # legible on any ground
            cv2.putText(shown, caption, (8, 24), cv2.FONT_HERSHEY_SIMPLEX, 0.6, colour, thickness)
        cv2.imshow(self.title, shown)
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
