"""Feature pools: which features there are, their values and their bins."""

from vjcascade.features.haar import HaarMode, count_haar, enumerate_haar, haar_features_at
from vjcascade.features.lbp_pool import count_lbp, enumerate_lbp, lbp_features_at

__all__ = [
    "HaarMode",
    "count_haar",
    "count_lbp",
    "enumerate_haar",
    "enumerate_lbp",
    "haar_features_at",
    "lbp_features_at",
]
