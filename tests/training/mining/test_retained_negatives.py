"""What a run keeps of its false alarms."""

from __future__ import annotations

import numpy as np
import pytest

from vjcascade.errors import SettingsError
from vjcascade.training.mining.retained_negatives import RetainedNegatives
from vjcascade.types import Size


@pytest.fixture
def retained(rng):
    return RetainedNegatives(
        rng.integers(0, 256, (5, 6, 7), np.uint8), rng.integers(0, 256, (3, 6, 7), np.uint8)
    )


def test_windows_survive_the_file(tmp_path, retained):
    path = tmp_path / "negatives-3.npz"
    retained.save(path)
    again = RetainedNegatives.load(path, retained.digest)
    assert again.training.tobytes() == retained.training.tobytes()
    assert again.held_out.tobytes() == retained.held_out.tobytes()
    first = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == first


def test_the_digest_tells_windows_apart(retained):
    nothing = RetainedNegatives.none(Size(7, 6))
    others = [
        RetainedNegatives(retained.held_out, retained.training),
        RetainedNegatives(retained.training, retained.held_out[:2]),
        RetainedNegatives(255 - retained.training, retained.held_out),
        RetainedNegatives(np.concatenate([retained.training, retained.held_out]), nothing.held_out),
        nothing,
    ]
    assert len({one.digest for one in [retained, *others]}) == 6
    assert [one.is_empty for one in [retained, *others]] == [False] * 5 + [True]


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
def test_a_damaged_file_is_refused(tmp_path, retained, damage, why):
    path = tmp_path / "negatives-3.npz"
    retained.save(path)
    data = path.read_bytes()
    path.unlink()
    if damage is not None:
        path.write_bytes(damage(data))
    with pytest.raises(SettingsError, match=why) as caught:
        RetainedNegatives.load(path, retained.digest)
    assert str(path) in str(caught.value)


def test_the_file_of_another_model_is_refused(tmp_path, retained):
    retained.save(tmp_path / "negatives-3.npz")
    with pytest.raises(SettingsError, match=r"negatives-3\.npz is needed to resume, and is not the file of"):
        RetainedNegatives.load(tmp_path / "negatives-3.npz", "0" * 64)
