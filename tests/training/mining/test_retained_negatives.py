"""What a run keeps of its false alarms."""

from __future__ import annotations

import numpy as np
import pytest

from vjcascade.errors import SettingsError
from vjcascade.training.mining.retained_negatives import RetainedNegatives
from vjcascade.types import Size

STAGES = "ab" * 32
"""Digest of the cascade that they belong to."""


@pytest.fixture
def retained(rng):
    return RetainedNegatives(
        rng.integers(0, 256, (5, 6, 7), np.uint8), rng.integers(0, 256, (3, 6, 7), np.uint8)
    )


def test_windows_survive_the_file(tmp_path, retained):
    path = tmp_path / "negatives-3.npz"
    path.write_bytes(retained.packed(STAGES))
    again = RetainedNegatives.load(path, retained.digest, STAGES)
    assert again.training.tobytes() == retained.training.tobytes()
    assert again.held_out.tobytes() == retained.held_out.tobytes()
    assert again.packed(STAGES) == path.read_bytes()


def test_a_file_of_an_earlier_version_belongs_to_any_stages(tmp_path, retained):
    path = tmp_path / "negatives-3.npz"
    np.savez(path, training=retained.training, held_out=retained.held_out)
    assert RetainedNegatives.load(path, retained.digest, STAGES).digest == retained.digest


def test_other_stages_are_refused(tmp_path, retained):
    path = tmp_path / "negatives-3.npz"
    path.write_bytes(retained.packed(STAGES))
    with pytest.raises(
        SettingsError, match=r"cascade\.xml cannot be resumed: it is not the model that this run"
    ):
        RetainedNegatives.load(path, retained.digest, "cd" * 32)


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
    if damage is not None:
        path.write_bytes(damage(retained.packed(STAGES)))
    with pytest.raises(SettingsError, match=why) as caught:
        RetainedNegatives.load(path, retained.digest, STAGES)
    assert str(path) in str(caught.value)


def test_the_file_of_another_model_is_refused(tmp_path, retained):
    (tmp_path / "negatives-3.npz").write_bytes(retained.packed(STAGES))
    with pytest.raises(SettingsError, match=r"negatives-3\.npz is needed to resume, and is not the file of"):
        RetainedNegatives.load(tmp_path / "negatives-3.npz", "0" * 64, STAGES)
