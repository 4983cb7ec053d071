"""`train_from_sources`: what it refuses before it reads a picture."""

from __future__ import annotations

import numpy as np
import pytest
from easy_pictures import easy_positive, save, soft_noise

from vjcascade import TrainingSettings, train_from_sources
from vjcascade.errors import ModelError, SettingsError, SourceError
from vjcascade.types import Size


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"window": Size(2, 2)}, "window 2x2 is not usable"),
        ({"window": (300, 300)}, r"window \(300, 300\) is not usable"),
        ({"window": (24.5, 24)}, r"window \(24.5, 24\)"),
        ({"window": "24x24"}, "window '24x24'"),
        ({"n_threads": 0}, "n_threads 0 is not a whole number, at least 1"),
        ({"n_threads": -3}, "n_threads -3"),
    ],
)
def test_what_cannot_be_used_is_refused_before_a_picture_is_read(tmp_path, options, sentence):
    with pytest.raises(SettingsError, match=sentence):
        train_from_sources(tmp_path / "no pos", tmp_path / "no neg", tmp_path / "out", **options)


def test_a_pair_is_a_window(tmp_path, rng):
    save(tmp_path / "pos", [easy_positive(rng) for _ in range(12)])
    save(tmp_path / "neg", [soft_noise(rng, 60) for _ in range(2)])
    settings = TrainingSettings(n_negatives=np.int64(20), max_stages=1, max_weak=2)
    cascade = train_from_sources(
        tmp_path / "pos", tmp_path / "neg", tmp_path / "out", settings, window=(12, 12)
    )
    assert cascade.window == Size(12, 12)

    (tmp_path / "out" / "cascade.xml").write_bytes(b"<opencv_storage>")
    with pytest.raises(ModelError):
        train_from_sources(
            tmp_path / "pos", tmp_path / "neg", tmp_path / "out", settings, window=(12, 12), resume=True
        )


def test_one_folder_cannot_be_both(tmp_path):
    with pytest.raises(SourceError, match="for positives and negatives"):
        train_from_sources(tmp_path, tmp_path / ".." / tmp_path.name, tmp_path / "out")
