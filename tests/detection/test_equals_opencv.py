"""The detector against OpenCV 4.14: the same windows, the same sums, the same groups, in the same order."""

import builders
import numpy as np
import pytest

from vjcascade.cascade import Cascade
from vjcascade.detection import Detector, detect, evaluate_windows
from vjcascade.imaging import resize_exact
from vjcascade.types import Size

pytestmark = pytest.mark.oracle

NONE = (0, 0, 0, 0)
SETTINGS = np.array(
    [
        # scale factor, min neighbors, min width, min height, max width, max height
        (1.1, 0, *NONE),
        (1.1, 3, *NONE),
        (1.03, 2, 70, 70, 0, 0),
        (1.25, 0, 0, 0, 90, 90),
        (1.7, 1, 30, 60, 0, 0),
        (1.1, 0, 60, 60, 61, 61),  # none between them
        (1.1, 0, 5000, 5000, 0, 0),
    ]
)
MODELS = [
    ("haarcascade_frontalface_default", "astronaut.png"),
    ("haarcascade_frontalface_alt2", "coffee.png"),  # trees
    ("haarcascade_frontalface_alt_tree", "astronaut.png"),
    ("haarcascade_eye_tree_eyeglasses", "astronaut.png"),  # tilted trees
    ("haarcascade_lefteye_2splits", "chelsea.png"),
    ("haarcascade_fullbody", "rocket.jpg"),  # tilted
    ("haarcascade_smile", "camera.png"),
]


def our_settings(row):
    factor, neighbors, *sides = row
    low, high = (tuple(int(v) for v in pair) if all(pair) else None for pair in (sides[:2], sides[2:]))
    return {"scale_factor": float(factor), "min_neighbors": int(neighbors), "min_size": low, "max_size": high}


def assert_same(cascade, xml, images, settings, oracle):
    """Compare every setting on every image; return how many boxes there were."""
    expected = oracle(
        "detect", xml=xml, settings=settings, **{f"image_{i}": im for i, im in enumerate(images)}
    )
    ends = np.cumsum(expected["n_boxes"])
    runs = [(image, row) for image in images for row in settings]
    bar = float(cascade.effective_thresholds[-1])
    for (image, row), start, end in zip(runs, ends - expected["n_boxes"], ends, strict=True):
        found = detect(image, cascade, **our_settings(row))
        np.testing.assert_array_equal(
            found.boxes, expected["boxes"][start:end], err_msg=f"{row} {image.shape}"
        )
        np.testing.assert_array_equal(found.neighbors, expected["counts"][start:end])
        np.testing.assert_array_equal(found.scores, expected["weights"][start:end] - bar)
    return int(ends[-1])


@pytest.mark.parametrize(("model", "picture"), MODELS)
def test_shipped_models(model, picture, oracle, opencv_models):
    xml = opencv_models / f"{model}.xml"
    image = builders.picture(picture)[:330, :400]
    assert assert_same(Cascade.load(xml), xml, [image, image[7:200, 5:180]], SETTINGS, oracle) > 0


@pytest.mark.parametrize("kind", [{}, {"tilted_share": 0.4}, {"tree_share": 0.6, "tilted_share": 0.2}])
def test_random_models(kind, rng, oracle, tmp_path):
    cascade = builders.random_cascade(rng, Size(20, 16), (4, 5, 6), **kind)
    cascade.save(tmp_path / "model.xml")
    images = [builders.smooth_noise(rng, int(h), int(w)) for h, w in rng.integers(16, 120, (6, 2))]
    assert assert_same(cascade, tmp_path / "model.xml", images, SETTINGS[:5], oracle) > 100


def test_every_window_of_random_sizes(rng, oracle, tmp_path):
    cascade = builders.accept_all()
    cascade.save(tmp_path / "all.xml")
    sizes = [(40, 28), *rng.integers(24, 110, (60, 2)).tolist()]
    images = [builders.smooth_noise(rng, h, w) for h, w in sizes]
    settings = np.array([(1.1, 0, *NONE), (1.33, 0, *NONE)])
    assert assert_same(cascade, tmp_path / "all.xml", images, settings, oracle) > 10_000


def test_contrast_floor(oracle, tmp_path):
    cascade = builders.accept_all()
    cascade.save(tmp_path / "all.xml")
    crops = np.stack([builders.checkerboard(24, 24, amplitude) for amplitude in (9, 10, 11, 12)])
    accepted = oracle("accept_crops", xml=tmp_path / "all.xml", crops=crops)["accepted"]
    assert accepted.tolist() == [False, False, True, True]
    detector = Detector(cascade, min_neighbors=0)
    assert [len(detector.detect(crop)) > 0 for crop in crops] == accepted.tolist()
    assert evaluate_windows(cascade, crops)[0].tolist() == [-1, -1, 2, 2]


def test_crops(rng, oracle, opencv_models):
    xml = opencv_models / "haarcascade_frontalface_default.xml"
    cascade = Cascade.load(xml)
    picture = builders.picture("astronaut.png")
    boxes = detect(picture, cascade, min_neighbors=0).boxes
    boxes = np.concatenate([boxes, boxes + rng.integers(-3, 4, boxes.shape)])
    crops = np.stack([resize_exact(picture[y : y + h, x : x + w], Size(24, 24)) for x, y, w, h in boxes])
    accepted = oracle("accept_crops", xml=xml, crops=crops)["accepted"]
    assert 0 < accepted.sum() < len(crops)
    np.testing.assert_array_equal(evaluate_windows(cascade, crops)[0] == cascade.n_stages, accepted)


def test_resizing_is_the_same_in_every_opencv(rng, oracle):
    picture = builders.picture("coffee.png")
    sizes = np.stack([rng.integers(1, 601, 60), rng.integers(1, 401, 60)], axis=1)
    expected = oracle("resize_exact", gray=picture, sizes=sizes)
    for i, (width, height) in enumerate(sizes.tolist()):
        np.testing.assert_array_equal(resize_exact(picture, Size(width, height)), expected[f"level_{i}"])
