"""Hold samples out for checking, copies of one picture always together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def split_held_out(
    groups: ArrayLike,
    *,
    seed: int,
    fraction: float = 0.2,
    min_samples: int = 100,
    max_held_out: int = 2000,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Choose the samples that are held out of training, at random, whole groups at a time.

    Parameters
    ----------
    groups : array_like of shape (n,)
        Group of each sample. Samples of a group are copies or parts of one picture: held out together,
        or the check would see what training saw.
    seed : int
        Same seed, same choice.
    fraction : float
        Share of the samples to hold out, in [0, 1).
    min_samples : int
        Nothing is held out of fewer samples: training needs them all.
    max_held_out : int
        Samples held out at most: more would not make the figures better.

    Returns
    -------
    train : ndarray of shape (n_train,), dtype intp
        Indices, ascending.
    held_out : ndarray of shape (n_held_out,), dtype intp
        The other indices, ascending: `min(fraction * n, max_held_out)`, rounded down, or fewer where the
        groups do not fit.

    Examples
    --------
    >>> train, held_out = split_held_out([0, 0, 1, 1, 2, 2, 3, 3, 4, 4], min_samples=10, seed=0)
    >>> len(train), len(held_out)
    (8, 2)
    """
    _, members, sizes = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    n_samples = len(members)
    room = min(int(fraction * n_samples), max_held_out) if n_samples >= min_samples else 0
    chosen = np.zeros(len(sizes), np.bool_)
    for group in np.random.default_rng(seed).permutation(len(sizes)):
        if sizes[group] <= room:
            chosen[group] = True
            room -= sizes[group]
    held_out = chosen[members]
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)
