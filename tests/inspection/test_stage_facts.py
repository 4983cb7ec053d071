"""Bounds of what stages can sum up: no window leaves them, and some reach them."""

from __future__ import annotations

import itertools

import builders
import naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from model_files import lbp_cascade

from vjcascade.inspection.stage_facts import leaf_ranges, stage_facts
from vjcascade.types import FeatureType


@given(st.integers(0, 10**6), st.sampled_from(list(FeatureType)), st.floats(0, 1))
@settings(max_examples=20, deadline=None)
def test_no_sum_leaves_the_bounds(seed, kind, tree_share):
    rng = np.random.default_rng(seed)
    cascade = builders.random_cascade(rng, kind=kind, tree_share=tree_share, tilted_share=0.3)
    facts = stage_facts(cascade)
    for _ in range(3):
        sums = naive.stage_sums(cascade, builders.smooth_noise(rng, 10, 12))
        for one, total in zip(facts, sums, strict=True):
            assert one.lowest <= total <= one.highest


def test_bounds_are_reached_by_the_right_leaves(rng):
    cascade = builders.random_cascade(rng, stages=(3,))
    (facts,) = stage_facts(cascade)
    leaves = cascade.leaves.reshape(3, 2).astype(float)
    sums = [sum(votes) for votes in itertools.product(*leaves)]
    assert (facts.lowest, facts.highest) == pytest.approx((min(sums), max(sums)))


def test_counts(rng):
    cascade = builders.random_cascade(rng, stages=(4, 7), tree_share=0.5, tilted_share=0.5)
    for s, facts in enumerate(stage_facts(cascade)):
        begin, end = cascade.stage_starts[s : s + 2]
        nodes = cascade.nodes[cascade.tree_starts[begin] : cascade.tree_starts[end]]
        used = {cascade.features[i].tobytes(): cascade.features[i]["tilted"] for i in nodes["feature"]}
        assert (facts.stage, facts.n_weak, facts.n_nodes) == (s + 1, end - begin, len(nodes))
        assert (facts.n_features, facts.n_tilted) == (len(used), sum(used.values()))
        assert facts.threshold == cascade.stage_thresholds[s]


def test_leaves_that_no_node_leads_to_do_not_count():
    cascade = lbp_cascade()
    least, greatest = leaf_ranges(cascade)
    assert least.tolist() == [-1.0, -3.0]
    assert greatest.tolist() == [0.5, 2.0]
    nodes = cascade.nodes.copy()
    nodes["right"][2] = -1  # instead of the third leaf, -3
    from dataclasses import replace

    least, greatest = leaf_ranges(replace(cascade, nodes=nodes))
    assert least.tolist() == [-1.0, np.float32(1e-30)]
