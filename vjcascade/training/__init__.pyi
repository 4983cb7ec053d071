from .events import (
    Ended as Ended,
    Event as Event,
    Listener as Listener,
    MiningDone as MiningDone,
    Note as Note,
    Progress as Progress,
    Rates as Rates,
    RoundDone as RoundDone,
    RunBegun as RunBegun,
    StageBegun as StageBegun,
    StageDone as StageDone,
    StageRecord as StageRecord,
)
from .progress import ProgressPrinter as ProgressPrinter
from .run import train as train, train_from_sources as train_from_sources
from .settings import (
    Preset as Preset,
    TrainingSettings as TrainingSettings,
    preset_settings as preset_settings,
)
from .settings_file import read_settings as read_settings

__all__ = [
    "Ended",
    "Event",
    "Listener",
    "MiningDone",
    "Note",
    "Preset",
    "Progress",
    "ProgressPrinter",
    "Rates",
    "RoundDone",
    "RunBegun",
    "StageBegun",
    "StageDone",
    "StageRecord",
    "TrainingSettings",
    "preset_settings",
    "read_settings",
    "train",
    "train_from_sources",
]
