"""Detection in frames that a page sends, and saving of frames for labelling."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import numpy as np
from msgspec import Meta

from vjcascade.detection import Detector
from vjcascade.errors import ImageError, SettingsError
from vjcascade.evaluation import Candidate
from vjcascade.files import write_atomic
from vjcascade.imaging import image_size

MAX_SIDE = 2048
"""Pixels of a frame's longer side."""

KEPT_DETECTORS = 8
"""Detectors that are cached: moving a slider passes many settings, and comes back to few."""

Kind: TypeAlias = Literal["miss", "false-alarm"]

STARTS = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg"}
"""Magic numbers of the files that pages send, and their suffixes."""


class LiveSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A frame's size and the detector's settings for it.

    Attributes
    ----------
    width, height : int
        Of the frame.
    min_neighbors : int
        A detection needs more overlapping windows than this.
    min_score : float
        Minimum ranking score.
    min_size : int
        Minimum side of an object in pixels of the frame; 0 for no minimum.
    """

    width: Annotated[int, Meta(ge=1, le=MAX_SIDE)]
    height: Annotated[int, Meta(ge=1, le=MAX_SIDE)]
    min_neighbors: Annotated[int, Meta(ge=0, le=100)] = 3
    min_score: Annotated[float, Meta(ge=0, le=1e6)] = 0.0
    min_size: Annotated[int, Meta(ge=0, le=MAX_SIDE)] = 0


@dataclass(frozen=True)
class LiveFound:
    """The detections in a frame.

    Attributes
    ----------
    boxes : list of list of int
        `x, y, w, h` in pixels of the frame.
    scores : list of float
        Ranking scores.
    milliseconds : float
        Time of the detection.
    """

    boxes: list[list[int]]
    scores: list[float]
    milliseconds: float


class LiveDetector:
    """A model with settings that change from frame to frame.

    Parameters
    ----------
    candidate : Candidate
        The model.

    Examples
    --------
    >>> import vjcascade
    >>> from vjcascade.labelling.models import load_candidate
    >>> live = LiveDetector(load_candidate(vjcascade.compat.data.find("frontalface"), "faces"))
    >>> live.detect(bytes(60 * 40), LiveSettings(width=60, height=40)).boxes
    []
    """

    def __init__(self, candidate: Candidate) -> None:
        self._candidate = candidate
        self._detectors: OrderedDict[tuple[Any, ...], Detector] = OrderedDict()

    def detect(self, pixels: bytes, settings: LiveSettings) -> LiveFound:
        """Find the object in a frame.

        Parameters
        ----------
        pixels : bytes
            Grey levels, row by row.
        settings : LiveSettings
            Size of the frame, and settings of the detector.

        Returns
        -------
        LiveFound
            Boxes and scores.

        Raises
        ------
        SettingsError
            If there are more or fewer pixels than the frame has.
        """
        if len(pixels) != settings.width * settings.height:
            raise SettingsError(
                f"{len(pixels)} bytes do not fill a frame of {settings.width}x{settings.height} pixels: reload the page"
            )
        began = time.perf_counter()
        found = self._detector(settings).detect(
            np.frombuffer(pixels, np.uint8).reshape(settings.height, settings.width)
        )
        taken = 1000 * (time.perf_counter() - began)
        return LiveFound(found.boxes.tolist(), found.ranking_scores.round(2).tolist(), round(taken, 1))

    def _detector(self, settings: LiveSettings) -> Detector:
        key = settings.min_neighbors, settings.min_score, settings.min_size
        detector = self._detectors.pop(key, None)
        if detector is None:
            detector = Detector(
                self._candidate.cascade,
                scale_factor=self._candidate.detector.scale_factor,
                min_neighbors=settings.min_neighbors,
                min_ranking_score=settings.min_score,
                min_size=(settings.min_size,) * 2 if settings.min_size else None,
            )
        self._detectors[key] = detector
        while len(self._detectors) > KEPT_DETECTORS:
            self._detectors.popitem(last=False)
        return detector


def keep_frame(folder: Path, data: bytes, kind: Kind) -> Path:
    """Save a frame in a folder of photos.

    Parameters
    ----------
    folder : Path
        The folder.
    data : bytes
        A PNG or JPEG file.
    kind : str
        "miss" or "false-alarm"; a part of the file name.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ImageError
        If it is no valid PNG or JPEG file.
    OSError
        If it cannot be written.
    """
    suffix = next((suffix for start, suffix in STARTS.items() if data.startswith(start)), None)
    if suffix is None:
        raise ImageError("a frame must be a PNG or JPEG file, and this is neither")
    moment = time.strftime("%Y%m%d-%H%M%S")
    path = next(
        path
        for number in range(1, 10_000)
        if not (path := folder / f"live-{moment}-{number}-{kind}{suffix}").exists()
    )
    write_atomic(path, data)
    try:
        image_size(path)
    except ImageError:
        path.unlink()
        raise
    return path
