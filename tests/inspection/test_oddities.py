"""Each kind of oddity is found where it was put, and nothing in a model without."""

from __future__ import annotations

from dataclasses import replace

import builders
import numpy as np
import pytest
from model_files import lbp_cascade

from vjcascade.cascade import Cascade
from vjcascade.evaluation.scan_costs import ScanCosts
from vjcascade.inspection.oddities import oddities_in_scan, oddities_of
from vjcascade.inspection.stage_facts import stage_facts
from vjcascade.types import Size

WINDOW = Size(20, 18)


@pytest.fixture
def plain(rng):
    """Return a model without oddities: stages of 3, 4 and 5 stumps, each over a feature of its own."""
    features = np.concatenate([builders.random_features(rng, 1, WINDOW) for _ in range(40)])
    features = features[np.unique([one.tobytes() for one in features], return_index=True)[1]][:12]
    cascade = builders.random_cascade(rng, WINDOW)
    nodes = cascade.nodes.copy()
    nodes["feature"], nodes["threshold"] = np.arange(12), 0
    return replace(cascade, features=features, nodes=nodes)


def found(cascade):
    return {oddity.kind: oddity for oddity in oddities_of(cascade, stage_facts(cascade))}


def changed(cascade, name, **values):
    """Return a model with some entries of an array, given by index in words such as at_3, changed."""
    array = getattr(cascade, name).copy()
    for place, value in values.items():
        array[int(place.removeprefix("at_"))] = value
    return replace(cascade, **{name: array})


def test_a_model_without_oddities(plain):
    assert found(plain) == {}


def test_a_model_without_stages():
    (oddity,) = found(Cascade(WINDOW)).values()
    assert (oddity.kind, oddity.where) == ("no stages", ())


def test_stages_that_no_window_can_miss_or_pass(plain):
    facts = stage_facts(plain)
    low, high = facts[1].lowest, facts[2].highest
    odd = found(changed(plain, "stage_thresholds", at_1=low - 0.1, at_2=high + 0.1))
    assert set(odd) == {"never missed", "never passed"}
    assert odd["never missed"].where == ((2,),)
    assert (
        f"the lowest sum of leaf values of stage 2 is {low:.4g}, its threshold {low - 0.1:.4g}"
        in odd["never missed"].sentence
    )
    assert odd["never passed"].where == ((3,),)
    assert found(changed(plain, "stage_thresholds", at_1=low + 0.1, at_2=high - 0.1)) == {}


def test_a_sum_at_the_threshold_passes(plain):
    exact = np.float32(stage_facts(plain)[0].lowest)
    assert set(found(changed(plain, "stage_thresholds", at_0=exact))) == {"never missed"}


def test_equal_leaves(plain):
    odd = found(changed(plain, "leaves", at_8=0.25, at_9=0.25))  # of the fifth stump, the second of stage 2
    assert {kind: oddity.where for kind, oddity in odd.items()} == {"equal leaves": ((2, 2),)}
    assert odd["equal leaves"].sentence.endswith("decide nothing: 1 (number 2 of stage 2).")


def test_thresholds_that_never_matter(plain):
    features = plain.features.copy()
    features["rects"][4, :2], features["weights"][4] = [(2, 2, 4, 4), (2, 2, 2, 4)], [-1, 2, 0]
    features["rects"][4, 2] = 0
    odd = found(changed(replace(plain, features=features), "nodes", at_4=(4, 3.0, 0, -1)))
    assert odd["threshold that never matters"].where == ((2, 2),)
    assert found(lbp_cascade())["subset that never matters"].where == ((2, 1),)


def test_tests_and_features_used_twice(plain):
    nodes = plain.nodes
    same_stage = changed(plain, "nodes", at_8=(nodes["feature"][7], 0.01, 0, -1))
    odd = found(same_stage)
    assert odd["feature used twice"].where == ((3, 2),)
    assert odd["unused feature"].where == ((8,),)
    assert odd["unused feature"].sentence.endswith(": 1 of 12.")
    assert "repeated test" not in odd
    assert found(changed(plain, "nodes", at_8=nodes[7]))["repeated test"].where == ((3, 2),)
    other_stage = changed(plain, "nodes", at_8=nodes[0])
    assert set(found(other_stage)) == {"unused feature"}


def test_features_are_told_by_what_they_are_not_by_their_place(plain):
    odd = found(changed(plain, "features", at_8=plain.features[7]))
    assert odd["feature listed twice"].where == ((8,),)
    assert odd["feature used twice"].where == odd["repeated test"].where == ((3, 2),)


def test_repeated_stages(plain):
    stage_of = builders.accept_all(n_stages=3)
    assert found(stage_of)["repeated stage"].where == ((2,), (3,))
    assert "stage 2 is stage 1 again" in found(stage_of)["repeated stage"].sentence
    assert "repeated stage" not in found(stage_of.with_shifted_thresholds(-1, 1).first_stages(1))


def test_unbalanced_and_few_tilted_features(plain, rng):
    features = plain.features.copy()
    features["weights"][3, 1] *= 2
    assert found(replace(plain, features=features))["follows brightness"].where == ((3,),)
    for n_tilted, is_odd in ((1, True), (3, False), (0, False)):
        cascade = builders.random_cascade(rng, WINDOW, stages=(40,))
        features = builders.random_features(rng, 40, WINDOW)
        features[:n_tilted] = builders.random_features(rng, n_tilted, WINDOW, tilted_share=1)
        nodes = cascade.nodes.copy()
        nodes["feature"] = np.arange(40)
        assert ("few tilted features" in found(replace(cascade, features=features, nodes=nodes))) == is_odd


@pytest.mark.parametrize(
    ("window", "stages", "kinds"),
    [
        (Size(8, 20), (3, 3), {"small window"}),
        (Size(20, 70), (3, 3), {"large window"}),
        (WINDOW, (3, 9, 4), {"fewer weak classifiers"}),
        (WINDOW, (21, 30), {"costly first stage"}),
    ],
)
def test_sizes(rng, window, stages, kinds):
    every = {"small window", "large window", "fewer weak classifiers", "costly first stage"}
    assert every & set(found(builders.random_cascade(rng, window, stages=stages))) == kinds


def test_stages_that_reject_little_on_pictures():
    n_reached, n_passed = np.array([9000, 8500, 8500, 4000, 900]), np.array([8500, 8500, 4000, 900, 900])
    idle, weak = oddities_in_scan(ScanCosts(1, 9999, n_reached, n_passed, np.ones(5)))
    assert (idle.kind, idle.where) == ("idle stage", ((2,),))  # the last one is reached by too few to say
    assert "none of the windows that reached them: 2 (8,500 reached stage 2)" in idle.sentence
    assert (weak.kind, weak.where) == ("weak stage", ((1,),))
    assert "5.6% at stage 1" in weak.sentence
    assert oddities_in_scan(ScanCosts(0, 0, np.zeros(5, int), np.zeros(5, int), np.ones(5))) == []


def test_long_lists_are_cut_in_sentences_only():
    odd = found(builders.accept_all(n_stages=9))["never missed"]
    assert "1, 2, 3, 4, 5 and 4 more" in odd.sentence
    assert len(odd.where) == 9
