"""What a model scored: detections against ground truth."""

from vjcascade.evaluation.matching import Curve, Matches, detection_curve, match_detections

__all__ = ["Curve", "Matches", "detection_curve", "match_detections"]
