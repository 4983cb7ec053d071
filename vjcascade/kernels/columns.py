"""The order of columns."""

import numpy as np
from numpy.typing import NDArray

from vjcascade.kernels._compile import kernel


@kernel
def reorder_columns(
    rows: NDArray[np.uint8],  # IN and OUT (n_rows, n_columns)
    columns: NDArray[np.uint32],  # IN (n_columns,) where each of the columns to come is now
) -> None:
    """Put the columns in another order, row by row."""
    before = np.empty(rows.shape[1], np.uint8)
    for i in range(len(rows)):
        row = rows[i]
        before[:] = row
        for k in range(len(columns)):
            row[k] = before[columns[k]]
