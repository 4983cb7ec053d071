"""All 17 models that come with OpenCV 4.14, and scikit-image's LBP model, against OpenCV on real pictures.

A fast share of what `tools/check_equality.py` compares; OpenCV answers for all models at once.
"""

from pathlib import Path

import numpy as np
import pytest
import skimage

from vjcascade.cascade import Cascade
from vjcascade.detection import detect
from vjcascade.imaging import read_image

pytestmark = pytest.mark.oracle

BUNDLED = Path(skimage.__file__).parent / "data"
LBP = "lbpcascade_frontalface_opencv"
MODELS = [
    "haarcascade_eye",
    "haarcascade_eye_tree_eyeglasses",
    "haarcascade_frontalcatface",
    "haarcascade_frontalcatface_extended",
    "haarcascade_frontalface_alt",
    "haarcascade_frontalface_alt2",
    "haarcascade_frontalface_alt_tree",
    "haarcascade_frontalface_default",
    "haarcascade_fullbody",
    "haarcascade_lefteye_2splits",
    "haarcascade_license_plate_rus_16stages",
    "haarcascade_lowerbody",
    "haarcascade_profileface",
    "haarcascade_righteye_2splits",
    "haarcascade_russian_plate_number",
    "haarcascade_smile",
    "haarcascade_upperbody",
    LBP,
]
PICTURES = [  # colour, grey, colour
    ("astronaut.png", np.s_[0:221, 120:333]),
    ("camera.png", np.s_[60:251, 120:331]),
    ("motorcycle_left.png", np.s_[240:460, 440:680]),
]
SETTINGS = [
    # scale factor, min neighbors, min size, max size
    (1.1, 0, None, None),
    (1.2, 3, None, None),
    (1.37, 0, (40, 31), (150, 170)),
]


@pytest.fixture(scope="module")
def pictures():
    return [read_image(BUNDLED / name)[part] for name, part in PICTURES]


@pytest.fixture(scope="module")
def expected(oracle, opencv_models, pictures, tmp_path_factory):
    """Return what OpenCV found: a list of (boxes, counts, weights) for each model, pictures first."""
    corrected = tmp_path_factory.mktemp("lbp") / f"{LBP}.xml"  # OpenCV refuses the misspelt tag
    corrected.write_text((BUNDLED / corrected.name).read_text().replace("featuhreParams", "featureParams"))
    paths = [corrected if name == LBP else opencv_models / f"{name}.xml" for name in MODELS]
    rows = np.array(
        [(*setting[:2], *(setting[2] or (0, 0)), *(setting[3] or (0, 0))) for setting in SETTINGS]
    )
    bgr = {f"image_{i}": image if image.ndim == 2 else image[:, :, ::-1] for i, image in enumerate(pictures)}
    found = oracle("detect_each", models=[str(path) for path in paths], settings=rows, **bgr)
    return {name: split_runs(found, i) for i, name in enumerate(MODELS)}


def split_runs(found, i):
    ends = np.cumsum(found[f"n_boxes_{i}"])[:-1]
    columns = (np.split(found[f"{name}_{i}"], ends) for name in ("boxes", "counts", "weights"))
    return list(zip(*columns, strict=True))


def test_no_model_is_left_out(opencv_models):
    assert sorted(path.stem for path in opencv_models.glob("*.xml")) == MODELS[:-1]


@pytest.mark.parametrize("name", MODELS)
def test_equal(name, expected, pictures, opencv_models):
    cascade = Cascade.load(BUNDLED / f"{name}.xml" if name == LBP else opencv_models / f"{name}.xml")
    bar = float(cascade.effective_thresholds[-1])
    runs = [(picture, setting) for picture in pictures for setting in SETTINGS]
    for (picture, setting), (boxes, counts, weights) in zip(runs, expected[name], strict=True):
        factor, neighbors, least, greatest = setting
        found = detect(
            picture,
            cascade,
            scale_factor=factor,
            min_neighbors=neighbors,
            min_size=least,
            max_size=greatest,
        )
        np.testing.assert_array_equal(found.boxes, boxes, err_msg=f"{setting} {picture.shape}")
        np.testing.assert_array_equal(found.neighbors, counts)
        np.testing.assert_array_equal(found.scores, weights - bar)
    assert sum(len(boxes) for boxes, _, _ in expected[name]) > 0
