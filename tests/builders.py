"""Small cascades and pictures for tests (`import builders`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vjcascade.cascade import LBP_NODE_DTYPE, NODE_DTYPE, Cascade, Stage
from vjcascade.types import FEATURE_DTYPE, LBP_DTYPE, FeatureType, Size


def picture(name):
    """Return a picture from the scikit-image wheel as grey uint8."""
    import skimage
    from PIL import Image

    with Image.open(Path(skimage.__file__).parent / "data" / name) as image:
        return np.asarray(image.convert("L")).copy()


def smooth_noise(rng, height, width, coarseness=4):
    """Return a grey picture with structure at several scales, above the contrast floor nearly everywhere."""
    total = np.zeros((height, width))
    for block in (1, coarseness, 3 * coarseness):
        cells = rng.normal(0, 30, (height // block + 2, width // block + 2))
        total += np.kron(cells, np.ones((block, block)))[:height, :width]
    return np.clip(128 + total, 0, 255).astype(np.uint8)


def checkerboard(height, width, amplitude):
    """Return 1-pixel squares of 128 - amplitude and 128 + amplitude."""
    sign = (np.indices((height, width)).sum(axis=0) % 2) * 2 - 1
    return (128 + amplitude * sign).astype(np.uint8)


def random_features(rng, n, window, *, tilted_share=0.0, third_share=0.5):
    """Return features with random rectangles inside the window."""
    features = np.zeros(n, FEATURE_DTYPE)
    for feature in features:
        feature["tilted"] = rng.random() < tilted_share
        n_rects = 3 if rng.random() < third_share else 2
        for i in range(n_rects):
            feature["rects"][i] = random_rect(rng, window, tilted=feature["tilted"])
        areas = feature["rects"][:n_rects, 2] * feature["rects"][:n_rects, 3]
        feature["weights"][0] = -1  # balanced, so that brightness does not decide
        feature["weights"][1:n_rects] = areas[0] / areas[1:] / (n_rects - 1)
    return features


def random_rect(rng, window, *, tilted):
    """Return one rectangle x, y, w, h that lies inside the window."""
    while True:
        w, h = rng.integers(1, [window.width + 1, window.height + 1])
        x, y = rng.integers(0, [window.width, window.height])
        left, bottom = (x - h, y + w + h) if tilted else (x, y + h)
        if left >= 0 and x + w <= window.width and bottom <= window.height:
            return x, y, w, h


def random_cells(rng, n, window):
    """Return LBP features inside the window."""
    features = np.zeros(n, LBP_DTYPE)
    for feature in features:
        w, h = rng.integers(1, [window.width // 3 + 1, window.height // 3 + 1])
        x, y = rng.integers(0, [window.width - 3 * w + 1, window.height - 3 * h + 1])
        feature["cell"] = x, y, w, h
    return features


def random_cascade(
    rng, window=None, stages=(3, 4, 5), *, kind=FeatureType.HAAR, tilted_share=0.0, tree_share=0.0, bar=-0.3
):
    """Return a cascade of stumps and small trees; more than half of noise passes each stage if `bar` < 0."""
    window = window or Size(12, 10)
    is_lbp = kind is FeatureType.LBP
    if is_lbp:
        features = random_cells(rng, sum(stages) * 3, window)
    else:
        features = random_features(rng, sum(stages) * 3, window, tilted_share=tilted_share)
    nodes, tree_starts, leaves, stage_starts, thresholds = [], [0], [], [0], []
    for n_trees in stages:
        for _ in range(n_trees):
            shape = TREES[rng.integers(1, len(TREES))] if rng.random() < tree_share else TREES[0]
            for sides in shape:
                feature = rng.integers(len(features))
                test = rng.integers(0, 2**32, 8, np.uint32) if is_lbp else rng.normal(0, 0.05)
                nodes.append((feature, test, *sides))
            tree_starts.append(len(nodes))
            votes = rng.normal(0, 1, len(shape) + 1)
            leaves += list(votes - votes.mean())
        stage_starts.append(len(tree_starts) - 1)
        thresholds.append(np.sqrt(n_trees) * bar)
    return Cascade(
        window,
        features,
        np.array(nodes, LBP_NODE_DTYPE if is_lbp else NODE_DTYPE),
        np.array(tree_starts, np.int32),
        np.array(leaves, np.float32),
        np.array(stage_starts, np.int32),
        np.array(thresholds, np.float32),
    )


TREES = (
    ((0, -1),),
    ((0, 1), (-1, -2)),
    ((1, 2), (0, -1), (-2, -3)),
    ((2, 1), (-3, 2), (-1, -2)),
)
"""Left and right children of the nodes of each tree: a stump, and trees of two and three nodes."""


def accept_all(window=None, n_stages=2):
    """Return a cascade that every window above the contrast floor passes."""
    window = window or Size(24, 24)
    feature = np.zeros(1, FEATURE_DTYPE)
    feature["rects"][0, :2] = [(0, 0, 2, 2), (0, 0, 1, 2)]
    feature["weights"][0, :2] = [-1, 2]
    stage = Stage(feature, np.zeros(1, np.float32), np.array([[1, 2]], np.float32), np.float32(0.5))
    cascade = Cascade(window)
    for _ in range(n_stages):
        cascade = cascade.with_stage(stage)
    return cascade
