"""How many features a cascade evaluates: every window counted, and trees by their depth."""

from __future__ import annotations

import builders
import numpy as np
import pytest

from vjcascade.detection.scales import dense_levels
from vjcascade.detection.scanner import Scanner, evaluate_windows
from vjcascade.evaluation.features import count_passed, features_of_stages
from vjcascade.imaging import resize_exact
from vjcascade.types import FeatureType, Size


@pytest.mark.parametrize("kind", FeatureType)
@pytest.mark.parametrize("stride", [1, 2])
def test_every_window_is_counted_by_the_stages_that_it_passes(rng, kind, stride):
    cascade = builders.random_cascade(rng, kind=kind, tree_share=0.3)
    gray = builders.smooth_noise(rng, 30, 40)
    gray[:, 28:] = 128  # below the contrast floor
    expected, n_windows, (width, height) = np.zeros(4, int), 0, cascade.window
    for level in dense_levels(Size(40, 30), cascade.window, 1.3, stride, (Size(1, 1), Size(40, 30))):
        image = resize_exact(gray, level.size)
        crops = np.lib.stride_tricks.sliding_window_view(image, (height, width))[::stride, ::stride]
        passed, _ = evaluate_windows(cascade, crops.reshape(-1, height, width))
        expected += np.bincount(passed[passed >= 0], minlength=4)
        n_windows += len(passed)
    counts, n_looked_at = count_passed(Scanner(cascade), gray, 1.3, stride)
    assert counts.tolist() == expected.tolist()
    assert n_looked_at == n_windows
    assert kind is FeatureType.LBP or counts.sum() < n_windows
    assert (counts[:2] > 0).all()


def test_a_picture_smaller_than_the_window_has_none(rng):
    cascade = builders.random_cascade(rng)
    counts, n_looked_at = count_passed(Scanner(cascade), builders.smooth_noise(rng, 8, 40))
    assert (counts.tolist(), n_looked_at) == ([0, 0, 0, 0], 0)


def test_stumps_have_one_feature_each(rng):
    assert features_of_stages(builders.random_cascade(rng, stages=(3, 5))) == [3.0, 5.0]


def test_of_a_tree_the_mean_way_to_its_leaves_counts(rng):
    cascade = builders.random_cascade(rng, stages=(40,), tree_share=1.0)
    sizes = np.diff(cascade.tree_starts)
    # Two nodes in a row: leaves after 1, 2 and 2 features. Of three nodes, some are balanced, with 2 for each leaf.
    assert set(sizes.tolist()) == {2, 3}
    least = {2: 5 / 3, 3: 2.0}
    most = {2: 5 / 3, 3: 9 / 4}
    (told,) = features_of_stages(cascade)
    assert sum(least[n] for n in sizes.tolist()) <= told <= sum(most[n] for n in sizes.tolist())
