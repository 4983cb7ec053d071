"""All of a model as JSON: what is in it can be read back."""

from __future__ import annotations

import json

import builders
import numpy as np
import pytest

from vjcascade.imaging import write_image
from vjcascade.inspection import inspect_model, scan_pictures
from vjcascade.types import FeatureType


@pytest.mark.parametrize("kind", FeatureType)
def test_json_holds_the_whole_model(rng, kind):
    cascade = builders.random_cascade(rng, kind=kind, tree_share=0.5, tilted_share=0.3)
    cascade = cascade.with_metadata({"data": {"positives": "Ä\x1b"}})
    told = json.loads(inspect_model("m.xml", cascade).as_json({"boostType": "GAB"}))
    weak = [one for stage in told["stages"] for one in stage["weak_classifiers"]]
    leaves = np.concatenate([one["leaves"] for one in weak]).astype(np.float32)
    assert np.array_equal(leaves, cascade.leaves)
    nodes = [tuple(node.values()) for one in weak for node in one["nodes"]]
    assert np.array_equal(np.array(nodes, cascade.nodes.dtype), cascade.nodes)
    features = [tuple(one.values()) for one in told["features"]]
    assert np.array_equal(np.array(features, cascade.features.dtype), cascade.features)
    assert [len(one["nodes"]) for one in weak] == np.diff(cascade.tree_starts).tolist()
    assert [one["threshold"] for one in told["stages"]] == cascade.stage_thresholds.tolist()
    assert told["record"] == cascade.metadata
    assert told["opencv_settings"] == {"boostType": "GAB"}
    assert told["pictures"] is None
    assert told["n_tilted"] == (cascade.features["tilted"].sum() if kind is FeatureType.HAAR else 0)


def test_json_holds_what_pictures_say(rng, tmp_path):
    write_image(tmp_path / "a.png", builders.smooth_noise(rng, 30, 40))
    cascade = builders.random_cascade(rng, bar=1e6)
    scan = scan_pictures(cascade, [tmp_path / "a.png"])
    told = json.loads(inspect_model("m.xml", cascade, scan).as_json())
    assert told["pictures"]["n_windows"] == scan.costs.n_windows
    first, second, _ = (one["on_pictures"] for one in told["stages"])
    assert (first["rejected"], second["rejected"], second["n_reached"]) == (1.0, None, 0)
    assert told["pictures"]["mean_features"] == pytest.approx(first["features_of_any_window"])
