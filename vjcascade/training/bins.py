"""Features of samples in one byte each, with the samples in whatever order is quickest to read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Round
from vjcascade.kernels.columns import reorder_columns
from vjcascade.parallel import blocks, run_all
from vjcascade.scratch import let_go

ROWS_PER_TASK = 1024


class Bins:
    """Each feature's values on all samples, sorted into bins or as codes.

    The columns, one for each sample, may be put in another order: who reads rows puts weights in the same order by
    `arranged`.

    Parameters
    ----------
    rows : ndarray of shape (n_features, n_samples), dtype uint8
        Bins that rise with the value, or codes, which have no order; in the order of the samples.

    Examples
    --------
    >>> bins = Bins(np.array([[7, 8, 9]], np.uint8))
    >>> bins.reorder(np.array([2, 0, 1]), n_threads=1)
    >>> bins.rows, bins.order
    (array([[9, 7, 8]], dtype=uint8), array([2, 0, 1]))
    """

    def __init__(self, rows: NDArray[np.uint8]) -> None:
        self.rows = rows
        self.order = np.arange(rows.shape[1])

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_samples(self) -> int:
        """How many columns there are."""
        return len(self.order)

    def arranged(self, now: Round) -> Round:
        """Return a round with its weights in the order of the columns."""
        return now.taken(self.order)

    def reorder(self, columns: NDArray[np.intp], n_threads: int) -> None:
        """Put the columns in another order, in place.

        Parameters
        ----------
        columns : ndarray of shape (n_samples,), dtype intp
            Where each of the columns to come is now.
        n_threads : int
            Threads; the result does not depend on it.
        """

        def work(task: slice) -> None:
            reorder_columns(self.rows[task], columns.astype(np.uint32))
            let_go(self.rows[task])

        run_all(work, blocks(len(self.rows), ROWS_PER_TASK), n_threads)
        self.order = self.order[columns]
