"""What is said of the pictures that a run is given."""

from __future__ import annotations

import builders
import pytest

from vjcascade.imaging import write_image
from vjcascade.training.data.reading import Reader
from vjcascade.training.events import Note


@pytest.mark.parametrize("is_swapped", [False, True])
def test_swapped_folders_are_told(tmp_path, rng, is_swapped):
    for name, side in (("crops", 30), ("photos", 90)):
        (tmp_path / name).mkdir()
        for i in range(10):
            write_image(tmp_path / name / f"{i}.png", builders.smooth_noise(rng, side, side))
    first, second = ("photos", "crops") if is_swapped else ("crops", "photos")
    events = []
    reader = Reader(1, strict=False, listener=events.append)
    reader.photos(tmp_path / second, reader.positives(tmp_path / first, None, 8), 10**8)
    told = [
        event.text
        for event in events
        if isinstance(event, Note) and "are the two folders swapped" in event.text
    ]
    assert bool(told) == is_swapped
    if is_swapped:
        assert "no larger than 30x30, but the objects 90x90" in told[0]
