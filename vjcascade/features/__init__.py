"""Feature pools: which features there are, their values and their bins."""

from vjcascade.features.cells import count_cells, enumerate_cells
from vjcascade.features.haar import HaarMode, count_features, enumerate_features

__all__ = ["HaarMode", "count_cells", "count_features", "enumerate_cells", "enumerate_features"]
