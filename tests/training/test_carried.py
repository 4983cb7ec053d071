"""What a run keeps of its false alarms."""

from __future__ import annotations

import numpy as np
import pytest

from vjcascade.errors import SettingsError
from vjcascade.training.carried import Carried
from vjcascade.types import Size


@pytest.fixture
def carried(rng):
    return Carried(rng.integers(0, 256, (5, 6, 7), np.uint8), rng.integers(0, 256, (3, 6, 7), np.uint8))


def test_windows_survive_the_file(tmp_path, carried):
    path = tmp_path / "negatives-3.npz"
    carried.save(path)
    again = Carried.load(path, carried.digest)
    assert again.training.tobytes() == carried.training.tobytes()
    assert again.held_out.tobytes() == carried.held_out.tobytes()
    first = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == first


def test_the_digest_tells_windows_apart(carried):
    nothing = Carried.none(Size(7, 6))
    others = [
        Carried(carried.held_out, carried.training),
        Carried(carried.training, carried.held_out[:2]),
        Carried(255 - carried.training, carried.held_out),
        Carried(np.concatenate([carried.training, carried.held_out]), nothing.held_out),
        nothing,
    ]
    assert len({one.digest for one in [carried, *others]}) == 6
    assert [one.is_empty for one in [carried, *others]] == [False] * 5 + [True]


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda data: data[: len(data) // 2], "damaged"),
        (lambda _: b"", "damaged"),
        (lambda _: b"no archive", "damaged"),
        (lambda data: data.replace(b"held_out", b"held-out"), "damaged"),
        (None, "cannot be read"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, carried, damage, why):
    path = tmp_path / "negatives-3.npz"
    carried.save(path)
    data = path.read_bytes()
    path.unlink()
    if damage is not None:
        path.write_bytes(damage(data))
    with pytest.raises(SettingsError, match=why) as caught:
        Carried.load(path, carried.digest)
    assert str(path) in str(caught.value)


def test_the_file_of_another_model_is_refused(tmp_path, carried):
    carried.save(tmp_path / "negatives-3.npz")
    with pytest.raises(SettingsError, match=r"negatives-3\.npz is needed to resume, and is not the file of"):
        Carried.load(tmp_path / "negatives-3.npz", "0" * 64)
