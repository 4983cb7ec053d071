from . import compat as compat
from .cascade import Cascade as Cascade
from .detection import (
    DenseDetector as DenseDetector,
    DetectionMemory as DetectionMemory,
    Detector as Detector,
    detect as detect,
    detect_dense as detect_dense,
)
from .errors import CascadeError as CascadeError
from .estimators import CostBoostClassifier as CostBoostClassifier, HaarTransformer as HaarTransformer
from .imaging import read_image as read_image
from .training import (
    Preset as Preset,
    TrainingSettings as TrainingSettings,
    preset_settings as preset_settings,
    train as train,
    train_from_sources as train_from_sources,
)
from .types import Detections as Detections, Size as Size

__version__: str

__all__ = [
    "Cascade",
    "CascadeError",
    "CostBoostClassifier",
    "DenseDetector",
    "DetectionMemory",
    "Detections",
    "Detector",
    "HaarTransformer",
    "Preset",
    "Size",
    "TrainingSettings",
    "compat",
    "detect",
    "detect_dense",
    "preset_settings",
    "read_image",
    "train",
    "train_from_sources",
]
