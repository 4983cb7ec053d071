"""Stand-ins for what training works on: pictures in memory, a small quick run."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
from pathlib import Path

import builders
import msgspec
import numpy as np

from vjcascade.training.checkpoint import Checkpoint
from vjcascade.training.data.backgrounds import BackgroundImage, BackgroundImages
from vjcascade.training.data.positives import Positives
from vjcascade.training.data.sources import SourceReport
from vjcascade.training.data.training_data import TrainingData
from vjcascade.training.events import Progress, Rates, StageRecord, null_listener
from vjcascade.training.settings import TrainingSettings
from vjcascade.training.trainer import train_stages
from vjcascade.types import Size


class Pictures:
    """In the place of `BackgroundImages`: grey pictures in memory."""

    def __init__(self, pictures, ignored=()):
        self._pictures = list(pictures)
        self._ignored = dict(ignored)

    @property
    def sizes(self):
        return [Size(p.shape[1], p.shape[0]) for p in self._pictures]

    def __len__(self):
        return len(self._pictures)

    def __getitem__(self, index):
        return self._pictures[index]

    def ignored(self, index):
        return np.array(self._ignored.get(index, ()), np.int32).reshape(-1, 4)


WINDOW = Size(6, 6)
SETTINGS = TrainingSettings(
    hit_rate=0.95, false_alarm_rate=0.5, max_stages=4, max_weak=4, n_negatives=80, max_samples=400, seed=3
)


def positives_of(windows):
    """Return windows as a source of positives, each its own group."""
    n, height, width = windows.shape
    report = SourceReport("positives", "memory", "image files", n)
    names = tuple(str(i) for i in range(n))
    return Positives(windows, names, np.arange(n), Size(width, height), report)


def backgrounds_of(pictures):
    """Return pictures as a source of photos."""
    photos = [
        BackgroundImage(str(i), Path(str(i)), Size(*p.shape[::-1]), hashlib.sha256(p.tobytes()).digest(), p)
        for i, p in enumerate(pictures)
    ]
    return BackgroundImages(tuple(photos), SourceReport("negatives", "memory", "image files", len(photos)))


def hard_data(rng, n_positives=120, n_photos=12):
    """Return positives with a weak pattern in strong noise, and photos of noise: no stage separates them."""
    pattern = np.where(np.arange(WINDOW.width) < WINDOW.width // 2, 35, -35)
    windows = rng.normal(128 + pattern, 40, (n_positives, WINDOW.height, WINDOW.width))
    photos = [builders.smooth_noise(rng, 30, 34) for _ in range(n_photos)]
    return positives_of(np.clip(windows, 0, 255).astype(np.uint8)), backgrounds_of(photos)


def small_run(
    folder, settings=SETTINGS, *, listener=null_listener, n_threads=1, resume=False, overwrite=False
):
    """Train on `hard_data` into a folder; return the model's bytes."""
    positives, photos = hard_data(np.random.default_rng(440))
    data = {"positives_sha256": positives.fingerprint, "photos_sha256": photos.fingerprint}
    checkpoint = Checkpoint.open(folder, WINDOW, settings, data, resume=resume, overwrite=overwrite)
    sources = {"positives": "memory", "negatives": "memory"}
    split = TrainingData.split(positives, photos, settings)
    train_stages(split, settings, checkpoint, sources=sources, n_threads=n_threads, listener=listener)
    return checkpoint.path.read_bytes()


def die_in(part):
    """Return a listener that kills its own process, as the system would, in the middle of a part of the work."""

    def listener(event):
        if isinstance(event, Progress) and event.part == part and event.done > 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return listener


if __name__ == "__main__":  # FOLDER PART: a run that is killed
    small_run(Path(sys.argv[1]), listener=die_in(sys.argv[2]))


def stage_record(stage, **changes):
    """Return a record with values that are hard to write down exactly."""
    record = StageRecord(
        stage=stage,
        n_weak=1,
        natural=Rates(1e-05, 1 / 3, 0.1),
        tuned=Rates(-0.7, 2 / 3, 1e-17),
        baseline=Rates(0.25, 1.0, 5e-324),
        hit_rate_on="held-out",
        false_alarm_rate_on="training",
        n_positives=10,
        n_negatives=20,
        n_held_out_positives=3,
        n_held_out_negatives=0,
        windows_searched=12_345_678_901,
        overall_hit_rate=0.1 + 0.2,
        overall_false_alarm_rate=1e-7,
        overall_held_out_hit_rate=None,
        ended_by="targets reached -- at last",
    )
    return msgspec.structs.replace(record, **changes)
