"""Feature pools: which features there are, their values and their bins."""

from vjcascade.features.haar import HaarMode, enumerate_features

__all__ = ["HaarMode", "enumerate_features"]
