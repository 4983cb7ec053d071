"""The operating point of a model: how much of it is used, and with which settings of the detector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Annotated, Any, Self, Unpack

from msgspec import Meta

from vjcascade.cascade import OPERATING_POINT, Cascade
from vjcascade.checks import check_fields, checked_whole
from vjcascade.detection.checks import checked_size
from vjcascade.detection.detector import Detector, DetectorSettings
from vjcascade.errors import ModelError, SettingsError
from vjcascade.messages import pluralize
from vjcascade.types import Size

MAX_SIDE = 1_000_000
"""Largest side of an object, in pixels; what a file says beyond it is a fault."""


@dataclass(frozen=True, kw_only=True)
class OperatingPoint:
    """How a model is used: its stages and thresholds, and the settings of the detector.

    Values are checked, as they may come from a file that anybody wrote.

    Attributes
    ----------
    n_stages : int
        First stages that are used.
    threshold_shift : float
        Added to the threshold of the last of these. A model in whose metadata it stands has it already.
    min_neighbors, min_ranking_score, scale_factor, min_size
        As for `vjcascade.Detector`.

    Raises
    ------
    SettingsError
        If a value is out of range.

    Examples
    --------
    >>> point = OperatingPoint(n_stages=12, min_neighbors=2, min_ranking_score=1.5)
    >>> point.settings["min_neighbors"], point.as_dict()["n_stages"]
    (2, 12)
    """

    n_stages: Annotated[int, Meta(ge=1, le=10_000)]
    threshold_shift: Annotated[float, Meta(ge=-1e6, le=1e6)] = 0.0
    min_neighbors: Annotated[int, Meta(ge=0, le=10_000)] = 3
    min_ranking_score: Annotated[float, Meta(ge=0, le=1e9)] = 0.0
    scale_factor: Annotated[float, Meta(ge=1.001, le=100)] = 1.1
    min_size: Size | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        size = checked_size("min_size", self.min_size)
        if size is not None:
            checked_whole("sides of min_size", max(size), ge=1, le=MAX_SIDE)
        object.__setattr__(self, "min_size", size)

    @classmethod
    def of(cls, cascade: Cascade) -> Self | None:
        """Return the operating point in a model's metadata; None if there is none.

        Raises
        ------
        ModelError
            If it is damaged, a value is out of range, or it is of more stages than the model has; also if it is of
            fewer and shifts a threshold, since then the model is not the one that was tuned.
        """
        values = cascade.metadata.get(OPERATING_POINT)
        if values is None:
            return None
        try:
            point = cls(**values)
        except (TypeError, SettingsError) as error:
            raise ModelError(f"the operating point in the model's metadata is damaged: {error}") from None
        if point.n_stages > cascade.n_stages or (
            point.n_stages < cascade.n_stages and point.threshold_shift != 0
        ):
            raise ModelError(
                f"the operating point in the model's metadata is of {point.n_stages} stages, and the model has "
                f"{cascade.n_stages}: tune it again"
            )
        return point

    def used_part(self, cascade: Cascade) -> Cascade:
        """Return the first stages of a model in whose metadata the point stands: those to detect with.

        Examples
        --------
        >>> import vjcascade
        >>> OperatingPoint(n_stages=1).used_part(Cascade.load(vjcascade.compat.data.find("frontalface"))).n_stages
        1
        """
        return cascade.first_stages(self.n_stages)

    def changed(self, cascade: Cascade) -> Cascade:
        """Return a model cut to the stages of this point and with its threshold.

        Parameters
        ----------
        cascade : Cascade
            The whole model, as it was tuned.

        Returns
        -------
        Cascade
            Without the point in its metadata; see `applied`.

        Raises
        ------
        SettingsError
            If the model has fewer stages.
        """
        return cascade.first_stages(self.n_stages).with_shifted_thresholds(self.threshold_shift, 1)

    def applied(self, cascade: Cascade, record: Mapping[str, Any] | None = None) -> Cascade:
        """Return the model of this point, which any program detects with, and keep the point in its metadata.

        Parameters
        ----------
        cascade : Cascade
            The whole model, as it was tuned.
        record : mapping, optional
            How the point was found, as plain JSON values.

        Returns
        -------
        Cascade
            Without features that are no longer used.

        Raises
        ------
        SettingsError
            If the model has fewer stages.
        """
        changed = self.changed(cascade).without_unused_features()
        added = {OPERATING_POINT: self.as_dict()} | ({"tuning": dict(record)} if record else {})
        return changed.with_metadata({**changed.metadata, **added})

    @property
    def settings(self) -> dict[str, Any]:
        """The detector's settings, as in ``Detector(cascade, **point.settings)``."""
        names = ("scale_factor", "min_neighbors", "min_ranking_score", "min_size")
        return {name: getattr(self, name) for name in names}

    def detector(self, cascade: Cascade, **settings: Unpack[DetectorSettings]) -> Detector:
        """Return a detector of a tuned model with the stages and the settings of this point.

        Parameters
        ----------
        cascade : Cascade
            In whose metadata the point stands.
        **settings
            Of `Detector`, in place of those of the point.

        Returns
        -------
        Detector
            Of the first `n_stages`.

        Examples
        --------
        >>> import vjcascade
        >>> cascade = Cascade.load(vjcascade.compat.data.find("frontalface"))
        >>> detector = OperatingPoint(n_stages=1, min_neighbors=5).detector(cascade)
        >>> detector.min_neighbors, detector.cascades[0].n_stages
        (5, 1)
        """
        return Detector(self.used_part(cascade), **{**self.settings, **settings})

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values, which the constructor accepts."""
        return {**asdict(self), "min_size": list(self.min_size) if self.min_size else None}

    def __str__(self) -> str:
        size = f"objects of at least {self.min_size} pixels" if self.min_size else "objects of any size"
        return (
            f"scale factor {self.scale_factor:g}, more than {pluralize(self.min_neighbors, 'neighbor')}, "
            f"ranking score at least {self.min_ranking_score:g}, {size}"
        )


def load_detector(model: str | PathLike[str], **settings: Unpack[DetectorSettings]) -> Detector:
    """Return the detector that `vjcascade detect` uses: with the stages and settings that the model was tuned to.

    `Cascade.detect` and OpenCV know nothing of them: they use all stages, and default settings.

    Parameters
    ----------
    model : path
        Cascade file.
    **settings
        Of `Detector`, in place of those that `vjcascade tune`, or training with labelled scenes, kept in the model.

    Returns
    -------
    Detector
        With default settings if the model was not tuned.

    Raises
    ------
    ModelNotFoundError
        If there is no such file.
    ModelError
        If it is damaged, or what it keeps of tuning is.
    SettingsError
        If a setting is out of range.

    Examples
    --------
    >>> import vjcascade
    >>> detector = load_detector(vjcascade.compat.data.find("frontalface"), min_neighbors=5)
    >>> detector.min_neighbors, detector.scale_factor
    (5, 1.1)
    """
    cascade = Cascade.load(model)
    point = OperatingPoint.of(cascade)
    return Detector(cascade, **settings) if point is None else point.detector(cascade, **settings)
