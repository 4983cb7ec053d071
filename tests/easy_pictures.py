"""Pictures of the cases' easy set, and folders of pictures (`import easy_pictures`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

QUICK_TRAINING = [
    *("--window", "12x12", "--stages", "1", "--max-weak", "2"),
    *("--copies", "1", "--negatives", "40"),
]
"""Options of `vjcascade train` for a model in a second."""


def easy_positive(rng, noise=12):
    halves = np.where(np.arange(24) < 12, 200, 50)
    return np.clip(halves + rng.normal(0, noise, (24, 24)), 0, 255).astype(np.uint8)


def soft_noise(rng, side=120):
    """Return low-pass noise of mean 128 and standard deviation 40."""
    spectrum = np.fft.rfft2(rng.normal(0, 1, (side, side)))
    distance = np.hypot(np.fft.fftfreq(side)[:, None], np.fft.rfftfreq(side))
    noise = np.fft.irfft2(spectrum * np.exp(-((distance / 0.08) ** 2)), (side, side))
    return np.clip(128 + 40 * (noise - noise.mean()) / noise.std(), 0, 255).astype(np.uint8)


def save(folder, pictures):
    """Write pictures as `000.png`, `001.png`, ..."""
    folder.mkdir(exist_ok=True, parents=True)
    for i, picture in enumerate(pictures):
        Image.fromarray(picture).save(folder / f"{i:03}.png")


def contents(folder: Path):
    """Return the bytes of every file below a folder."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
