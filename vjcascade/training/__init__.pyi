from .run import train as train, train_from_sources as train_from_sources
from .settings import (
    Preset as Preset,
    TrainingSettings as TrainingSettings,
    preset_settings as preset_settings,
)
from .settings_file import read_settings as read_settings

__all__ = ["Preset", "TrainingSettings", "preset_settings", "read_settings", "train", "train_from_sources"]
