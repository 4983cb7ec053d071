"""The drop-in classifier: files, arguments, errors, threads."""

import gzip
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import builders
import numpy as np
import pytest

import vjcascade.compat as cv2
from vjcascade.cascade import Cascade
from vjcascade.errors import CascadeError
from vjcascade.imaging import opencv
from vjcascade.types import Size


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Return the file of a cascade that finds much in noise."""
    path = tmp_path_factory.mktemp("model") / "model.xml"
    builders.random_cascade(np.random.default_rng(3), Size(20, 16), (4, 5, 6), tree_share=0.3).save(path)
    return path


@pytest.fixture(scope="module")
def noise():
    return builders.smooth_noise(np.random.default_rng(5), 70, 90)


@pytest.fixture
def classifier(model):
    return cv2.CascadeClassifier(str(model))


def test_a_loaded_classifier_tells_what_it_is(classifier):
    assert classifier.empty() is False
    assert classifier.getOriginalWindowSize() == (20, 16)
    assert classifier.getFeatureType() == 0
    assert classifier.isOldFormatCascade() is False


def test_an_lbp_cascade_is_of_type_1():
    path = cv2.data.available().get("lbpcascade_frontalface_opencv")
    if path is None:
        pytest.skip("no LBP cascade of scikit-image here")
    assert cv2.CascadeClassifier(path).getFeatureType() == 1


@pytest.mark.parametrize("form", [str, Path, lambda path: str(path).encode()])
def test_paths_of_all_kinds(model, form):
    assert cv2.CascadeClassifier().load(form(model)) is True
    assert not cv2.CascadeClassifier(filename=form(model)).empty()


def test_nothing_found_is_an_empty_tuple_as_in_opencv(classifier):
    blank = np.zeros((60, 60), np.uint8)
    for image in (blank, blank[:5], blank[:0], np.empty((0, 0, 3), np.uint8), None):
        assert classifier.detectMultiScale(image) == ()
        assert classifier.detectMultiScale(image, minNeighbors=0) == ()
        assert classifier.detectMultiScale2(image) == ((), ())
        assert classifier.detectMultiScale3(image, outputRejectLevels=True) == ((), (), ())


def test_what_is_found_is_in_arrays(classifier, noise):
    assert classifier.detectMultiScale(noise, minNeighbors=0).dtype == np.int32
    boxes, levels, weights = classifier.detectMultiScale3(noise, minNeighbors=0)
    assert (boxes.shape, levels.shape, weights.shape) == ((len(boxes), 4), (len(boxes),), (len(boxes),))
    assert (boxes.dtype, levels.dtype, weights.dtype) == (np.int32, np.int32, np.float64)


BAD_CALLS = [
    (lambda c: c.detectMultiScale(None, minNeighbours=3), "'minNeighbours'; did you mean 'minNeighbors'"),
    (lambda c: c.detectMultiScale(None, scale_factor=3), "'scale_factor'; did you mean 'scaleFactor'"),
    (
        lambda c: c.detectMultiScale(None, colour=3),
        "'colour'; it takes image, scaleFactor, minNeighbors, flags, minS",
    ),
    (lambda c: c.detectMultiScale(), "missing a required argument: 'image'; it takes image"),
    (lambda c: c.detectMultiScale(None, image=None), "multiple values for argument 'image'"),
    (lambda c: c.detectMultiScale2(None, 1.1, 3, 0, (0, 0), (0, 0), 1), "too many positional arguments"),
    (
        lambda _: cv2.CascadeClassifier("a.xml", 5),
        "in function 'CascadeClassifier': too many .*; it takes filename",
    ),
    (lambda _: cv2.CascadeClassifier(file="a.xml"), "'file'; did you mean 'filename'"),
    (lambda c: c.empty(1), "in function 'empty': too many positional arguments; it takes no arguments"),
    (lambda _: cv2.CascadeClassifier.convert("a.xml"), "missing a required argument: 'newcascade'"),
    (lambda _: cv2.groupRectangles([], 1, 0.2, 3), "it takes rectList, groupThreshold, eps"),
]


@pytest.mark.parametrize(("call", "words"), BAD_CALLS, ids=range(len(BAD_CALLS)))
@pytest.mark.parametrize("kind", [opencv().error, TypeError])
def test_calls_that_do_not_fit_are_refused_as_by_opencv(classifier, call, words, kind):
    with pytest.raises(kind, match=words) as caught:
        call(classifier)
    assert caught.value.code == -5


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("CascadeClasifier", "did you mean 'CascadeClassifier'"),
        ("cascadeclassifier", "did you mean 'CascadeClassifier'"),
        ("CASCADE_SCALE_IMAGES", "did you mean 'CASCADE_SCALE_IMAGE'"),
        ("imraed", "did you mean 'imread'"),
        ("cv", r"write cv2\.CASCADE_SCALE_IMAGE for cv2\.cv\.CV_HAAR_SCALE_IMAGE"),
        ("CV_HAAR_SCALE_IMAGE", "since OpenCV 3, its name is CASCADE_SCALE_IMAGE"),
        ("HOGDescriptr", "OpenCV 5 has no HOG detector"),
        ("CV_HAAR_FIND_BIGGEST_OBJECT", "its name is CASCADE_FIND_BIGGEST_OBJECT"),
    ],
)
def test_names_that_are_not_there_get_a_hint(name, words):
    assert not hasattr(cv2, name)
    with pytest.raises(AttributeError, match=f"has '{name}'; .*{words}"):
        getattr(cv2, name)


def test_levels_and_weights_come_with_and_without_the_flag(classifier, noise):
    with_flag = classifier.detectMultiScale3(noise, 1.1, 2, 0, (0, 0), (0, 0), True)
    without = classifier.detectMultiScale3(noise, minNeighbors=2)
    assert len(with_flag[0]) > 2
    assert set(with_flag[1].tolist()) == {3}
    for one, other in zip(with_flag, without, strict=True):
        np.testing.assert_array_equal(one, other)


def test_colour_is_bgr_and_the_fourth_channel_is_not_looked_at(classifier, rng):
    bgr = np.dstack([builders.smooth_noise(rng, 70, 90) for _ in range(3)])
    gray = opencv().cvtColor(bgr, opencv().COLOR_BGR2GRAY)
    wanted = classifier.detectMultiScale(gray, minNeighbors=0)
    assert len(wanted) > 0
    bgra = np.dstack([bgr, rng.integers(0, 256, (70, 90), np.uint8)])
    for image in (bgr, bgra, gray[:, :, None], opencv().UMat(bgr)):
        np.testing.assert_array_equal(classifier.detectMultiScale(image, minNeighbors=0), wanted)
    assert not np.array_equal(classifier.detectMultiScale(bgr[:, :, ::-1], minNeighbors=0), wanted)


def test_views_and_read_only_arrays(classifier, noise):
    wide = np.zeros((70, 180), np.uint8)
    wide[:, ::2] = noise
    frozen = noise.copy()
    frozen.flags.writeable = False
    wanted = classifier.detectMultiScale(noise, minNeighbors=0)
    for image in (wide[:, ::2], np.asfortranarray(noise), noise[::-1][::-1], frozen):
        np.testing.assert_array_equal(classifier.detectMultiScale(image, minNeighbors=0), wanted)


BAD_ARGUMENTS = [
    ({"scaleFactor": 1}, "finite number above 1"),
    ({"scaleFactor": float("nan")}, "finite number above 1"),
    ({"scaleFactor": float("inf")}, "finite number above 1"),
    ({"scaleFactor": 1 + 1e-9}, "Use a larger one"),
    ({"scaleFactor": "1.1"}, "scaleFactor '1.1' is of type str"),
    ({"scaleFactor": True}, "is of type bool"),
    ({"minNeighbors": 3.0}, "minNeighbors 3.0 is of type float"),
    ({"minNeighbors": True}, "is of type bool"),
    ({"minNeighbors": 2**31}, "whole number of 32 bits"),
    ({"flags": "none"}, "flags 'none'"),
    ({"minSize": 30}, "not a pair"),
    ({"minSize": "30"}, "not a pair"),
    ({"minSize": (30,)}, "not a pair"),
    ({"minSize": np.array(30)}, "not a pair"),
    ({"scaleFactor": 10**400}, "scaleFactor is a number too large"),
    ({"minSize": (30.0, 30)}, "the width in minSize 30.0"),
    ({"maxSize": np.array([30.0, 30.0])}, "the width in maxSize"),
]


@pytest.mark.parametrize(("options", "words"), BAD_ARGUMENTS, ids=[str(row[0]) for row in BAD_ARGUMENTS])
def test_arguments_that_opencv_refuses_are_refused_with_a_sentence(classifier, noise, options, words):
    with pytest.raises(opencv().error, match=words):
        classifier.detectMultiScale(noise, **options)


BAD_IMAGES = [
    (np.zeros((40, 40), np.float32), "float32 instead of uint8"),
    (np.zeros((40, 40), np.uint16), "image >> 8"),
    (np.zeros((40, 40), np.bool_), "\\* 255"),
    (np.zeros((40, 40), np.int8), "int8"),
    (np.zeros((40, 40, 2), np.uint8), "not a picture"),
    (np.zeros((3, 40, 40), np.uint8), "not a picture"),
    (np.zeros(40, np.uint8), "not a picture"),
    ([[0] * 40] * 40, "of type list"),
    (5, "of type int"),
]


@pytest.mark.parametrize(("image", "words"), BAD_IMAGES, ids=[row[1] for row in BAD_IMAGES])
def test_what_is_no_picture_is_refused_with_a_sentence(classifier, image, words):
    with pytest.raises(cv2.error, match=words):
        classifier.detectMultiScale(image)


def test_none_stands_for_the_default(classifier, noise):
    wanted = classifier.detectMultiScale(noise)
    found = classifier.detectMultiScale(noise, None, None, None, None, None)
    np.testing.assert_array_equal(found, wanted)


def test_a_missing_file_makes_an_empty_classifier_that_says_so(tmp_path):
    classifier = cv2.CascadeClassifier(str(tmp_path / "haarcascade_eye.xml"))
    assert classifier.empty() is True
    for call in (
        lambda: classifier.detectMultiScale(None),
        lambda: classifier.detectMultiScale2(None),
        lambda: classifier.detectMultiScale3(None),
        classifier.getOriginalWindowSize,
        classifier.getFeatureType,
        classifier.isOldFormatCascade,
    ):
        with pytest.raises(
            opencv().error, match=r"!empty\(\).*haarcascade_eye.xml.*(there is one|opencv-data)"
        ) as caught:
            call()
        assert isinstance(caught.value, CascadeError)
        assert caught.value.code == -215
        assert caught.value.err == "!empty()"


def test_a_missing_file_that_is_elsewhere(tmp_path):
    classifier = cv2.CascadeClassifier(tmp_path / "frontalface.xml")
    with pytest.raises(cv2.error, match=r"there is one at .*frontalface.xml"):
        classifier.detectMultiScale(None)


def test_a_broken_file_makes_an_empty_classifier_that_says_why(model, tmp_path):
    (tmp_path / "half.xml").write_bytes(model.read_bytes()[:3000])
    classifier = cv2.CascadeClassifier(model)
    assert classifier.load(tmp_path / "half.xml") is False
    assert classifier.empty()  # the model from before is gone, as in OpenCV
    with pytest.raises(cv2.error, match=r"half\.xml"):
        classifier.detectMultiScale(None)


@pytest.mark.parametrize("name", ["", "."])
def test_names_that_are_no_file(name):
    assert cv2.CascadeClassifier(name).empty()


def test_nothing_loaded():
    with pytest.raises(cv2.error, match="no model was loaded"):
        cv2.CascadeClassifier().detectMultiScale(None)
    with pytest.raises(TypeError, match="of type int"):
        cv2.CascadeClassifier(5)
    with pytest.raises(cv2.error, match="of type NoneType"):
        cv2.CascadeClassifier().load(None)
    with pytest.raises(cv2.error, match="null character"):
        cv2.CascadeClassifier("a\0b.xml")


def test_read_takes_a_node_of_a_storage(model, noise):
    storage = cv2.FileStorage(str(model), cv2.FILE_STORAGE_READ)
    classifier = cv2.CascadeClassifier()
    assert classifier.read(storage.getFirstTopLevelNode()) is True
    wanted = cv2.CascadeClassifier(model).detectMultiScale3(noise, minNeighbors=0)
    for one, other in zip(classifier.detectMultiScale3(noise, minNeighbors=0), wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    assert classifier.read(storage.root()) is False
    assert classifier.empty()
    assert classifier.read(cv2.FileNode()) is False
    deep = cv2.FileStorage(
        '{"cascade": ' + "[" * 3000 + "]" * 3000 + "}",
        cv2.FILE_STORAGE_READ | cv2.FILE_STORAGE_MEMORY | cv2.FILE_STORAGE_FORMAT_JSON,
    )
    assert classifier.read(deep.getFirstTopLevelNode()) is False
    with pytest.raises(cv2.error, match="nested more than"):
        classifier.detectMultiScale(noise)
    with pytest.raises(cv2.error, match=r"give a cv2\.FileNode"):
        classifier.read("model.xml")


def test_convert(model, tmp_path):
    source = tmp_path / "model.xml.gz"
    source.write_bytes(gzip.compress(model.read_bytes()))
    assert cv2.CascadeClassifier.convert(str(source), str(tmp_path / "new.xml")) is True
    np.testing.assert_array_equal(Cascade.load(tmp_path / "new.xml").nodes, Cascade.load(model).nodes)
    before = (tmp_path / "new.xml").read_bytes()
    assert cv2.CascadeClassifier_convert(oldcascade="none.xml", newcascade=tmp_path / "new.xml") is False
    assert (tmp_path / "new.xml").read_bytes() == before
    assert cv2.CascadeClassifier.convert(source, tmp_path / "no folder" / "new.xml") is False


def test_eight_threads_share_one_classifier(classifier, rng):
    images = [builders.smooth_noise(rng, 40 + i, 60 - i) for i in range(8)]
    wanted = [classifier.detectMultiScale3(image, minNeighbors=1) for image in images]
    with ThreadPoolExecutor(8) as pool:
        each = list(
            pool.map(lambda i: classifier.detectMultiScale3(images[i % 8], minNeighbors=1), range(64))
        )
    for i, found in enumerate(each):
        for one, other in zip(found, wanted[i % 8], strict=True):
            np.testing.assert_array_equal(one, other)


def test_opencv_says_how_many_threads(classifier, noise, monkeypatch):
    import vjcascade.compat.classifier as module

    asked = []
    monkeypatch.setattr(
        module,
        "raw_windows",
        lambda *args: asked.append(args[3]) or (np.empty((0, 4), np.int32), np.empty(0)),
    )
    before = opencv().getNumThreads()
    try:
        for n_threads in (1, 2):
            opencv().setNumThreads(n_threads)
            classifier.detectMultiScale(noise)
    finally:
        opencv().setNumThreads(before)
    assert asked == [1, 2]


def test_errors_survive_pickling(classifier):
    with pytest.raises(cv2.error) as caught:
        classifier.detectMultiScale(5)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again), again.code) == (type(caught.value), str(caught.value), -5)


def test_other_names_are_those_of_opencv():
    assert cv2.imread is opencv().imread
    assert cv2.error is opencv().error
    assert cv2.__version__ == opencv().__version__
    assert (cv2.CASCADE_DO_CANNY_PRUNING, cv2.CASCADE_SCALE_IMAGE) == (1, 2)
    assert (cv2.CASCADE_FIND_BIGGEST_OBJECT, cv2.CASCADE_DO_ROUGH_SEARCH) == (4, 8)
    assert "CascadeClassifier" in dir(cv2)
    with pytest.raises(AttributeError, match=r"nor OpenCV .* has 'no_such_name'"):
        cv2.no_such_name  # noqa: B018
