"""What a model scored: detections against ground truth, and what decisions cost."""

from vjcascade.evaluation.costs import normalised_expected_cost, skew
from vjcascade.evaluation.matching import Curve, Matches, detection_curve, match_detections

__all__ = [
    "Curve",
    "Matches",
    "detection_curve",
    "match_detections",
    "normalised_expected_cost",
    "skew",
]
