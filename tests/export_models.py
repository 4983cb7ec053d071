"""A model of every kind that exports must tell apart, and trials of them (`import export_models`)."""

from __future__ import annotations

from functools import cache

import builders
import numpy as np

from vjcascade.exports.trial import Trial
from vjcascade.types import FeatureType

KINDS = {
    "stump": {},
    "tree": {"tree_share": 0.6},
    "tilted": {"tilted_share": 0.5, "tree_share": 0.3},
    "lbp": {"kind": FeatureType.LBP, "tree_share": 0.4},
}


@cache
def model_of(kind):
    """Return a cascade of four stages and 49 weak classifiers, with an operating point."""
    cascade = builders.random_cascade(np.random.default_rng(7), stages=(5, 9, 15, 20), bar=0.0, **KINDS[kind])
    return cascade.with_metadata(
        {"operating_point": {"n_stages": 4, "scale_factor": 1.2, "min_neighbors": 2}}
    )


@cache
def trial_of(kind):
    """Return its trial on 2,500 windows."""
    return Trial.of(model_of(kind), 2_500)
