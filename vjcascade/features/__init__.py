"""Feature pools: which features there are, their values and their bins."""

from vjcascade.features.haar import HaarMode, count_haar, enumerate_haar
from vjcascade.features.lbp_pool import count_lbp, enumerate_lbp

__all__ = ["HaarMode", "count_haar", "count_lbp", "enumerate_haar", "enumerate_lbp"]
