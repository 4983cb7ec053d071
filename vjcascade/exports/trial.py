"""Test data for exports: windows that reach every stage, a picture, and the engine's results for both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.detection import Detector
from vjcascade.detection.scanner import evaluate_windows
from vjcascade.evaluation.operating_point import OperatingPoint
from vjcascade.exports.tables import used_model
from vjcascade.types import Detections, Size

N_WINDOWS = 20_000
"""Default number of windows; fewer if they would have more pixels than `MAX_PIXELS`."""

MAX_PIXELS = 20_000_000

GENERATION = 1_000
"""Windows in a generation; fewer if they would have more pixels than `GENERATION_PIXELS`."""

GENERATION_PIXELS = 4_000_000

MAX_RAW = 3_000
"""A picture with more accepted windows is cropped: grouping takes time quadratic in their number."""

PICTURE = Size(160, 120)
"""Smallest size of the picture; it is at least four windows wide and high."""


@dataclass(frozen=True, eq=False)
class Trial:
    """Windows and a picture, with the engine's results.

    Attributes
    ----------
    cascade : Cascade
        The part of the model that is used.
    point : OperatingPoint
        The settings of the detector.
    windows : ndarray of shape (n, h, w), dtype uint8
        Grey windows.
    passed : ndarray of shape (n,), dtype int32
        Stages that each passes; -1 if the contrast is too low.
    picture : ndarray of shape (h, w), dtype uint8
        Grey levels.
    raw, found : Detections
        Accepted windows in the picture, and detections with the model's settings.
    """

    cascade: Cascade
    point: OperatingPoint
    windows: NDArray[np.uint8]
    passed: NDArray[np.int32]
    picture: NDArray[np.uint8]
    raw: Detections
    found: Detections

    @classmethod
    def of(cls, model: Cascade, n_windows: int | None = None, seed: int = 0) -> Self:
        """Make test data for a model.

        Parameters
        ----------
        model : Cascade
            At least one stage.
        n_windows : int, optional
            Number of windows; `default_n_windows` if not given.
        seed : int, optional
            The same model, number and seed give the same data.

        Returns
        -------
        Trial
            For the part of the model that its operating point uses.
        """
        cascade, point = used_model(model)
        rng = np.random.default_rng(seed)
        windows, passed = evolved_windows(cascade, n_windows or default_n_windows(cascade.window), rng)
        picture = _picture(cascade.window, windows[np.argsort(-passed, kind="stable")], rng)
        settings = {**point.settings, "n_threads": 1}
        every_window = Detector(cascade, **{**settings, "min_neighbors": 0})
        while len(raw := every_window.detect(picture)) > MAX_RAW and max(picture.shape) > 2 * max(
            cascade.window
        ):
            picture = np.ascontiguousarray(picture[: picture.shape[0] * 3 // 4, : picture.shape[1] * 3 // 4])
        found = Detector(cascade, **settings).detect(picture)
        return cls(cascade, point, windows, passed, picture, raw, found)

    @property
    def n_accepted(self) -> int:
        """Number of windows that pass all stages."""
        return int((self.passed == self.cascade.n_stages).sum())


def default_n_windows(window: Size) -> int:
    """Return the default number of windows for a window size.

    Examples
    --------
    >>> default_n_windows(Size(24, 24)), default_n_windows(Size(256, 256))
    (20000, 305)
    """
    return min(N_WINDOWS, MAX_PIXELS // (window.width * window.height))


def evolved_windows(
    cascade: Cascade, n_windows: int, rng: np.random.Generator
) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Generate windows with a genetic algorithm until they reach the late stages, which plain noise does not.

    A generation consists of noise, and of offspring of the best windows so far: mixed, shifted, or with more noise.

    Parameters
    ----------
    cascade : Cascade
        At least one stage.
    n_windows : int
        Number of windows.
    rng : numpy.random.Generator
        The same seed gives the same windows.

    Returns
    -------
    windows : ndarray of shape (n_windows, h, w), dtype uint8
        The windows of all generations.
    passed : ndarray of shape (n_windows,), dtype int32
        Stages that each passes.

    Examples
    --------
    >>> import vjcascade
    >>> cascade = Cascade.load(vjcascade.compat.data.find("frontalface"))
    >>> windows, passed = evolved_windows(cascade, 2000, np.random.default_rng(0))
    >>> windows.shape, bool(passed.max() > 3)
    ((2000, 20, 20), True)
    """
    width, height = cascade.window
    size = min(GENERATION, GENERATION_PIXELS // (width * height))
    best, fitness = np.empty((0, height, width)), np.empty(0)
    every, all_passed = [], []
    for start in range(0, n_windows, size):
        n = min(size, n_windows - start)
        n_new = n if start == 0 else n // 10
        made = np.concatenate([_noise(rng, n_new, height, width), _offspring(best, n - n_new, rng)])
        windows = np.clip(np.rint(made), 0, 255).astype(np.uint8)
        passed, sums = evaluate_windows(cascade, windows, 1)
        every.append(windows)
        all_passed.append(passed)
        pool = np.concatenate([best, windows.astype(np.float64)])
        shares = 1 / (
            1 + np.exp(-np.clip(sums, -99, 99))
        )  # windows that pass equally many stages are ordered by their last sum
        fitness = np.concatenate([fitness, passed + shares])
        kept = np.argsort(-fitness, kind="stable")[: size // 10]
        best, fitness = pool[kept], fitness[kept]
    return np.concatenate(every), np.concatenate(all_passed)


def _noise(rng: np.random.Generator, n: int, height: int, width: int) -> NDArray[np.float64]:
    """Return noise in blocks of several sizes, from faint to strong."""
    total = rng.uniform(60, 200, (n, 1, 1)) + np.zeros((n, height, width))
    for block in (1, 2, 4, 8):
        rows, columns = np.arange(height) // block, np.arange(width) // block
        cells = rng.normal(0, 1, (n, rows[-1] + 1, columns[-1] + 1)) * rng.uniform(0, 40, (n, 1, 1))
        total += cells[:, rows][:, :, columns]
    return total


def _offspring(best: NDArray[np.float64], n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    if n == 0:
        return np.empty((0, *best.shape[1:]))
    height, width = best.shape[1:]
    one, other = best[rng.integers(0, len(best), n)], best[rng.integers(0, len(best), n)]
    share = np.where(rng.random(n) < 0.5, rng.random(n), 0.0)[:, None, None]
    made = one + share * (other - one)
    for i in np.flatnonzero(rng.random(n) < 0.2):
        made[i] = np.roll(made[i], rng.integers(-1, 2, 2), (0, 1))
    grain = _noise(rng, n, height, width)
    grain -= grain.mean(axis=(1, 2), keepdims=True)
    made += grain * rng.choice([0.05, 0.15, 0.4, 1.0], n)[:, None, None]
    return made


def _picture(window: Size, best: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return a noise picture with the best windows pasted in, in original and double size."""
    width, height = max(PICTURE.width, 4 * window.width), max(PICTURE.height, 4 * window.height)
    picture = _noise(rng, 1, height, width)[0]
    for i, scale in enumerate((1, 2, 1, 2, 1)):
        pasted = np.kron(best[i % len(best)], np.ones((scale, scale)))
        y = 2 * rng.integers(0, (height - pasted.shape[0]) // 2 + 1)  # even positions are always scanned
        x = 2 * rng.integers(0, (width - pasted.shape[1]) // 2 + 1)
        picture[y : y + pasted.shape[0], x : x + pasted.shape[1]] = pasted
    levels: NDArray[np.uint8] = np.clip(np.rint(picture), 0, 255).astype(np.uint8)
    return levels
