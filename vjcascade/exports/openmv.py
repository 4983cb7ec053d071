"""OpenMV's binary cascades, and the arithmetic of its cameras in NumPy.

A file contains these arrays, little-endian: int32 width, height and number of stages; uint8 weak classifiers of each
stage, padded to a multiple of four; int16 stage thresholds; int16 thresholds, left and right leaf values of stumps;
uint8 number of rectangles of each stump; int8 weights of rectangles; int8 x, y, w, h of rectangles.

A camera (firmware 4) adds up rectangle sums times weight times 4096, and compares the result with threshold times
standard deviation, in 32 bits. It computes the standard deviation over the whole window, where OpenCV excludes the
border, and skips windows where it is below 50 grey levels. Scale factors are chosen to minimise rounding errors: a
stump's weights and threshold may be multiplied by any factor, and so may the leaf values and threshold of a stage.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.detection.scanner import evaluate_windows
from vjcascade.errors import ModelError
from vjcascade.exports.base import Export
from vjcascade.exports.tables import used_model
from vjcascade.exports.trial import Trial
from vjcascade.messages import pluralize
from vjcascade.types import FeatureType

UNIT = 4096
"""The camera multiplies weights by this."""

MIN_VARIANCE = 2500
"""The camera skips windows with a smaller variance."""

MAX_PIXELS = (2**16 - 1) // 50
"""With more pixels, the camera's standard deviation overflows in every window that it does not skip."""

_INT8, _INT16, _INT32 = 2**7 - 1, 2**15 - 1, 2**31 - 1


class CameraModel(NamedTuple):
    """The arrays of a file.

    Attributes
    ----------
    window : (int, int)
        Width and height.
    stage_sizes : ndarray of shape (n_stages,), dtype uint8
        Number of stumps in each stage.
    stage_thresholds : ndarray of shape (n_stages,), dtype int16
        Smallest sums that pass.
    thresholds, left, right : ndarray of shape (n_stumps,), dtype int16
        Thresholds and leaf values of stumps.
    n_rects : ndarray of shape (n_stumps,), dtype uint8
        Number of rectangles of each stump.
    weights : ndarray of shape (n_rects,), dtype int8
        Weights of all rectangles.
    rects : ndarray of shape (n_rects, 4), dtype int8
        `x, y, w, h`.
    """

    window: tuple[int, int]
    stage_sizes: NDArray[np.uint8]
    stage_thresholds: NDArray[np.int16]
    thresholds: NDArray[np.int16]
    left: NDArray[np.int16]
    right: NDArray[np.int16]
    n_rects: NDArray[np.uint8]
    weights: NDArray[np.int8]
    rects: NDArray[np.int8]


class OpenMv(Export):
    """A `.cascade` for OpenMV cameras: upright Haar stumps in integers."""

    name = "openmv"
    suffixes = (".cascade",)
    label = "OpenMV cascade"
    hint = "On the camera: img.find_features(image.HaarCascade(FILE), threshold=1.0, scale_factor=1.1)"

    def dump(self, cascade: Cascade, path: Path) -> bytes:
        """Return the file's content.

        Raises
        ------
        ModelError
            If the format cannot express the model.
        """
        del path
        used, _ = used_model(cascade)
        _check(used)
        return _packed(_camera_model(used))

    def verify(self, data: bytes, trial: Trial, path: Path) -> str:
        """Read the file back, run it with the camera's arithmetic, and report how many decisions differ."""
        del path
        model, n_stages = read_camera_model(data), trial.cascade.n_stages
        _, was_seen = judged_by_camera(model, trial.windows)
        n_faint = int(((trial.passed == n_stages) & ~was_seen).sum())
        windows = _with_contrast(trial.windows)
        accepted, is_seen = judged_by_camera(model, windows)
        expected = evaluate_windows(trial.cascade, windows, 1)[0] == n_stages
        equal = (accepted == expected)[is_seen].mean() if is_seen.any() else 1.0
        n_accepted, n_kept = int(expected[is_seen].sum()), int((accepted & expected).sum())
        n_added = int((accepted & ~expected).sum())
        return (
            f"read back and run with the camera's integers. {equal:.2%} of decisions are identical, on windows whose "
            f"contrast was raised to what the camera needs: of {pluralize(n_accepted, 'accepted window')}, "
            f"{n_kept:,} are still accepted, and {n_added:,} others are accepted, too. Before that, {n_faint:,} "
            "accepted windows had a standard deviation below 50 grey levels: the camera would skip these"
        )


def _with_contrast(windows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return windows with the contrast of faint ones stretched, so that the camera does not skip them."""
    levels = windows.astype(np.float64)
    means = levels.mean(axis=(1, 2), keepdims=True)
    deviations = levels.std(axis=(1, 2), keepdims=True)
    wanted = np.linspace(52, 75, len(windows)).reshape(-1, 1, 1)
    factors = np.where(deviations < wanted, wanted / np.maximum(deviations, 1), 1.0)
    stretched = np.clip(means, 100, 155) + (levels - means) * factors
    return np.where(factors > 1, np.clip(np.rint(stretched), 0, 255), levels).astype(np.uint8)


def _check(cascade: Cascade) -> None:
    """Refuse a model that the format cannot express, with the reason."""
    if cascade.feature_type is FeatureType.LBP:
        raise ModelError("OpenMV's cascades have no LBP features; train with Haar features")
    if cascade.features["tilted"].any():
        n = int(cascade.features["tilted"].sum())
        raise ModelError(
            f"OpenMV's cascades have no tilted features, but the model has {n}; train with --mode basic or core"
        )
    if len(cascade.nodes) != cascade.n_trees:
        raise ModelError(
            "OpenMV's cascades have stumps only, but the model has deeper trees; train with --max-depth 1"
        )
    if cascade.stage_sizes.max() > 255:
        stage = int(cascade.stage_sizes.argmax())
        raise ModelError(
            f"a stage of OpenMV's cascades has at most 255 weak classifiers, but stage {stage + 1} of the model has "
            f"{cascade.stage_sizes[stage]}; train with --max-weak 255 or less, or drop this stage with --stages"
        )
    width, height = cascade.window
    if width * height > MAX_PIXELS:
        raise ModelError(
            f"the window {cascade.window} has {width * height:,} pixels, but the camera's 32 bits overflow with more "
            f"than {MAX_PIXELS:,}; train with a smaller window"
        )
    if cascade.features["rects"].max() > _INT8:
        raise ModelError(
            f"coordinates and sizes in OpenMV's cascades are at most {_INT8}, but the window {cascade.window} needs "
            "larger ones; train with a smaller window"
        )
    weights = cascade.features["weights"]
    if (weights != np.rint(weights)).any() or np.abs(weights).max() > _INT8:
        raise ModelError(
            f"rectangle weights in OpenMV's cascades are integers from -{_INT8} to {_INT8}, but the model has others"
        )


def _camera_model(cascade: Cascade) -> CameraModel:
    """Convert a cascade to integers."""
    width, height = cascade.window
    share = (
        (width - 2) * (height - 2) / (width * height)
    )  # the camera's standard deviation includes the border
    features = cascade.features[cascade.nodes["feature"]]
    thresholds, n_rects, weights, rects = [], [], [], []
    for node, feature in enumerate(features):
        present = np.flatnonzero((feature["weights"] != 0) | (np.arange(3) < 2))
        whole = feature["weights"][present].astype(np.int64)
        threshold = float(cascade.nodes["threshold"][node]) * share * UNIT
        factor = _factor(node, whole, feature["rects"][present], threshold)
        thresholds.append(math.floor(threshold * factor + 0.5))
        n_rects.append(len(present))
        weights += (whole * factor).tolist()
        rects += feature["rects"][present].tolist()
    stage_thresholds, leaves = _stage_numbers(cascade)
    return CameraModel(
        (width, height),
        cascade.stage_sizes.astype(np.uint8),
        stage_thresholds,
        np.array(thresholds, np.int16),
        leaves[:, 0],
        leaves[:, 1],
        np.array(n_rects, np.uint8),
        np.array(weights, np.int8),
        np.array(rects, np.int8),
    )


def _factor(node: int, weights: NDArray[np.int64], rects: NDArray[np.int32], threshold: float) -> int:
    """Return the largest factor for a stump's weights and threshold that overflows nothing."""
    sizes = rects[:, 2].astype(np.int64) * rects[:, 3] * 255 * np.abs(weights) * UNIT
    most = int(sizes.max())
    if most > _INT32:
        raise ModelError(
            f"the weighted sum over a rectangle of weak classifier {node + 1} overflows the camera's 32 bits; train "
            "with a smaller window"
        )
    if abs(threshold) > _INT16:
        raise ModelError(
            f"the threshold of weak classifier {node + 1} is {threshold / UNIT:.3g} in OpenMV's unit, but 16 bits can "
            f"hold at most {_INT16 / UNIT:.3g}; this model cannot be exported for OpenMV"
        )
    heaviest = max(int(np.abs(weights).max()), 1)
    bounds = [_INT32 // max(most, 1), _INT8 // heaviest]
    if threshold:
        bounds.append(int(_INT16 / abs(threshold)))
    return min(bounds)


def _stage_numbers(cascade: Cascade) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Return stage thresholds (n_stages,) and leaf values (n_stumps, 2), scaled per stage to use all 16 bits."""
    leaves = cascade.leaves.reshape(-1, 2).astype(np.float64)
    thresholds = cascade.effective_thresholds.astype(np.float64)
    whole_leaves, whole_thresholds = np.empty(leaves.shape, np.int16), np.empty(len(thresholds), np.int16)
    for stage, threshold in enumerate(thresholds):
        stumps = slice(cascade.stage_starts[stage], cascade.stage_starts[stage + 1])
        largest = max(float(np.abs(leaves[stumps]).max()), abs(float(threshold)), 1e-30)
        scale = _INT16 / largest
        whole_leaves[stumps] = np.rint(leaves[stumps] * scale)
        whole_thresholds[stage] = math.floor(
            threshold * scale
        )  # rounded down, as a sum equal to the threshold passes
    return whole_thresholds, whole_leaves


def _packed(model: CameraModel) -> bytes:
    n_stages = len(model.stage_sizes)
    head = struct.pack("<3i", *model.window, n_stages)
    sizes = model.stage_sizes.tobytes() + bytes(-n_stages % 4)
    words = (model.stage_thresholds, model.thresholds, model.left, model.right)
    body = b"".join(np.ascontiguousarray(array).astype("<i2").tobytes() for array in words)
    return head + sizes + body + model.n_rects.tobytes() + model.weights.tobytes() + model.rects.tobytes()


def read_camera_model(data: bytes) -> CameraModel:
    """Read a `.cascade` file.

    Parameters
    ----------
    data : bytes
        The whole file.

    Returns
    -------
    CameraModel
        Its arrays.

    Raises
    ------
    ModelError
        If its length does not fit its header.

    Examples
    --------
    >>> read_camera_model(bytes(12)).window
    (0, 0)
    """
    if len(data) < 12:
        raise ModelError(f"an OpenMV cascade has at least 12 bytes, not {len(data)}")
    width, height, n_stages = struct.unpack("<3i", data[:12])
    if not 0 <= n_stages <= len(data):
        raise ModelError(f"an OpenMV cascade cannot have {n_stages} stages")
    place = 12

    def take(n: int, dtype: str) -> NDArray[Any]:
        nonlocal place
        end = place + n * np.dtype(dtype).itemsize
        if end > len(data):
            raise ModelError(
                f"the OpenMV cascade ends after {len(data)} bytes, but its header requires {end} or more"
            )
        part, place = np.frombuffer(data[place:end], dtype), end
        return part

    sizes = take(n_stages, "<u1")
    place += -n_stages % 4
    n_stumps = int(sizes.astype(np.int64).sum())
    stage_thresholds, thresholds, left, right = (
        take(n, "<i2") for n in (n_stages, n_stumps, n_stumps, n_stumps)
    )
    n_rects = take(n_stumps, "<u1")
    n_all = int(n_rects.astype(np.int64).sum())
    weights, rects = take(n_all, "<i1"), take(4 * n_all, "<i1").reshape(-1, 4)
    if place != len(data):
        raise ModelError(f"the OpenMV cascade has {pluralize(len(data), 'byte')} instead of {place:,}")
    words = (stage_thresholds, thresholds, left, right)
    return CameraModel((width, height), sizes, *words, n_rects, weights, rects)


def judged_by_camera(
    model: CameraModel, windows: NDArray[np.uint8]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Classify windows with the camera's arithmetic, 32 bits with wrap-around, at threshold 1.0.

    Parameters
    ----------
    model : CameraModel
        From `read_camera_model`.
    windows : ndarray of shape (n, h, w), dtype uint8
        Grey windows.

    Returns
    -------
    accepted : ndarray of shape (n,), dtype bool
        Those that pass all stages.
    has_contrast : ndarray of shape (n,), dtype bool
        Those that the camera does not skip.

    Examples
    --------
    >>> model = CameraModel((2, 1), *(np.zeros(0, np.int16) for _ in range(7)), np.zeros((0, 4), np.int8))
    >>> [part.tolist() for part in judged_by_camera(model, np.array([[[0, 255]], [[7, 8]]], np.uint8))]
    [[True, False], [True, False]]
    """
    n = len(windows)
    pixels = windows.shape[1] * windows.shape[2]
    sums = windows.sum(axis=(1, 2), dtype=np.int64)
    squares = (windows.astype(np.int64) ** 2).sum(axis=(1, 2))
    has_contrast = squares // pixels - (sums // pixels) ** 2 >= MIN_VARIANCE
    spread = (squares * pixels - sums * sums) % 2**32
    deviations = np.sqrt(spread.astype(np.float32)).astype(np.int64)
    total = np.zeros((n, windows.shape[1] + 1, windows.shape[2] + 1), np.int64)
    total[:, 1:, 1:] = windows.cumsum(axis=1, dtype=np.int64).cumsum(axis=2)
    alive = np.flatnonzero(has_contrast)
    stump = rect = 0
    for size, threshold in zip(model.stage_sizes.tolist(), model.stage_thresholds.tolist(), strict=True):
        stage_sums = np.zeros(len(alive), np.int64)
        for _ in range(size):
            value = np.zeros(len(alive), np.int64)
            for _ in range(int(model.n_rects[stump])):
                x, y, w, h = model.rects[rect].tolist()
                corners = (
                    total[alive, y + h, x + w]
                    - total[alive, y, x + w]
                    - total[alive, y + h, x]
                    + total[alive, y, x]
                )
                value += corners * (int(model.weights[rect]) * UNIT)
                rect += 1
            is_right = _wrapped(value) >= _wrapped(int(model.thresholds[stump]) * deviations[alive])
            stage_sums += np.where(is_right, int(model.right[stump]), int(model.left[stump]))
            stump += 1
        alive = alive[stage_sums >= threshold]
    accepted = np.zeros(n, bool)
    accepted[alive] = True
    return accepted, has_contrast


def _wrapped(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return values wrapped to signed 32 bits."""
    return (values + 2**31) % 2**32 - 2**31
