"""What hands do on the page, as `tools/bench_labelling.py` counts it."""

from __future__ import annotations

from collections import Counter

from bench_labelling import label_until, n_right
from label_server import FACE

X, Y, WIDTH, HEIGHT = FACE
TRUTH = {
    "astronaut.png": [[*FACE], [8, 200, 40, 40]],
    "mirrored.png": [[256 - X - WIDTH, Y, WIDTH, HEIGHT]],
}
"""Two faces, and a place that no model would find."""


def counted(served, open_page):
    """Return what it takes to label both photos."""
    page = open_page(served.address, 1920, 1080, bypass_csp=True)
    hands = label_until(page, served.folder, TRUTH, 3, sheet=2)
    assert n_right(served.folder, TRUTH)[0] == 3
    assert page.problems == []
    return hands


def test_each_box_is_drawn_where_there_is_no_model(serve_folder, faces, open_page):
    (faces / "lawn.png").unlink()
    (faces / "pasted.png").unlink()
    hands = counted(serve_folder(faces), open_page)
    assert hands.done == Counter(drags=3, keys=1)
    assert hands.presses == 7


def test_only_what_a_model_misses_is_drawn(serve_folder, faces, face_model, open_page):
    (faces / "lawn.png").unlink()
    (faces / "pasted.png").unlink()
    hands = counted(serve_folder(faces, model=face_model), open_page)
    assert hands.done["drags"] == 1
    assert hands.done["keys"] >= 1
