"""The kernels as plain Python: one window at a time where compiled code runs blocks of them, with the same results."""

import os
import subprocess
import sys

import builders
import numpy as np
import pytest

from vjcascade.cascade import Cascade
from vjcascade.detection import detect, evaluate_windows
from vjcascade.types import FeatureType

WINDOW = (10, 12)


def results(cascade, picture):
    """Return what is found in a picture, and how far its windows come."""
    found = detect(picture, cascade, min_neighbors=0, n_threads=1)
    windows = np.lib.stride_tricks.sliding_window_view(picture, WINDOW)[::3, ::3].reshape(-1, *WINDOW)
    return [found.boxes, found.scores, *evaluate_windows(cascade, windows, n_threads=1)]


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="numba is switched off already")
@pytest.mark.parametrize("kind", FeatureType)
@pytest.mark.parametrize("tree_share", [0, 0.7])
def test_results_are_the_same(rng, tmp_path, tree_share, kind):
    cascade = builders.random_cascade(rng, stages=(2, 3), kind=kind, tilted_share=0.5, tree_share=tree_share)
    cascade.save(tmp_path / "model.xml")
    np.save(tmp_path / "picture.npy", builders.smooth_noise(rng, 17, 27))
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, __file__, tmp_path], check=True, env=environment)
    expected = results(Cascade.load(tmp_path / "model.xml"), np.load(tmp_path / "picture.npy"))
    with np.load(tmp_path / "results.npz") as plain:
        for name, array in zip(plain.files, expected, strict=True):
            np.testing.assert_array_equal(plain[name], array)
    assert len(expected[0]) > 0
    assert set(expected[2]) == {0, 1, 2}


def main(folder):
    from vjcascade.kernels.lanes import LANES

    assert LANES == 1
    cascade, picture = Cascade.load(f"{folder}/model.xml"), np.load(f"{folder}/picture.npy")
    np.savez(f"{folder}/results.npz", *results(cascade, picture))


if __name__ == "__main__":
    main(sys.argv[1])
