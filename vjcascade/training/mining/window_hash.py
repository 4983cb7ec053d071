"""Tell windows apart, thousands at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio in 64 bits: its multiples make equal words at different places differ."""


def window_hashes(windows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return a number for each window, equal for copies.

    Windows that differ have the same number once in 2**64 times: among a million windows, two are mistaken for copies
    with a probability of 3e-8.

    Parameters
    ----------
    windows : ndarray of shape (n, h, w), dtype uint8
        Grey levels.

    Returns
    -------
    ndarray of shape (n,), dtype uint64
        The same in every process, on every machine.

    Examples
    --------
    >>> one, other = np.zeros((2, 3, 3), np.uint8), np.eye(3, dtype=np.uint8)[None]
    >>> len(np.unique(window_hashes(np.concatenate([one, other]))))
    2
    """
    n, n_pixels = len(windows), int(np.prod(windows.shape[1:]))
    padded = np.zeros((n, -(-n_pixels // 8) * 8), np.uint8)
    padded[:, :n_pixels] = windows.reshape(n, n_pixels)
    words = padded.view("<u8").astype(np.uint64, copy=False)  # `padded` itself, to work in
    words += np.arange(1, words.shape[1] + 1, dtype=np.uint64) * _GOLDEN
    _mix(words)
    digests: NDArray[np.uint64] = words.sum(axis=1, dtype=np.uint64)
    return digests


def _mix(words: NDArray[np.uint64]) -> None:
    """Spread every bit over all others, in place (the last steps of the generator SplitMix64)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words ^= words >> np.uint64(shift)
        words *= np.uint64(factor)
    words ^= words >> np.uint64(31)
