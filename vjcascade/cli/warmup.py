"""``vjcascade warmup``: compile by doing everything once, on very little."""

from __future__ import annotations

import sys
import time
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from vjcascade.cli.options import FlagOption
from vjcascade.errors import SettingsError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vjcascade.cascade import Cascade

SIDE = 12
"""Of the windows of the cascades, in pixels."""

BOOSTERS = ("adaboost", "adaboostdb", "real")
"""They search in different ways; every other booster searches as one of them."""


def warmup(*, detection_only: FlagOption = False) -> None:
    """Compile kernels.

    Parameters
    ----------
    detection_only : bool
        Leave out kernels that only training needs.

    Raises
    ------
    SettingsError
        If kernels cannot be kept.
    """
    from vjcascade.cli.compiling import cache_folder, count_compiled

    folder = cache_folder()
    if folder is None:
        raise SettingsError(
            "compiled kernels could not be cached, as no folder can be written to; set NUMBA_CACHE_DIR to one that can"
        )
    start = time.monotonic()
    with count_compiled() as counter:
        detect_a_little()
        if not detection_only:
            train_a_little()
            search_a_little()
            scan_margins_a_little()
    part = "detection" if detection_only else "detection and training"
    _say(f"kernels of {part}: {counter.n_compiled} compiled, in {time.monotonic() - start:.0f} s")
    _say(f"kept in {folder}")


def detect_a_little() -> None:
    """Search a small picture with every kind of cascade, in OpenCV's way and by dense detection."""
    import numpy as np

    from vjcascade.detection import DenseDetector, Detector

    picture = _noise(np.random.default_rng(0), 3 * SIDE)
    for cascade in small_cascades():
        for min_neighbors in (0, 1):
            Detector(cascade, min_neighbors=min_neighbors).detect(picture)
        for group in ("average", "weighted", "nms", "none"):
            DenseDetector(cascade, group=group, antialias=True, near_misses=1).detect(picture)


def train_a_little() -> None:
    """Train small cascades of stumps and of trees, from files, as a user would."""
    import numpy as np

    from vjcascade.features.haar import HaarMode
    from vjcascade.imaging import write_image
    from vjcascade.training import TrainingSettings, train
    from vjcascade.types import FeatureType

    rng = np.random.default_rng(0)
    with TemporaryDirectory() as folder:
        crops, photos, model = (Path(folder, name) for name in ("crops", "photos", "model"))
        crops.mkdir()
        photos.mkdir()
        for i in range(12):
            crop = _noise(rng, SIDE // 2)
            crop[:, : SIDE // 4] //= 4
            write_image(crops / f"{i}.png", crop)
        for i in range(3):
            write_image(photos / f"{i}.png", _noise(rng, 2 * SIDE))
        for booster, depth, features in product(BOOSTERS, (1, 2), FeatureType):
            settings = TrainingSettings(
                booster=booster,
                max_depth=depth,
                features=features,
                mode=HaarMode.ALL if features is FeatureType.HAAR else HaarMode.BASIC,
                max_stages=2,
                max_weak=3,
                max_windows=2_000,
                copies=0,
                n_negatives=30,
            )
            window = (SIDE // 2, SIDE // 2)
            train(crops, photos, model, settings, window=window, overwrite=True)


def search_a_little() -> None:
    """Do what only comparisons on tables do, and what training does with thousands of windows only."""
    import numpy as np

    from vjcascade.boosters import BoostingState, Costs, make_booster
    from vjcascade.features.bins import Bins
    from vjcascade.learning.table_search import search_of_table

    Bins.of_rows(np.zeros((1, 2), np.uint8)).swap(np.array([0]), np.array([1]), n_threads=1)
    search = search_of_table(np.eye(3), n_positives=1, n_threads=1)
    for name in BOOSTERS:
        booster = make_booster(name, Costs())
        search.candidates(booster.begin_round(BoostingState.start(search.labels)), booster)


def scan_margins_a_little() -> None:
    """Do what measuring and tuning need beside detection, with every kind of cascade."""
    import numpy as np

    from vjcascade.evaluation import scan_margins

    picture = _noise(np.random.default_rng(0), 3 * SIDE)
    for cascade in small_cascades():
        scan_margins(picture, cascade, 1)


def _noise(rng: np.random.Generator, side: int) -> NDArray[np.uint8]:
    import numpy as np

    return rng.integers(0, 256, (side, side), np.uint8)


def small_cascades() -> list[Cascade]:
    """Return a small cascade of every kind: upright, tilted, with trees, over LBP features."""
    import numpy as np

    from vjcascade.cascade import LBP_NODE_DTYPE, NODE_DTYPE
    from vjcascade.types import FEATURE_DTYPE, LBP_DTYPE

    upright = ([[0, 0, 8, 8], [4, 0, 4, 8], [0, 0, 0, 0]], [-1, 2, 0], False)
    tilted = ([[6, 2, 3, 3], [6, 2, 1, 3], [8, 4, 1, 3]], [-1, 3, 0.5], True)
    haar, lbp = (np.array(part, FEATURE_DTYPE) for part in ([upright], [tilted])), np.zeros(1, LBP_DTYPE)
    lbp["cell"] = 1, 1, 3, 3
    stump, tree = [(0, 0, 0, -1)], [(0, 0, 1, 0), (0, 0.1, -1, -2)]
    kinds = [(features, np.array(nodes, NODE_DTYPE)) for features in haar for nodes in (stump, tree)]
    subset = [2**31] * 8
    kinds += [
        (lbp, np.array([(node[0], subset, *node[2:]) for node in nodes], LBP_NODE_DTYPE))
        for nodes in (stump, tree)
    ]
    return [_one_tree(features, nodes) for features, nodes in kinds]


def _one_tree(features: NDArray[np.void], nodes: NDArray[np.void]) -> Cascade:
    """Return a cascade of two equal stages of one tree, which accepts about half of all windows."""
    import numpy as np

    from vjcascade.cascade import Cascade
    from vjcascade.types import Size

    n = len(nodes)
    return Cascade(
        Size(SIDE, SIDE),
        features,
        np.tile(nodes, 2),
        np.array([0, n, 2 * n], np.int32),
        np.tile(np.resize(np.array([0.5, -0.5], np.float32), n + 1), 2),
        np.array([0, 1, 2], np.int32),
        np.zeros(2, np.float32),
    )


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
