"""Detection: levels, scan, grouping, and the detectors that join them: OpenCV's way, and the dense one."""

from vjcascade.detection.dense import DenseDetector, detect_dense
from vjcascade.detection.detector import Detector, detect
from vjcascade.detection.frames import PreviousFrame
from vjcascade.detection.grouping import Grouping, group_windows, suppress_overlaps
from vjcascade.detection.memory import DetectionMemory
from vjcascade.detection.scanner import LevelIntegrals, RawWindows, Scanner, evaluate_windows

__all__ = [
    "DenseDetector",
    "DetectionMemory",
    "Detector",
    "Grouping",
    "LevelIntegrals",
    "PreviousFrame",
    "RawWindows",
    "Scanner",
    "detect",
    "detect_dense",
    "evaluate_windows",
    "group_windows",
    "suppress_overlaps",
]
