"""Detection: scale lists, scanning, grouping, and the detectors that join them: OpenCV's way, and the native one."""

from vjcascade.detection.dense import DenseDetector, Grouping, detect_dense
from vjcascade.detection.detector import Detector, detect
from vjcascade.detection.grouping import group_windows
from vjcascade.detection.memory import DetectionMemory
from vjcascade.detection.scanner import LevelIntegrals, RawWindows, Scanner, evaluate_windows
from vjcascade.detection.suppression import suppress_overlaps

__all__ = [
    "DenseDetector",
    "DetectionMemory",
    "Detector",
    "Grouping",
    "LevelIntegrals",
    "RawWindows",
    "Scanner",
    "detect",
    "detect_dense",
    "evaluate_windows",
    "group_windows",
    "suppress_overlaps",
]
