"""Everything that is known of a model: its stages, what is odd, what it rejects in pictures, how it was trained."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vjcascade.cascade import Cascade
from vjcascade.features.families import family_of
from vjcascade.inspection.oddities import Oddity, oddities_in_scan, oddities_of
from vjcascade.inspection.stage_facts import StageFacts, nodes_of_stage, stage_facts

if TYPE_CHECKING:
    from vjcascade.inspection.picture_scan import PictureScan

FORMAT = 1
"""Of the JSON; raised when something in it changes its meaning."""


@dataclass(frozen=True, eq=False)
class Inspection:
    """A model as it was looked at.

    Attributes
    ----------
    name : str
        Of the model, for people.
    cascade : Cascade
        The model.
    stages : sequence of StageFacts
        One for each stage.
    oddities : sequence of Oddity
        The gravest first.
    scan : PictureScan or None
        None where no pictures were given.
    """

    name: str
    cascade: Cascade
    stages: Sequence[StageFacts]
    oddities: Sequence[Oddity]
    scan: PictureScan | None

    def as_json(self, opencv_settings: Mapping[str, str] | None = None) -> str:
        """Return all of it as JSON.

        Parameters
        ----------
        opencv_settings : mapping of str to str, optional
            What `opencv_traincascade` recorded in the file.

        Returns
        -------
        str
            Features, stages with all nodes and leaf values, oddities, pictures, and the record of training; places in
            the lists of features, nodes and leaves are counted from 0, as in files, stages from 1.
        """
        cascade, scan = self.cascade, self.scan
        values = {
            "format": FORMAT,
            "model": self.name,
            "window": list(cascade.window),
            "feature_type": cascade.feature_type.value,
            "n_stages": cascade.n_stages,
            "n_weak_classifiers": cascade.n_trees,
            "n_nodes": len(cascade.nodes),
            "n_features": len(cascade.features),
            "n_tilted": self.n_tilted,
            "oddities": [asdict(oddity) for oddity in self.oddities],
            "pictures": None if scan is None else _of_scan(scan),
            "stages": [self._of_stage(facts) for facts in self.stages],
            "features": _features(cascade),
            "record": dict(cascade.metadata),
            "opencv_settings": dict(opencv_settings or {}),
        }
        return json.dumps(values, allow_nan=False, indent=1) + "\n"

    @property
    def n_tilted(self) -> int:
        """Tilted features in the list."""
        features = self.cascade.features
        return int(features["tilted"].sum()) if family_of(features).has_tilted(features) else 0

    def _of_stage(self, facts: StageFacts) -> dict[str, Any]:
        values = asdict(facts)
        if self.scan is not None:
            costs, s = self.scan.costs, facts.stage - 1
            rejected = float(costs.rejected[s])
            values["on_pictures"] = {
                "n_reached": int(costs.n_reached[s]),
                "n_passed": int(costs.n_passed[s]),
                "rejected": None if math.isnan(rejected) else rejected,
                "mean_features": float(costs.n_features[s]),
                "features_of_any_window": float(costs.features_of_any_window[s]),
            }
        return {**values, "weak_classifiers": _weak_classifiers(self.cascade, facts.stage - 1)}


def inspect_model(name: str, cascade: Cascade, scan: PictureScan | None = None) -> Inspection:
    """Look at a model.

    Parameters
    ----------
    name : str
        Of the model, for people.
    cascade : Cascade
        The model.
    scan : PictureScan, optional
        What it does to the windows of pictures.

    Returns
    -------
    Inspection
        All that is known of it.

    Examples
    --------
    >>> from vjcascade.types import Size
    >>> inspect_model("empty", Cascade(Size(24, 24))).oddities[0].sentence
    'The model has no stages: it accepts every window with contrast.'
    """
    facts = stage_facts(cascade)
    found = oddities_of(cascade, facts) + ([] if scan is None else oddities_in_scan(scan.costs))
    return Inspection(name, cascade, facts, found, scan)


def _of_scan(scan: PictureScan) -> dict[str, Any]:
    return {
        "n_found": scan.n_found,
        "n_scanned": scan.costs.n_pictures,
        "n_windows": scan.costs.n_windows,
        "share_of_rows": scan.share,
        "seed": scan.seed,
        "mean_features": scan.costs.mean_features,
    }


def _weak_classifiers(cascade: Cascade, stage: int) -> list[dict[str, Any]]:
    begin, end = cascade.stage_starts[stage : stage + 2].tolist()
    of_stage = nodes_of_stage(cascade, stage)
    names = cascade.nodes.dtype.names or ()
    rows = zip(*(_numbers(cascade.nodes[name][of_stage]) for name in names), strict=True)
    nodes = [dict(zip(names, row, strict=True)) for row in rows]
    leaves = _numbers(cascade.leaves[of_stage.start + begin : of_stage.stop + end])
    found = []
    for number, tree in enumerate(range(begin, end)):
        first, last = (cascade.tree_starts[tree : tree + 2] - of_stage.start).tolist()
        found.append({"nodes": nodes[first:last], "leaves": leaves[first + number : last + number + 1]})
    return found


def _features(cascade: Cascade) -> list[dict[str, Any]]:
    names = cascade.features.dtype.names or ()
    rows = zip(*(_numbers(cascade.features[name]) for name in names), strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


def _numbers(array: np.ndarray[Any, Any]) -> list[Any]:
    """Return an array as lists; of numbers in float32, those of the fewest digits that are the same in float32."""
    if array.dtype == np.float32:
        array = array.astype(str).astype(np.float64)
    listed: list[Any] = array.tolist()
    return listed
