"""Steadier detections in video: the raw windows of the last frames are grouped together."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from vjcascade.checks import checked_whole
from vjcascade.detection.checks import only
from vjcascade.detection.dense import DenseDetector
from vjcascade.detection.grouping import Grouping, Tell
from vjcascade.errors import SettingsError
from vjcascade.types import Detections

MAX_FRAMES = 1000
"""Most frames remembered, so that memory stays bounded; half a minute of video."""


class DetectionMemory:
    """A detector that remembers the raw windows of the last frames of one video.

    Windows of all remembered frames are grouped together, and a detection needs as many times `min_neighbors` as there
    are remembered frames: detections in a single frame are dropped, and an object missed in one frame stays. A memory
    belongs to one video and one thread; the detector may be shared.

    Parameters
    ----------
    n_frames : int
        Frames to remember, including the current one; at least 1, which is no memory, and at most
        `MAX_FRAMES`.
    detector : DenseDetector
        Finds windows and groups them.

    Raises
    ------
    SettingsError
        If `n_frames` is no such number, or the detector is of another kind or does not group windows.

    References
    ----------
    .. [1] N. Markus et al., pico.js, `instantiate_detection_memory`: https://github.com/nenadmarkus/picojs

    Examples
    --------
    >>> import numpy as np
    >>> from vjcascade import Cascade, Size
    >>> detector = DenseDetector(Cascade(Size(24, 24)), min_neighbors=0)
    >>> memory = DetectionMemory(3, detector)
    >>> picture = np.random.default_rng(1).integers(0, 256, (24, 24), np.uint8)
    >>> [memory.detect(frame).neighbors.tolist() for frame in (picture, picture, np.zeros_like(picture))]
    [[1], [2], [2]]
    """

    def __init__(self, n_frames: int, detector: DenseDetector) -> None:
        self.n_frames = checked_whole("n_frames", n_frames, ge=1, le=MAX_FRAMES, hint="1 remembers nothing")
        if not isinstance(detector, DenseDetector):
            raise SettingsError(f"a memory of frames needs a DenseDetector, not a {type(detector).__name__}")
        if detector.group == Grouping.NONE:
            raise SettingsError('a memory of frames groups their windows; choose another group than "none"')
        self.detector = detector
        self._frames: deque[list[Detections]] = deque(maxlen=self.n_frames)
        self._shape: tuple[int, ...] = ()

    def detect(
        self,
        frame: NDArray[Any],
        *,
        region: Sequence[int] | None = None,
        mask: NDArray[Any] | None = None,
        progress: Tell | None = None,
    ) -> Detections:
        """Find the object in the next frame.

        Parameters
        ----------
        frame : ndarray
            A picture, as for `DenseDetector.detect`. If its size differs from the last one's, the memory
            is cleared.
        region : sequence of int, optional
            `x, y, w, h` in pixels: search only there; it may change from frame to frame.
        mask : ndarray of shape (h, w), dtype bool or uint8, optional
            For each pixel of the frame whether windows may have their centre there.
        progress : callable, optional
            As for `DenseDetector.detect`.

        Returns
        -------
        Detections
            Groups, best first; `neighbors` counts the windows of all remembered frames.

        Raises
        ------
        ValueError or TypeError
            As `DenseDetector.detect`.
        """
        only(self.detector.scanners)
        return only(self.detect_each(frame, region=region, mask=mask, progress=progress))

    def detect_each(
        self,
        frame: NDArray[Any],
        *,
        region: Sequence[int] | None = None,
        mask: NDArray[Any] | None = None,
        progress: Tell | None = None,
    ) -> list[Detections]:
        """Find what each cascade looks for in the next frame.

        Parameters
        ----------
        frame : ndarray
            As for `detect`.
        region : sequence of int, optional
            As for `detect`.
        mask : ndarray of shape (h, w), dtype bool or uint8, optional
            As for `detect`.
        progress : callable, optional
            As for `DenseDetector.detect_each`.

        Returns
        -------
        list of Detections
            In the order of the cascades.

        Raises
        ------
        ValueError or TypeError
            As `DenseDetector.detect`.
        """
        raw = self.detector.raw_windows(frame, region=region, mask=mask)
        if frame.shape[:2] != self._shape:
            self.forget()
            self._shape = frame.shape[:2]
        self._frames.appendleft(raw)  # newest first: of equals, the newest window speaks for its group
        by_cascade = zip(*self._frames, strict=True)
        return [
            self.detector.grouped(Detections.joined(parts), len(self._frames), progress)
            for parts in by_cascade
        ]

    def forget(self) -> None:
        """Forget all frames, for example after a cut."""
        self._frames.clear()
