from .costs import normalised_expected_cost as normalised_expected_cost, skew as skew
from .curves import (
    Curve as Curve,
    Score as Score,
    Ties as Ties,
    detection_curve as detection_curve,
)
from .evaluating import Evaluation as Evaluation, evaluate as evaluate
from .goals import Figures as Figures, Goal as Goal
from .margin_scan import MarginScan as MarginScan, scan_margins as scan_margins
from .matching import (
    Matches as Matches,
    MatchingRule as MatchingRule,
    match_detections as match_detections,
    matching_rule as matching_rule,
)
from .operating_point import OperatingPoint as OperatingPoint, load_detector as load_detector
from .protocol import Candidate as Candidate, Protocol as Protocol
from .scenes import Scene as Scene, Scenes as Scenes, read_scenes as read_scenes
from .tuning import Tuning as Tuning, tune as tune

__all__ = [
    "Candidate",
    "Curve",
    "Evaluation",
    "Figures",
    "Goal",
    "MarginScan",
    "Matches",
    "MatchingRule",
    "OperatingPoint",
    "Protocol",
    "Scene",
    "Scenes",
    "Score",
    "Ties",
    "Tuning",
    "detection_curve",
    "evaluate",
    "load_detector",
    "match_detections",
    "matching_rule",
    "normalised_expected_cost",
    "read_scenes",
    "scan_margins",
    "skew",
    "tune",
]
