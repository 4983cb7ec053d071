"""The options of `vjcascade detect` that belong to dense detection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, Token

from vjcascade.cli.options import CountOption
from vjcascade.errors import SettingsError

if TYPE_CHECKING:
    from vjcascade.cascade import Cascade
    from vjcascade.cli.inputs import Input
    from vjcascade.cli.search import Detect


def _numbers(type_: Any, tokens: Sequence[Token]) -> tuple[float, ...]:
    del type_
    text = tokens[0].value
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SettingsError(f"angles {text!r} are not numbers with commas between, as -20,0,20") from None


def _box(type_: Any, tokens: Sequence[Token]) -> tuple[int, ...]:
    del type_
    text = tokens[0].value
    try:
        box = tuple(int(part) for part in text.split(","))
    except ValueError:
        box = ()
    if len(box) != 4:
        raise SettingsError(f"region {text!r} is not X,Y,WIDTH,HEIGHT in pixels, as 0,100,640,380")
    return box


@dataclass(frozen=True)
class DenseOptions:
    """Options of dense detection.

    Attributes
    ----------
    stride : int
        With --dense: pixels from one window to the next, at every scale; 1 if not given.
    antialias : bool
        With --dense: downsample by area averaging, as for training crops.
    group : str
        With --dense: how to merge overlapping windows: average, weighted (by score), nms or none.
    overlap : float
        With --dense --group nms: largest overlap of two detections, 0 to 1; 0.3 if not given.
    angles : sequence of float
        With --dense: rotations of the object in degrees counter-clockwise, for example -20,0,20.
    region : sequence of int
        With --dense: search only this region, X,Y,WIDTH,HEIGHT in pixels.
    mask : path
        With --dense: a picture of the same size, bright where the centre of the object may be.
    near_misses : int
        With --dense: also count windows that only the last N stages reject; their scores are negative.
    memory : int
        With --dense: group the windows of N frames of a video together.
    """

    stride: CountOption | None = None
    antialias: Annotated[bool | None, Parameter(negative="", show_default=False)] = None
    group: str | None = None
    overlap: float | None = None
    angles: (
        Annotated[
            tuple[float, ...],
            Parameter(
                converter=_numbers, n_tokens=1, accepts_keys=False, negative="", allow_leading_hyphen=True
            ),
        ]
        | None
    ) = None
    region: (
        Annotated[
            tuple[int, ...],
            Parameter(converter=_box, n_tokens=1, accepts_keys=False, negative="", allow_leading_hyphen=True),
        ]
        | None
    ) = None
    mask: Path | None = None
    near_misses: CountOption | None = None
    memory: CountOption | None = None

    def given(self) -> dict[str, Any]:
        """Return the options that are given, by name."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in values if value is not None}


def refuse_without_dense(options: DenseOptions) -> None:
    """Refuse options of dense detection where it is not asked for.

    Raises
    ------
    SettingsError
        If any is given.
    """
    for name in options.given():
        raise SettingsError(
            f"--{name.replace('_', '-')} is for dense detection, whose results differ from OpenCV's: add --dense"
        )


def refuse_still_pictures(inputs: Sequence[Input]) -> None:
    """Refuse pictures where frames of a video are to be remembered.

    Raises
    ------
    SettingsError
        If any input has no frames.
    """
    for source in inputs:
        if not source.is_moving:
            raise SettingsError(
                f"--memory groups the frames of a video together and {source.name} is not a video: give only videos, "
                "or leave --memory out"
            )


def dense_search(
    cascade: Cascade, options: DenseOptions, settings: Mapping[str, Any]
) -> Callable[[Input], Detect]:
    """Return `detect_in` of `Search` for dense detection.

    Parameters
    ----------
    cascade : Cascade
        What to look for.
    options : DenseOptions
        As given.
    settings : mapping
        Those settings of `DenseDetector` that `Detector` has, too.

    Returns
    -------
    callable
        `detect_in(input)` returns what finds the object in the shots of that input.

    Raises
    ------
    SettingsError
        If a setting is out of range.
    ImageError
        If the mask cannot be read.
    """
    from vjcascade.detection import DenseDetector, DetectionMemory
    from vjcascade.imaging import read_gray

    given = options.given()
    places = {"region": given.pop("region", None)}
    mask = given.pop("mask", None)
    places["mask"] = None if mask is None else read_gray(mask) >= 128
    n_frames = given.pop("memory", None)
    detector = DenseDetector(cascade, **settings, **given)
    if n_frames is None:
        return lambda _: partial(detector.detect, **places)
    DetectionMemory(n_frames, detector)  # refuses now what it would refuse later
    return lambda _: partial(DetectionMemory(n_frames, detector).detect, **places)
