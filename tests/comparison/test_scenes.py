"""Lists of scenes, and what may be wrong with them."""

from __future__ import annotations

import numpy as np
import pytest

from vjcascade.comparison.scenes import read_scenes
from vjcascade.errors import SourceError
from vjcascade.imaging import write_image


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["a.png 0"], "has no box"),
        (
            ["a.png 1 2 2 9 9", "b.png 1 2 2 9 9"],
            r"(?s)1 line .* cannot be used.*info.dat:2: b.png: not found",
        ),
        (["a.png 1 2 2 9"], "info.dat:1: 'a.png 1 2 2 9': the count 1 needs four numbers"),
        (["a.png 1 2 2 0 9"], "box 2 2 0 9 is empty or lies outside the picture of 30x20 pixels"),
        (["a.png 1 30 2 4 9"], "box 30 2 4 9 is empty or lies outside"),
        (["a.png 1 2 2 9 9", "./a.png 0"], "info.dat:2: ./a.png is named twice"),
        (["c.png 1 2 2 9 9"], "info.dat:1: c.png: "),
    ],
)
def test_a_list_of_scenes_must_be_right_throughout(tmp_path, lines, sentence):
    write_image(tmp_path / "a.png", np.zeros((20, 30), np.uint8))
    (tmp_path / "c.png").write_bytes(b"no picture")
    (tmp_path / "info.dat").write_text("\n".join(lines))
    with pytest.raises(SourceError, match=sentence):
        read_scenes(tmp_path / "info.dat")


def test_a_folder_or_nothing_is_no_list_of_scenes(tmp_path):
    (tmp_path / "info.dat").write_text("")
    with pytest.raises(SourceError, match="is a folder, which tells no boxes"):
        read_scenes(tmp_path)
    with pytest.raises(SourceError, match=r"does not exist; did you mean info\.dat\?"):
        read_scenes(tmp_path / "infos.dat")


def test_boxes_are_cut_to_the_picture(tmp_path):
    write_image(tmp_path / "a.png", np.zeros((20, 30), np.uint8))
    (tmp_path / "info.dat").write_text("a.png 2 -1 2 9 30 25 0 9 9")
    assert read_scenes(tmp_path / "info.dat").scenes[0].boxes.tolist() == [[0, 2, 8, 18], [25, 0, 5, 9]]
