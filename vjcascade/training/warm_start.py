"""A model that training goes on from: stages are added to it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import msgspec

from vjcascade.cascade import CHANGES, OPERATING_POINT, Cascade
from vjcascade.errors import ModelError, SettingsError
from vjcascade.formats.cascade_files import dump_cascade
from vjcascade.training.events import StageRecord
from vjcascade.training.records import read_records
from vjcascade.types import FeatureType

_KEPT = ("settings", "data", "continued", CHANGES)
"""What the metadata of a continued model keeps of the one before."""


@dataclass(frozen=True, eq=False)
class BaseModel:
    """A model to add stages to.

    Attributes
    ----------
    cascade : Cascade
        Its stages, without metadata.
    records : list of StageRecord
        Of its last stages: all, or none if others trained it.
    origin : mapping
        Where it comes from, as plain JSON values: name and digest of the model, its stages, those of them without a
        record, those that `vjcascade detect` used if not all, and how it was trained, as far as it says.
    """

    cascade: Cascade
    records: list[StageRecord]
    origin: Mapping[str, Any]

    @classmethod
    def load(cls, path: Path, features: FeatureType) -> Self:
        """Read a model, trained here or by others.

        Parameters
        ----------
        path : Path
            Any cascade that `Cascade.load` reads.
        features : FeatureType
            Of the stages to add.

        Returns
        -------
        BaseModel
            At least one stage.

        Raises
        ------
        ModelError, ModelNotFoundError
            If it cannot be read.
        SettingsError
            If its features are of another type, or it has no stages.
        """
        cascade = Cascade.load(path)
        if cascade.feature_type is not features:
            raise SettingsError(
                f"{path} cannot be continued: its features are {cascade.feature_type}, not {features}; set features to "
                f"{cascade.feature_type.lower()} or give another model"
            )
        if cascade.n_stages == 0:
            raise SettingsError(f"{path} cannot be continued: it has no stage; train from the start")
        records = _known_records(cascade)
        origin = {
            "model": path.name,
            "model_sha256": hashlib.sha256(dump_cascade(cascade)).hexdigest(),
            "stages": cascade.n_stages,
            "without_record": cascade.n_stages - len(records),
            **_used_stages(cascade),
            "before": {name: cascade.metadata[name] for name in _KEPT if name in cascade.metadata},
        }
        return cls(cascade.with_metadata({}), records, origin)

    def tried_on(self, scenes_sha256: str | None) -> Self:
        """Return the model without what was found in other scenes than those of this fingerprint.

        Parameters
        ----------
        scenes_sha256 : str or None
            None for a run without scenes.

        Returns
        -------
        BaseModel
            Figures of different scenes cannot be compared.
        """
        data = self.origin["before"].get("data")
        if (
            scenes_sha256 is not None
            and isinstance(data, Mapping)
            and data.get("scenes_sha256") == scenes_sha256
        ):
            return self
        return replace(self, records=[msgspec.structs.replace(one, scenes=None) for one in self.records])


def _used_stages(cascade: Cascade) -> dict[str, int]:
    """Return how many stages the operating point of a model uses, if they are fewer than all."""
    if OPERATING_POINT not in cascade.metadata:
        return {}
    from vjcascade.evaluation.operating_point import OperatingPoint

    try:
        point = OperatingPoint.of(cascade)
    except ModelError:  # it says nothing of the stages, which are what is continued
        return {}
    return {"used_stages": point.n_stages} if point and point.n_stages < cascade.n_stages else {}


def _known_records(cascade: Cascade) -> list[StageRecord]:
    """Return the records of the last stages; none where they are not to be understood."""
    try:
        records = read_records(cascade.metadata)
    except (KeyError, TypeError, ValueError):
        return []
    first = cascade.n_stages - len(records) + 1
    return records if [one.stage for one in records] == list(range(first, cascade.n_stages + 1)) else []
