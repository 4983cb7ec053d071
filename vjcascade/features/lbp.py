"""Codes of multi-block LBP features in windows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vjcascade.features.cells import cell_offsets
from vjcascade.features.integrals import SAMPLES_PER_BLOCK, WindowIntegrals
from vjcascade.kernels.lbp import feature_codes
from vjcascade.parallel import blocks, run_all
from vjcascade.scratch import let_go, scratch_array

FEATURES_PER_TASK = 1024


def lbp_codes(
    features: NDArray[np.void], integrals: WindowIntegrals, n_threads: int = 1, folder: Path | None = None
) -> NDArray[np.uint8]:
    """Compute the codes of features in windows, as the detector does.

    Contrast does not count: a code only says which cells are at least as bright as the middle one, and the
    detector looks at flat windows, too.

    Parameters
    ----------
    features : ndarray of shape (n_features,), dtype `LBP_DTYPE`
        Inside the window.
    integrals : WindowIntegrals
        Of the windows.
    n_threads : int
        Threads; the result does not depend on it.
    folder : Path, optional
        Where the codes are kept if not in memory; see `vjcascade.scratch.scratch_array`.

    Returns
    -------
    codes : ndarray of shape (n_features, n_windows), dtype uint8
        A bit for each of the eight cells around the middle one, clockwise from the top left, highest first.

    Raises
    ------
    ValueError
        If a feature reaches out of the window.

    Examples
    --------
    >>> from vjcascade.features.cells import enumerate_cells
    >>> from vjcascade.types import Size
    >>> windows = np.diag([9, 5, 1]).astype(np.uint8)[None]
    >>> lbp_codes(enumerate_cells(Size(3, 3)), WindowIntegrals.of(windows)).tolist()
    [[128]]
    """
    width, height = integrals.window
    x, y, w, h = features["cell"].astype(np.int64).T
    if (np.minimum(x, y) < 0).any() or (x + 3 * w > width).any() or (y + 3 * h > height).any():
        raise ValueError(f"a feature reaches out of these {integrals.window} windows")
    rows = cell_offsets(features, width + 1)
    codes = scratch_array((len(features), len(integrals)), np.uint8, folder)

    def fill(part: slice) -> None:
        feature_codes(integrals.corners, rows[part], SAMPLES_PER_BLOCK, codes[part])
        let_go(codes[part])

    run_all(fill, blocks(len(features), FEATURES_PER_TASK), n_threads)
    return codes
