"""Cascade files as a whole: any form that OpenCV reads, told apart by content, and the same detector from each.

Of the models that OpenCV ships, four are tried; VJCASCADE_THOROUGH=1 tries all 17.
"""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from model_files import as_json, as_yaml, good_files, lbp_cascade
from sample_cascades import assert_same, cascade_with

from vjcascade.cascade import Cascade
from vjcascade.errors import ModelError
from vjcascade.formats.cascade_files import dump_cascade, load_cascade, parse_cascade, save_cascade
from vjcascade.types import FeatureType, Size

SOME_SHIPPED = ["eye", "frontalcatface_extended", "lefteye_2splits", "license_plate_rus_16stages"]
OTHERS_SHIPPED = [
    *("eye_tree_eyeglasses", "frontalcatface", "frontalface_alt", "frontalface_alt2", "frontalface_alt_tree"),
    *(
        "frontalface_default",
        "fullbody",
        "lowerbody",
        "profileface",
        "righteye_2splits",
        "russian_plate_number",
    ),
    *("smile", "upperbody"),
]
SHIPPED = SOME_SHIPPED + OTHERS_SHIPPED * ("VJCASCADE_THOROUGH" in os.environ)
SEE_NOTHING = {
    "frontalcatface_extended",
    "license_plate_rus_16stages",
    "lowerbody",
    "russian_plate_number",
}


@pytest.mark.parametrize("cascade", [cascade_with({"a": 1}), lbp_cascade({"a": 1})], ids=["Haar", "LBP"])
def test_save_and_load(tmp_path, cascade):
    save_cascade(cascade, tmp_path / "model.xml")
    assert_same(load_cascade(tmp_path / "model.xml"), cascade)


def test_save_and_load_compressed(tmp_path):
    cascade = cascade_with({"a": 1})
    for name in ("model.xml.gz", "again.XML.GZ"):
        save_cascade(cascade, tmp_path / name)
        assert gzip.decompress((tmp_path / name).read_bytes()) == dump_cascade(cascade)
        assert_same(load_cascade(tmp_path / name), cascade)
    assert (tmp_path / "model.xml.gz").read_bytes() == (tmp_path / "again.XML.GZ").read_bytes()


@pytest.mark.parametrize("kind", ["new", "old"])
def test_cascade_without_stages_is_not_written(kind):
    with pytest.raises(ModelError, match="without stages"):
        dump_cascade(Cascade(Size(24, 24)), kind)


@pytest.mark.parametrize("cascade", [cascade_with(), lbp_cascade()], ids=["Haar", "LBP"])
@pytest.mark.parametrize("form", [as_yaml, as_json])
def test_yaml_and_json_hold_the_same_cascade(cascade, form):
    assert_same(parse_cascade(form(dump_cascade(cascade)), ""), cascade)


def test_content_decides_and_not_the_name(tmp_path):
    for form in ("new.xml", "new.yml", "new.json", "new.xml.gz", "new.yml.gz", "new.json.gz"):
        for name in ("model", "model.xml", "model.json", "model.yml.gz"):
            (tmp_path / name).write_bytes(good_files()[form])
            assert load_cascade(tmp_path / name).window == Size(20, 18)


@pytest.mark.oracle
def test_opencv_reads_the_files_of_these_tests(oracle, tmp_path):
    """What tests call YAML and JSON is that of OpenCV."""
    paths = [tmp_path / name for name in good_files()]
    for path, data in zip(paths, good_files().values(), strict=True):
        path.write_bytes(data)
    answer = oracle(
        "raw_windows", paths=list(map(str, paths)), gray=np.zeros((40, 40), np.uint8), scale_factor=1.1
    )
    assert (answer["n_boxes"] >= 0).all()


@pytest.mark.oracle
@pytest.mark.parametrize("form", ["xml", "yml", "json", "yml.gz", "json.gz"])
@pytest.mark.parametrize("kind", ["new", "old"])
def test_files_that_opencv_wrote_are_read(oracle, tmp_path, kind, form):
    cascade = cascade_with(leaves=(1, 0.5, 3e-8, -4, 1e30), thresholds=(-2,))
    save_cascade(cascade, tmp_path / "ours.xml", kind)
    oracle("rewrite_storage", source=tmp_path / "ours.xml", target=tmp_path / f"theirs.{form}")
    assert_same(load_cascade(tmp_path / f"theirs.{form}"), load_cascade(tmp_path / "ours.xml"))


@pytest.mark.oracle
@pytest.mark.parametrize("form", ["xml", "yml", "json", "json.gz"])
def test_lbp_files_that_opencv_wrote_are_read(oracle, tmp_path, form):
    save_cascade(lbp_cascade(), tmp_path / "ours.xml")
    oracle("rewrite_storage", source=tmp_path / "ours.xml", target=tmp_path / f"theirs.{form}")
    assert_same(load_cascade(tmp_path / f"theirs.{form}"), lbp_cascade())


@pytest.fixture(scope="module")
def crowd():
    """Return a picture in which most of the shipped cascades see something, rightly or not."""
    from skimage.data import astronaut

    from vjcascade.imaging import to_gray

    return np.ascontiguousarray(to_gray(astronaut())[:256, 128:384])


@pytest.mark.oracle
@pytest.mark.parametrize("name", SHIPPED)
def test_opencv_detects_the_same_with_both_formats(oracle, opencv_models, tmp_path, crowd, name):
    original, new, old = (
        opencv_models / f"haarcascade_{name}.xml",
        tmp_path / "new.xml",
        tmp_path / "old.xml.gz",
    )
    cascade = load_cascade(original)
    save_cascade(cascade, new, "new")
    save_cascade(cascade, old, "old")
    answer = oracle("raw_windows", paths=list(map(str, (original, new, old))), gray=crowd, scale_factor=1.05)
    assert np.ptp(answer["n_boxes"]) == 0
    theirs, *ours = answer["boxes"].reshape(3, -1, 4)
    assert all((boxes == theirs).all() for boxes in ours)
    assert len(theirs) > 0 or name in SEE_NOTHING
    if name == "license_plate_rus_16stages":  # ships in the old format
        old = original
    assert oracle("convert_old", source=old, target=tmp_path / "converted.xml")["done"]
    assert_same(load_cascade(tmp_path / "converted.xml"), load_cascade(old))


@pytest.mark.oracle
def test_lbp_file_of_scikit_image_works_in_opencv_once_written_again(oracle, tmp_path, crowd):
    from skimage.data import lbp_frontal_face_cascade_filename

    theirs, ours = Path(lbp_frontal_face_cascade_filename()), tmp_path / "ours.xml"
    cascade = load_cascade(theirs)
    assert cascade.feature_type is FeatureType.LBP
    save_cascade(cascade, ours)
    (tmp_path / "mended.xml").write_text(theirs.read_text().replace("featuhreParams", "featureParams"))
    paths = [str(path) for path in (theirs, ours, tmp_path / "mended.xml")]
    answer = oracle("raw_windows", paths=paths, gray=crowd, scale_factor=1.05)
    refused, n_ours, n_mended = answer["n_boxes"]
    assert refused == -1
    assert n_ours == n_mended > 0
    assert (answer["boxes"][:n_ours] == answer["boxes"][n_ours:]).all()
