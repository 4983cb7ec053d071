"""Folders as `opencv_traincascade` leaves them, written after its rules (`import opencv_runs`)."""

from __future__ import annotations

import builders
import naive
import numpy as np

from vjcascade.cascade import LBP_NODE_DTYPE, NODE_DTYPE, Cascade
from vjcascade.types import FEATURE_DTYPE, LBP_DTYPE, Size

SETTINGS = {
    "boostType": "GAB",
    "minHitRate": "9.9500000476837158e-01",
    "maxFalseAlarm": "5.0000000000000000e-01",
    "weightTrimRate": "9.4999999999999996e-01",
    "maxDepth": "1",
    "maxWeakCount": "100",
}


def pool_of(window, mode):
    """Return the trainer's pool by plain loops: rows of `FEATURE_DTYPE`, or of `LBP_DTYPE` where there is no mode."""
    if mode is None:
        return np.array([(list(cell),) for cell in naive.lbp_cells(*window)], LBP_DTYPE)
    rows = []
    for tilted, balanced in naive.haar_features(*window, mode):
        rects = [[*rect[:4], 2 if rect[4] == 3 and not tilted else rect[4]] for rect in balanced]
        rects += (3 - len(rects)) * [[0] * 5]
        rows.append(([rect[:4] for rect in rects], [rect[4] for rect in rects], tilted))
    return np.array(rows, FEATURE_DTYPE)


def trained_cascade(rng, pool, window=None, stages=(2, 3, 1)):
    """Return what the trainer could have made: trees over features of its pool, those used, in its order."""
    window = window or Size(12, 10)
    shapes = [[builders.TREES[rng.integers(len(builders.TREES))] for _ in range(n)] for n in stages]
    sides = [node for trees in shapes for shape in trees for node in shape]
    features = np.sort(rng.choice(len(pool), len(sides), replace=False))
    is_lbp = pool.dtype == LBP_DTYPE
    tests = [rng.integers(0, 2**32, 8, np.uint32) if is_lbp else rng.normal(0, 0.05) for _ in sides]
    order = rng.permutation(len(sides))
    nodes = [(feature, test, *children) for feature, test, children in zip(order, tests, sides, strict=True)]
    sizes = [len(shape) for trees in shapes for shape in trees]
    return Cascade(
        window,
        pool[features],
        np.array(nodes, LBP_NODE_DTYPE if is_lbp else NODE_DTYPE),
        np.cumsum([0, *sizes]).astype(np.int32),
        rng.normal(0, 1, sum(sizes) + len(sizes)).astype(np.float32),
        np.cumsum([0, *stages]).astype(np.int32),
        rng.normal(-1, 0.3, len(stages)).astype(np.float32),
    )


def write_run(folder, cascade, mode, pool, n_stages=None, **settings):
    """Write `params.xml` and the stage files of a cascade whose features are of the pool."""
    folder.mkdir(exist_ok=True)
    (folder / "params.xml").write_text(_storage("params", parameters_text(cascade.window, mode, **settings)))
    place_of = {feature.tobytes(): place for place, feature in enumerate(pool)}
    places = [place_of[feature.tobytes()] for feature in cascade.features]
    for number in range(cascade.n_stages if n_stages is None else n_stages):
        (folder / f"stage{number}.xml").write_text(
            _storage(f"stage{number}", _stage_text(cascade, number, places))
        )
    return folder


def parameters_text(window, mode, **settings):
    """Return what is in `params.xml`."""
    stage = "".join(f"<{name}>{value}</{name}>\n" for name, value in {**SETTINGS, **settings}.items())
    kind = "LBP" if mode is None else "HAAR"
    of_mode = "" if mode is None else f"\n<mode>{mode.upper()}</mode>"
    return (
        f"<stageType>BOOST</stageType>\n<featureType>{kind}</featureType>\n"
        f"<height>{window.height}</height>\n<width>{window.width}</width>\n"
        f"<stageParams>\n{stage}</stageParams>\n"
        f"<featureParams>\n<maxCatCount>{256 if mode is None else 0}</maxCatCount>\n<featSize>1</featSize>{of_mode}"
        "</featureParams>"
    )


def _storage(name, content):
    return f'<?xml version="1.0"?>\n<opencv_storage>\n<{name}>\n{content}</{name}>\n</opencv_storage>\n'


def _stage_text(cascade, number, places):
    first, end = cascade.stage_starts[number : number + 2]
    trees = []
    for index in range(first, end):
        start, stop = cascade.tree_starts[index : index + 2]
        nodes = " ".join(_node_text(node, places) for node in cascade.nodes[start:stop])
        leaves = " ".join(f"{leaf:.16e}" for leaf in cascade.leaves[start + index : stop + index + 1])
        trees.append(
            f"<_>\n<internalNodes>\n{nodes}</internalNodes>\n<leafValues>\n{leaves}</leafValues></_>\n"
        )
    threshold = f"<stageThreshold>{cascade.stage_thresholds[number]:.16e}</stageThreshold>\n"
    count = f"<maxWeakCount>{end - first}</maxWeakCount>\n"
    return f"{count}{threshold}<weakClassifiers>\n{''.join(trees)}</weakClassifiers>"


def _node_text(node, places):
    test = (
        " ".join(map(str, node["subset"].view(np.int32)))
        if "subset" in node.dtype.names
        else f"{node['threshold']:.16e}"
    )
    return f"{node['left']} {node['right']} {places[node['feature']]} {test}"
