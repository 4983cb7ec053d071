from __future__ import annotations

import numpy as np
import pytest

from vjcascade.training.mining.window_hash import window_hashes


@pytest.mark.parametrize("shape", [(3, 3), (10, 12), (24, 24), (5, 7)])
def test_copies_are_equal_and_others_are_not(rng, shape):
    window = rng.integers(0, 256, shape, np.uint8)
    bits = [window.copy() for _ in range(8 * window.size)]
    for i, changed in enumerate(bits):
        changed.flat[i // 8] ^= 1 << (i % 8)
    digests = window_hashes(np.stack([window, window.copy(), *bits]))
    assert digests[0] == digests[1]
    assert len(set(digests.tolist())) == len(bits) + 1


def test_pixels_that_change_places_are_told_apart():
    """Not so if words were only added up, or places only told by their order in a word."""
    windows = np.zeros((64, 8, 8), np.uint8)
    windows.reshape(64, 64)[np.arange(64), np.arange(64)] = 255
    assert len(set(window_hashes(windows).tolist())) == 64


def test_where_windows_lie_does_not_matter(rng):
    level = rng.integers(0, 256, (40, 50), np.uint8)
    views = np.lib.stride_tricks.sliding_window_view(level, (10, 12))[::3, 5]
    assert window_hashes(views).tolist() == window_hashes(views.copy()).tolist()
    assert [window_hashes(one[None])[0] for one in views] == window_hashes(views).tolist()
    assert window_hashes(views[:0]).tolist() == []


def test_digests_equal_plain_numbers(rng):
    """They must not depend on the machine: neither on the order of bytes in a word nor on how long it is."""
    window = rng.integers(0, 256, (5, 7), np.uint8)
    padded = window.tobytes() + bytes(5)
    total = 0
    for i in range(5):
        word = int.from_bytes(padded[8 * i : 8 * i + 8], "little") + (i + 1) * 0x9E3779B97F4A7C15
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            word %= 2**64
            word = (word ^ (word >> shift)) * factor
        word %= 2**64
        total += word ^ (word >> 31)
    assert window_hashes(window[None]).tolist() == [total % 2**64]
