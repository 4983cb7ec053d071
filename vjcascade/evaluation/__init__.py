"""What a model scored: detections against ground truth, and what decisions cost."""

from vjcascade.evaluation.costs import normalised_expected_cost, skew
from vjcascade.evaluation.matching import Curve, Matches, detection_curve, match_detections
from vjcascade.evaluation.scenes import Scene, Scenes, read_scenes

__all__ = [
    "Curve",
    "Matches",
    "Scene",
    "Scenes",
    "detection_curve",
    "match_detections",
    "normalised_expected_cost",
    "read_scenes",
    "skew",
]
