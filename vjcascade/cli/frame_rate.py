"""Frames per second."""

from __future__ import annotations

import time
from collections import deque

RECENT = 30
"""Frames that tell the rate now."""


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
