"""Training: sources, settings, the loop over stages, mining, checkpoints."""

from vjcascade.training.run import train_from_sources
from vjcascade.training.settings import Preset, TrainingSettings, preset_settings

__all__ = ["Preset", "TrainingSettings", "preset_settings", "train_from_sources"]
