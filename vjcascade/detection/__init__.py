"""Detection: scale lists, scanning, grouping, and the detector that joins them."""

from vjcascade.detection.detector import Detector, detect
from vjcascade.detection.grouping import group_windows
from vjcascade.detection.scanner import Hits, LevelIntegrals, Scanner, evaluate_windows

__all__ = ["Detector", "Hits", "LevelIntegrals", "Scanner", "detect", "evaluate_windows", "group_windows"]
