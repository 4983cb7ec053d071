"""What a model scored: detections against ground truth, and what decisions cost."""

from vjcascade.evaluation.costs import normalised_expected_cost, skew
from vjcascade.evaluation.curves import Curve, detection_curve
from vjcascade.evaluation.goals import Figures, Goal
from vjcascade.evaluation.margin_scan import MarginScan, scan_margins
from vjcascade.evaluation.matching import Matches, MatchingRule, match_detections, matching_rule
from vjcascade.evaluation.operating_point import OperatingPoint
from vjcascade.evaluation.scenes import Scene, Scenes, read_scenes
from vjcascade.evaluation.tuning import Tuning, tune

__all__ = [
    "Curve",
    "Figures",
    "Goal",
    "MarginScan",
    "Matches",
    "MatchingRule",
    "OperatingPoint",
    "Scene",
    "Scenes",
    "Tuning",
    "detection_curve",
    "match_detections",
    "matching_rule",
    "normalised_expected_cost",
    "read_scenes",
    "scan_margins",
    "skew",
    "tune",
]
