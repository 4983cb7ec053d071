"""Pictures that are nearly copies of each other: saved again, resized, made lighter or darker."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array  # type: ignore[import-untyped]
from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]
from scipy.spatial import cKDTree  # type: ignore[import-untyped]

from vjcascade.checking.descriptors import Rows

ALIKE = 0.97
"""Correlation of two signatures that makes two pictures copies. Different faces reach 0.96, different cars 0.94."""

N_NUMBERS = 12
"""Of a signature, after the directions of greatest spread, by which neighbours are looked for."""

N_NEIGHBOURS = 8
"""Of a picture that are compared with it; of many copies each finds some, and so all hang together."""

N_SAMPLED = 2000
"""Signatures that the directions are taken from."""


def pairs_alike(signatures: Rows, n_threads: int = 1) -> NDArray[np.intp]:
    """Find pairs of pictures that are nearly alike, without comparing all with all.

    Signatures are cut to their first principal components, in which no two are farther apart than before, and kept in
    a tree.

    Parameters
    ----------
    signatures : ndarray of shape (n, d), dtype float32
        As by `vjcascade.checking.descriptors.signatures`; those of length 0 are like none.
    n_threads : int
        Threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (m, 2), dtype intp
        Indices, the smaller one first, in order. Of many copies of one picture not all pairs.

    Examples
    --------
    >>> rows = np.eye(4, 20, dtype=np.float32)
    >>> rows[3] = rows[1]
    >>> pairs_alike(rows).tolist()
    [[1, 3]]
    """
    useful = np.flatnonzero(np.abs(signatures).max(axis=1, initial=0) > 0)
    if len(useful) < 2:
        return np.empty((0, 2), np.intp)
    rows = signatures[useful]
    sample = rows[:: max(len(rows) // N_SAMPLED, 1)].astype(np.float64)
    _, directions = np.linalg.eigh(sample.T @ sample)
    reduced = rows @ directions[:, -N_NUMBERS:]
    radius = math.sqrt(2 * (1 - ALIKE))
    n_near = min(N_NEIGHBOURS + 1, len(rows))
    _, near = cKDTree(reduced).query(reduced, n_near, distance_upper_bound=radius, workers=n_threads)
    found = np.stack([np.repeat(np.arange(len(rows)), n_near), near.ravel()], axis=1)
    found = found[(found[:, 1] < len(rows)) & (found[:, 0] != found[:, 1])]  # missing ones have the number n
    pairs = np.unique(np.sort(found, axis=1), axis=0)
    alike = [
        np.einsum("ij,ij->i", rows[some[:, 0]], rows[some[:, 1]]) >= ALIKE
        for some in np.array_split(pairs, max(len(pairs) // 4096, 1))
    ]
    found_alike: NDArray[np.intp] = useful[pairs[np.concatenate(alike)]]
    return found_alike


def groups_of(pairs: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return a number for each of `n` pictures, the same for all that pairs connect.

    Parameters
    ----------
    pairs : ndarray of shape (m, 2), dtype intp
        Indices.
    n : int
        Pictures.

    Returns
    -------
    ndarray of shape (n,), dtype intp
        From 0 on.

    Examples
    --------
    >>> groups_of(np.array([[0, 2], [2, 3]]), 5).tolist()
    [0, 1, 0, 0, 2]
    """
    graph = coo_array((np.ones(len(pairs), np.bool_), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    _, groups = connected_components(graph, directed=False)
    numbers: NDArray[np.intp] = groups.astype(np.intp)
    return numbers


def connected(pairs: NDArray[np.intp], groups: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return groups that pairs have joined.

    Parameters
    ----------
    pairs : ndarray of shape (m, 2), dtype intp
        Indices.
    groups : ndarray of shape (n,), dtype intp
        A number for each picture.

    Returns
    -------
    ndarray of shape (n,), dtype intp
        From 0 on.

    Examples
    --------
    >>> connected(np.array([[0, 2]]), np.array([7, 7, 3, 5])).tolist()
    [0, 0, 0, 1]
    """
    order = np.argsort(groups, kind="stable")
    same = np.flatnonzero(np.diff(groups[order]) == 0)
    chain = np.stack([order[same], order[same + 1]], axis=1)
    return groups_of(np.concatenate([pairs, chain]), len(groups))
