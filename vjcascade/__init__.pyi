from .cascade import Cascade as Cascade
from .detection import Detector as Detector, detect as detect
from .errors import CascadeError as CascadeError
from .estimators import CostBoostClassifier as CostBoostClassifier, HaarTransformer as HaarTransformer
from .imaging import read_image as read_image
from .training import (
    Preset as Preset,
    TrainingSettings as TrainingSettings,
    preset_settings as preset_settings,
    train_from_sources as train_from_sources,
)
from .types import Detections as Detections, Size as Size

__version__: str

__all__ = [
    "Cascade",
    "CascadeError",
    "CostBoostClassifier",
    "Detections",
    "Detector",
    "HaarTransformer",
    "Preset",
    "Size",
    "TrainingSettings",
    "detect",
    "preset_settings",
    "read_image",
    "train_from_sources",
]
