from . import (
    boosters as boosters,
    compat as compat,
    evaluation as evaluation,
    imaging as imaging,
    training as training,
    video as video,
)
from .cascade import Cascade as Cascade
from .detection import (
    DenseDetector as DenseDetector,
    DetectionMemory as DetectionMemory,
    Detector as Detector,
    PreviousFrame as PreviousFrame,
    detect as detect,
    detect_dense as detect_dense,
)
from .errors import CascadeError as CascadeError
from .estimators import CostBoostClassifier as CostBoostClassifier, HaarTransformer as HaarTransformer
from .evaluation import (
    Candidate as Candidate,
    Evaluation as Evaluation,
    Goal as Goal,
    OperatingPoint as OperatingPoint,
    Protocol as Protocol,
    Scenes as Scenes,
    Tuning as Tuning,
    detection_curve as detection_curve,
    evaluate as evaluate,
    load_detector as load_detector,
    match_detections as match_detections,
    matching_rule as matching_rule,
    read_scenes as read_scenes,
    scan_margins as scan_margins,
    tune as tune,
)
from .imaging import read_image as read_image
from .training import (
    Preset as Preset,
    ProgressPrinter as ProgressPrinter,
    TrainingSettings as TrainingSettings,
    preset_settings as preset_settings,
    read_settings as read_settings,
    train as train,
    train_from_sources as train_from_sources,
)
from .types import Box as Box, Detection as Detection, Detections as Detections, Size as Size
from .video import Frame as Frame, camera_frames as camera_frames, read_frames as read_frames

__version__: str

__all__ = [
    "Box",
    "Candidate",
    "Cascade",
    "CascadeError",
    "CostBoostClassifier",
    "DenseDetector",
    "Detection",
    "DetectionMemory",
    "Detections",
    "Detector",
    "Evaluation",
    "Frame",
    "Goal",
    "HaarTransformer",
    "OperatingPoint",
    "Preset",
    "PreviousFrame",
    "ProgressPrinter",
    "Protocol",
    "Scenes",
    "Size",
    "TrainingSettings",
    "Tuning",
    "boosters",
    "camera_frames",
    "compat",
    "detect",
    "detect_dense",
    "detection_curve",
    "evaluate",
    "evaluation",
    "imaging",
    "load_detector",
    "match_detections",
    "matching_rule",
    "preset_settings",
    "read_frames",
    "read_image",
    "read_scenes",
    "read_settings",
    "scan_margins",
    "train",
    "train_from_sources",
    "training",
    "tune",
    "video",
]
