"""OpenMV's binary cascades, and the arithmetic of its cameras in NumPy.

A file holds, little-endian and one array after the other: int32 width, height and number of stages; uint8 weak
classifiers of each stage, filled up to a multiple of four; int16 stage thresholds; of each stump int16 threshold, left
and right leaf value, and uint8 number of rectangles; of each rectangle int8 weight, and then int8 x, y, w, h.

A camera (firmware 4) sums pixels of rectangles times weight times 4096, and compares with threshold times standard
deviation, in 32 bits. It measures that over the whole window, where OpenCV leaves the border out, and takes no window
of less than 50 grey levels. What is free to choose is chosen so that rounding costs least: a stump's weights and
threshold may share any factor, and so may the leaf values and the threshold of a stage.
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
"""What a camera multiplies weights by."""

MIN_VARIANCE = 2500
"""A camera takes no window of a smaller variance."""

MAX_PIXELS = (2**16 - 1) // 50
"""In larger windows, the camera's standard deviation overflows wherever it is large enough to be looked at."""

_INT8, _INT16, _INT32 = 2**7 - 1, 2**15 - 1, 2**31 - 1


class CameraModel(NamedTuple):
    """What is in a file.

    Attributes
    ----------
    window : (int, int)
        Width and height.
    stage_sizes : ndarray of shape (n_stages,), dtype uint8
        Stumps of each stage.
    stage_thresholds : ndarray of shape (n_stages,), dtype int16
        Least sums.
    thresholds, left, right : ndarray of shape (n_stumps,), dtype int16
        Of stumps; leaf values.
    n_rects : ndarray of shape (n_stumps,), dtype uint8
        Rectangles of each stump.
    weights : ndarray of shape (n_rects,), dtype int8
        Of all rectangles.
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
        """Return the file's bytes.

        Raises
        ------
        ModelError
            If the format cannot express the model.
        """
        del path
        used, _ = used_model(cascade)
        _check(used)
        return _packed(_camera_model(used))

    def prove(self, data: bytes, trial: Trial, path: Path) -> str:
        """Read the file back, judge windows as a camera does, and tell how far that differs."""
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
            f"read back and run in the camera's integers. With their contrast raised to what the camera asks for, "
            f"{equal:.2%} of decisions are equal: of {pluralize(n_accepted, 'accepted window')}, {n_kept:,} stay "
            f"accepted, and {n_added:,} others are. As they were, {n_faint:,} accepted ones had a standard deviation "
            "below 50 grey levels: the camera looks at none of these"
        )


def _with_contrast(windows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return windows in which faint ones are stretched to standard deviations that a camera looks at."""
    levels = windows.astype(np.float64)
    means = levels.mean(axis=(1, 2), keepdims=True)
    deviations = levels.std(axis=(1, 2), keepdims=True)
    wanted = np.linspace(52, 75, len(windows)).reshape(-1, 1, 1)
    factors = np.where(deviations < wanted, wanted / np.maximum(deviations, 1), 1.0)
    stretched = np.clip(means, 100, 155) + (levels - means) * factors
    return np.where(factors > 1, np.clip(np.rint(stretched), 0, 255), levels).astype(np.uint8)


def _check(cascade: Cascade) -> None:
    """Refuse what the format cannot express, each with its reason."""
    if cascade.feature_type is FeatureType.LBP:
        raise ModelError("OpenMV's cascades have no LBP features; train with Haar features")
    if cascade.features["tilted"].any():
        n = int(cascade.features["tilted"].sum())
        raise ModelError(
            f"OpenMV's cascades have no tilted features, the model has {n}; train with mode basic or core"
        )
    if len(cascade.nodes) != cascade.n_trees:
        raise ModelError(
            "OpenMV's cascades have stumps only, the model has deeper trees; train with max_depth 1"
        )
    if cascade.stage_sizes.max() > 255:
        stage = int(cascade.stage_sizes.argmax())
        raise ModelError(
            f"a stage of OpenMV's cascades has at most 255 weak classifiers, stage {stage + 1} of the model has "
            f"{cascade.stage_sizes[stage]}; train with max_weak 255 or less, or keep the stages before with --stages"
        )
    width, height = cascade.window
    if width * height > MAX_PIXELS:
        raise ModelError(
            f"the window {cascade.window} has {width * height:,} pixels; in more than {MAX_PIXELS:,} the camera's 32 "
            "bits overflow; train with a smaller window"
        )
    if cascade.features["rects"].max() > _INT8:
        raise ModelError(
            f"OpenMV's cascades hold places and sizes up to {_INT8}, the window {cascade.window} needs larger ones; "
            "train with a smaller window"
        )
    weights = cascade.features["weights"]
    if (weights != np.rint(weights)).any() or np.abs(weights).max() > _INT8:
        raise ModelError(
            f"OpenMV's cascades have whole weights of rectangles from -{_INT8} to {_INT8}, the model has others"
        )


def _camera_model(cascade: Cascade) -> CameraModel:
    """Bring a cascade into integers."""
    width, height = cascade.window
    share = (width - 2) * (height - 2) / (width * height)  # contrast is measured with the border here
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
    """Return the largest factor for a stump's weights and threshold with which nothing overflows."""
    sizes = rects[:, 2].astype(np.int64) * rects[:, 3] * 255 * np.abs(weights) * UNIT
    most = int(sizes.max())
    if most > _INT32:
        raise ModelError(
            f"the sum over a rectangle of weak classifier {node + 1}, times its weight, overflows the camera's 32 "
            "bits; train with a smaller window"
        )
    if abs(threshold) > _INT16:
        raise ModelError(
            f"the threshold of weak classifier {node + 1} is {threshold / UNIT:.3g} in OpenMV's unit, and at most "
            f"{_INT16 / UNIT:.3g} fits its 16 bits"
        )
    heaviest = max(int(np.abs(weights).max()), 1)
    bounds = [_INT32 // max(most, 1), _INT8 // heaviest]
    if threshold:
        bounds.append(int(_INT16 / abs(threshold)))
    return min(bounds)


def _stage_numbers(cascade: Cascade) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Return stage thresholds (n_stages,) and leaf values (n_stumps, 2), each stage scaled to fill 16 bits."""
    leaves = cascade.leaves.reshape(-1, 2).astype(np.float64)
    thresholds = cascade.effective_thresholds.astype(np.float64)
    whole_leaves, whole_thresholds = np.empty(leaves.shape, np.int16), np.empty(len(thresholds), np.int16)
    for stage, threshold in enumerate(thresholds):
        stumps = slice(cascade.stage_starts[stage], cascade.stage_starts[stage + 1])
        largest = max(float(np.abs(leaves[stumps]).max()), abs(float(threshold)), 1e-30)
        scale = _INT16 / largest
        whole_leaves[stumps] = np.rint(leaves[stumps] * scale)
        whole_thresholds[stage] = math.floor(threshold * scale)  # where sums tie with it, the window passes
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
        If it is shorter or longer than it says.

    Examples
    --------
    >>> read_camera_model(bytes(12)).window
    (0, 0)
    """
    if len(data) < 12:
        raise ModelError(f"a cascade of OpenMV has at least 12 bytes, not {len(data)}")
    width, height, n_stages = struct.unpack("<3i", data[:12])
    if not 0 <= n_stages <= len(data):
        raise ModelError(f"{n_stages} stages are not what a cascade of OpenMV can have")
    place = 12

    def take(n: int, dtype: str) -> NDArray[Any]:
        nonlocal place
        end = place + n * np.dtype(dtype).itemsize
        if end > len(data):
            raise ModelError(
                f"the cascade of OpenMV ends after {len(data)} bytes, and says that it has {end} or more"
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
        raise ModelError(f"the cascade of OpenMV has {pluralize(len(data), 'byte')} instead of {place:,}")
    words = (stage_thresholds, thresholds, left, right)
    return CameraModel((width, height), sizes, *words, n_rects, weights, rects)


def judged_by_camera(
    model: CameraModel, windows: NDArray[np.uint8]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Judge windows as a camera does, at threshold 1.0: in 32 bits, which wrap.

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
        Those that are looked at.

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
    """Return values as 32 bits hold them."""
    return (values + 2**31) % 2**32 - 2**31
