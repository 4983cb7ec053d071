"""OpenMV's cascades: the layout, what they cannot hold, and what the camera's integers cost."""

import struct
from dataclasses import replace
from pathlib import Path

import builders
import numpy as np
import pytest
from export_models import model_of
from sample_cascades import accept_all

from vjcascade.cascade import Cascade
from vjcascade.errors import ModelError
from vjcascade.exports.openmv import OpenMv, judged_by_camera, read_camera_model
from vjcascade.exports.trial import Trial
from vjcascade.features.haar import enumerate_haar
from vjcascade.types import Size

PATH = Path("m.cascade")


def whole_stumps(stages=(3, 5), seed=3):
    """Return a cascade of stumps over the features that training chooses from."""
    rng, window = np.random.default_rng(seed), Size(24, 20)
    cascade = builders.random_cascade(rng, window, stages, bar=-0.1)
    pool = enumerate_haar(window)
    return replace(cascade, features=pool[rng.integers(0, len(pool), len(cascade.features))])


def naive_decision(data, window):
    """Judge one window by plain loops over the bytes of a file, in Python's whole numbers."""
    width, height, n_stages = struct.unpack_from("<3i", data)
    sizes = data[12 : 12 + n_stages]
    at = 12 + n_stages + (4 - n_stages % 4) % 4
    n = sum(sizes)
    thresholds = struct.unpack_from(f"<{n_stages}h", data, at)
    tests, left, right = (struct.unpack_from(f"<{n}h", data, at + 2 * (n_stages + i * n)) for i in range(3))
    at += 2 * (n_stages + 3 * n)
    counts = data[at : at + n]
    weights = struct.unpack_from(f"<{sum(counts)}b", data, at + n)
    rects = struct.unpack_from(f"<{4 * sum(counts)}b", data, at + n + sum(counts))
    pixels = window.astype(int)
    total, squares, area = int(pixels.sum()), int((pixels**2).sum()), width * height
    if squares // area - (total // area) ** 2 < 2500:
        return False
    deviation = int(np.sqrt(np.float32((squares * area - total * total) % 2**32)))
    stump = rect = 0
    for size, threshold in zip(sizes, thresholds, strict=True):
        votes = 0
        for _ in range(size):
            value = 0
            for _ in range(counts[stump]):
                x, y, w, h = rects[4 * rect : 4 * rect + 4]
                value += int(pixels[y : y + h, x : x + w].sum()) * weights[rect] * 4096
                rect += 1
            votes += right[stump] if value >= tests[stump] * deviation else left[stump]
            stump += 1
        if votes < threshold:
            return False
    return True


def test_the_layout_is_the_firmwares():
    data = OpenMv().dump(accept_all(), PATH)
    threshold, leaf = -1, 32767  # leaf values of 1 fill 16 bits; 0 - 1e-5 is rounded down
    assert data == struct.pack(
        "<3i B3x hhhh B bb 8b",
        24,
        24,
        1,
        1,
        threshold,
        0,
        leaf,
        leaf,
        2,
        -63,
        126,
        0,
        0,
        2,
        2,
        0,
        0,
        1,
        2,
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("stages", [(3, 5), (1, 1, 1, 1), (2, 2, 9)])
def test_windows_are_judged_as_by_plain_loops(seed, stages):
    cascade = whole_stumps(stages=stages, seed=seed)
    rng = np.random.default_rng(seed)
    noise = rng.integers(0, 256, (20, 20, 24), np.uint8) // 128 * 200
    blocks = np.kron(rng.integers(0, 2, (20, 5, 6)) * 220, np.ones((1, 4, 4))).astype(np.uint8)
    data = OpenMv().dump(cascade, PATH)
    windows = np.concatenate([noise, blocks]).astype(np.uint8)
    accepted, _ = judged_by_camera(read_camera_model(data), windows)
    assert accepted.tolist() == [naive_decision(data, window) for window in windows]


def test_little_is_lost():
    cascade = whole_stumps(stages=(5, 9, 15, 20))
    how = OpenMv().verify(OpenMv().dump(cascade, PATH), Trial.of(cascade, 5000), PATH)
    share = float(how.partition("% of decisions")[0].rpartition(" ")[2])
    assert share > 97


def test_a_real_model():
    import vjcascade

    cascade = Cascade.load(vjcascade.compat.data.find("car"))
    model = read_camera_model(OpenMv().dump(cascade, PATH))
    assert model.stage_sizes.tolist() == cascade.stage_sizes.tolist()
    assert model.window == cascade.window
    trees = Cascade.load(vjcascade.compat.data.find("frontalface"))
    with pytest.raises(ModelError, match="stumps only"):
        OpenMv().dump(trees, PATH)


def unbalanced(weight):
    cascade = accept_all()
    features = cascade.features.copy()
    features["weights"][0, 1] = weight
    return replace(cascade, features=features)


def with_threshold(value):
    cascade = accept_all()
    nodes = cascade.nodes.copy()
    nodes["threshold"] = value
    return replace(cascade, nodes=nodes)


def with_window(window, rects):
    cascade = accept_all()
    features = cascade.features.copy()
    features["rects"][0, :2] = rects
    return replace(cascade, window=Size(*window), features=features)


@pytest.mark.parametrize(
    ("cascade", "reason"),
    [
        (model_of("lbp"), "no LBP features"),
        (model_of("tilted"), r"no tilted features, but the model has \d+; train with --mode basic"),
        (model_of("tree"), "stumps only, but the model has deeper trees; train with --max-depth 1"),
        (whole_stumps((3, 256)), "at most 255 weak classifiers, but stage 2 of the model has 256"),
        (model_of("stump"), "are integers from -127 to 127"),
        (unbalanced(0.5), "are integers from"),
        (unbalanced(128), "are integers from"),
        (
            with_threshold(12),
            r"the threshold of weak classifier 1 is 10\.1 in OpenMV's unit, but 16 bits can hold at most 8",
        ),
        (with_threshold(-12), r"is -10\.1 in"),
        (
            with_window((40, 40), [(0, 0, 2, 2)] * 2),
            "40x40 has 1,600 pixels, but the camera's",
        ),
        (
            with_window((200, 6), [(150, 0, 2, 2)] * 2),
            "at most 127, but the window 200x6 needs larger",
        ),
        (
            with_window((36, 36), [(0, 0, 36, 36)] * 2),
            "rectangle of weak classifier 1 overflows",
        ),
    ],
)
def test_what_does_not_fit_is_refused(cascade, reason):
    with pytest.raises(ModelError, match=reason):
        OpenMv().dump(cascade, PATH)


def test_damaged_files():
    data = OpenMv().dump(accept_all(), PATH)
    for n in range(len(data)):
        with pytest.raises(ModelError, match=r"at least 12 bytes|ends after \d+ bytes"):
            read_camera_model(data[:n])
    with pytest.raises(ModelError, match=rf"has {len(data) + 1} bytes instead of {len(data)}"):
        read_camera_model(data + b"\0")
    with pytest.raises(ModelError, match="-1 stages"):
        read_camera_model(struct.pack("<3i", 24, 24, -1))
