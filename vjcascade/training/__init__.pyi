from .run import train_from_sources as train_from_sources
from .settings import (
    Preset as Preset,
    TrainingSettings as TrainingSettings,
    preset_settings as preset_settings,
)

__all__ = ["Preset", "TrainingSettings", "preset_settings", "train_from_sources"]
