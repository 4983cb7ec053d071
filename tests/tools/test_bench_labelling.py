"""The benchmark of the page: that it counts what it does."""

import re

import numpy as np
import pytest
from labelling_page import chromium

from vjcascade.imaging import read_image, write_image


@pytest.fixture
def two_faces(tmp_path):
    """Return a folder of photos and the file of their boxes: two faces, and a plain place that is said to be one."""
    from pathlib import Path

    import skimage

    photos = tmp_path / "photos"
    photos.mkdir()
    photo = read_image(Path(skimage.__file__).parent / "data" / "astronaut.png")
    write_image(photos / "a.png", photo)
    write_image(photos / "b.png", np.ascontiguousarray(photo[:, ::-1]))
    boxes = tmp_path / "boxes.csv"
    boxes.write_text("file,x,y,w,h\na.png,174,67,98,98\na.png,20,300,60,60\nb.png,240,67,98,98\n")
    return photos, boxes


def skip_without_browser():
    pytest.importorskip("starlette", reason="the extra label is not installed")
    pytest.importorskip("playwright", reason="playwright is not installed")
    if chromium() is None:
        pytest.skip("no Chromium is installed")


def test_latency_is_measured(run_program, two_faces):
    skip_without_browser()
    photos, _ = two_faces
    for number in range(3):
        (photos / f"c{number}.png").write_bytes((photos / "a.png").read_bytes())
    done = run_program(
        "bench_labelling.py", "latency", photos, "--n-photos", "4", "--megapixels", "0.1", "--pause", "0.1"
    )
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"a key, until the next photo is on the screen \| 2 \| \d+ \| \d+ \| \d+ \|", done.stdout
    )
    assert re.search(r"a drag, until the box is on the disk \| 2 \| \d+", done.stdout)
    assert re.search(r"requests for review/pictures \| [1-9]", done.stdout)
    assert re.search(r"all requests \| \d\d", done.stdout)
