"""The same calls here and in OpenCV 4.14: what is found, and what is refused."""

import builtins

import builders
import numpy as np
import pytest

import vjcascade.compat as cv2

pytestmark = pytest.mark.oracle

CALLS = [
    "",
    "scaleFactor=1.3, minNeighbors=5, minSize=(30, 30)",
    "minNeighbors=0",
    "minNeighbors=-1",
    "minNeighbors=np.uint8(1), flags=7",
    "scaleFactor=2",
    "scaleFactor=np.float32(1.2), minNeighbors=1",
    "scaleFactor=4.5, minNeighbors=0",
    "minNeighbors=0, minSize=[40, 50], maxSize=np.array([90, 80])",
    "minNeighbors=0, minSize=(61, 61), maxSize=(60, 60)",
    "minNeighbors=0, minSize=(-5, -5), maxSize=(0, 50)",
    "minNeighbors=0, maxSize=(-5, -5)",
    "minNeighbors=0, maxSize=(200, -1)",
    "minNeighbors=0, minSize=(None, 60)",
    "minNeighbors=None, scaleFactor=None, flags=None, minSize=None, maxSize=None",
    "scaleFactor=1.0",
    "scaleFactor=0",
    "scaleFactor=float('nan')",
    "scaleFactor='a'",
    "scaleFactor=True",
    "minNeighbors=3.0",
    "minNeighbors=True",
    "minNeighbors=2**31",
    "minSize=30",
    "minSize=(30.0, 30.0)",
    "minSize=(30,)",
    "minSize=(True, 40)",
    "flags=1.0",
]


def same_calls(oracle, xml, images, calls):
    """Compare all calls; return how many boxes were found and how many calls were refused."""
    named = {f"image_{i}": image for i, image in enumerate(images)}
    expected = oracle("call_classifier", xml=xml, calls=np.array(calls), **named)
    classifier = cv2.CascadeClassifier(xml)
    n_boxes = n_refused = 0
    for i, (image, call) in enumerate((image, call) for image in images for call in calls):
        options = eval(f"dict({call})", {"np": np})
        said = f"{image.shape} {image.dtype} {call}"
        if expected[f"kind_{i}"] == "error":
            n_refused += 1
            with pytest.raises(cv2.error):
                classifier.detectMultiScale(image, **options)
            continue
        assert expected[f"kind_{i}"] == "found", said
        boxes, levels, weights = classifier.detectMultiScale3(image, outputRejectLevels=True, **options)
        if len(expected[f"boxes_{i}"]) == 0:
            assert (boxes, levels, weights) == ((), (), ()), said
        else:
            np.testing.assert_array_equal(boxes, expected[f"boxes_{i}"], err_msg=said)
            np.testing.assert_array_equal(levels, expected[f"levels_{i}"], err_msg=said)
            np.testing.assert_array_equal(weights, expected[f"weights_{i}"], err_msg=said)
        plain, counts = classifier.detectMultiScale2(image, **options)
        np.testing.assert_array_equal(plain, boxes, err_msg=said)
        np.testing.assert_array_equal(classifier.detectMultiScale(image, **options), boxes, err_msg=said)
        if len(counts):
            np.testing.assert_array_equal(counts, expected[f"counts_{i}"], err_msg=said)
        n_boxes += len(boxes)
    return n_boxes, n_refused


def test_arguments(oracle, opencv_models):
    image = builders.picture("astronaut.png")[40:200, 140:300]
    n_boxes, n_refused = same_calls(
        oracle, opencv_models / "haarcascade_frontalface_alt2.xml", [image], CALLS
    )
    assert n_boxes > 50
    assert n_refused == 13


def test_pictures(oracle, opencv_models, rng):
    gray = builders.picture("astronaut.png")[40:190, 150:300]
    tinted = (gray[:, :, None] * np.array([0.4, 0.8, 1.0])).astype(np.uint8)
    bgra = np.dstack([tinted, rng.integers(0, 256, gray.shape, np.uint8)])
    images = [
        gray,
        gray[::2, ::2],
        gray[:, ::-1],
        np.dstack([gray] * 3),
        tinted,
        bgra,
        gray[:, :, None],
        gray[:10],
    ]
    odd = [
        gray / 255,
        gray.astype(np.uint16),
        gray.astype(np.int8),
        gray > 100,
        np.dstack([gray, gray]),
        gray[:0],
    ]
    calls = ["minNeighbors=0", "scaleFactor=1.2, minNeighbors=2"]
    n_boxes, n_refused = same_calls(
        oracle, opencv_models / "haarcascade_frontalface_default.xml", [*images, *odd], calls
    )
    assert n_boxes > 100
    assert n_refused == 5 * len(calls)


def random_sets(rng, n_sets):
    """Return sets of boxes around some centres, sizes of the sets, thresholds and shares."""
    sizes = rng.integers(0, 60, n_sets)
    sets = []
    for size in sizes:
        centres = rng.integers(-20, 300, (rng.integers(1, 6), 2))
        sides = rng.integers(1, 80, (len(centres), 2))
        which = rng.integers(0, len(centres), size)
        jitter = rng.integers(-6, 7, (size, 4)) * (rng.random((size, 1)) < 0.8)
        sets.append(np.maximum(np.hstack([centres[which], sides[which]]) + jitter, [-500, -500, 0, 0]))
    shares = rng.choice([0.2, 0.2, 0.2, 0.0, 0.1, 0.5, 1.0, -0.3], n_sets)
    return np.concatenate(sets).astype(np.int32), sizes, rng.integers(-1, 6, n_sets), shares


def test_grouping_of_random_sets(oracle, rng):
    assert same_groups(oracle, rng, n_sets=600) > 600


def same_groups(oracle, rng, n_sets):
    """Compare the groups of random sets; return how many there were."""
    boxes, sizes, thresholds, shares = random_sets(rng, n_sets)
    expected = oracle("group_with_eps", boxes=boxes, set_sizes=sizes, thresholds=thresholds, shares=shares)
    found = [
        cv2.groupRectangles(rows, int(threshold), float(share))
        for rows, threshold, share in zip(
            np.split(boxes, np.cumsum(sizes)[:-1]), thresholds, shares, strict=True
        )
    ]
    assert [len(groups) for groups, _ in found] == expected["n_groups"].tolist()
    np.testing.assert_array_equal(
        np.concatenate([groups for groups, _ in found if len(groups)]), expected["boxes"]
    )
    np.testing.assert_array_equal(
        np.concatenate([counts for _, counts in found if len(counts)]), expected["counts"]
    )
    return int(expected["n_groups"].sum())


STATEMENTS = [
    *("c.detectMultiScale(z)", "c.detectMultiScale(z[:5])", "c.detectMultiScale(z[:0])", "c.detectMultiScale(None)"),
    *("c.detectMultiScale2(z)", "c.detectMultiScale2(None)", "c.detectMultiScale2(z, minNeighbors=0)"),
    *("c.detectMultiScale3(z)", "c.detectMultiScale3(None, outputRejectLevels=True)"),
    *("cv2.groupRectangles([], 1)", "cv2.groupRectangles(None, 1)", "cv2.groupRectangles([[1, 1, 2, 2]], 1)"),
    *("cv2.groupRectangles([[1, 1, 2, 2]], 0)", "cv2.groupRectangles([[1, 1, 2, 2]] * 2, 1)"),
    *("c.detectMultiScale(z, scale_factor=1.1)", "c.detectMultiScale(z, minNeighbours=3)", "c.detectMultiScale()"),
    *("c.detectMultiScale(scaleFactor=1.1)", "c.detectMultiScale(z, 1.1, 3, 0, (0, 0), (0, 0), 5)"),
    *("c.detectMultiScale(z, image=z)", "c.detectMultiScale2(z, neighbors=3)"),
    "c.detectMultiScale3(1, 2, 3, 4, 5, 6, 7, 8)",
    *("cv2.CascadeClassifier('a', 5)", "cv2.CascadeClassifier(name='a')", "cv2.CascadeClassifier(5)"),
    *("c.load()", "c.load('a', 2)", "c.load(name='a')", "c.load(5)", "c.read()", "c.read('a')", "c.empty(3)"),
    *("c.getFeatureType(1)", "c.getOriginalWindowSize(1)", "c.isOldFormatCascade(1)"),
    *("cv2.CascadeClassifier.convert('a')", "cv2.CascadeClassifier_convert('a')", "c.convert(old='a', new='b')"),
    *("cv2.groupRectangles([[1, 1, 2, 2]])", "cv2.groupRectangles([[1, 1, 2, 2]], threshold=1)"),
    *("cv2.groupRectangles([[1, 1, 2, 2]], 1, 0.2, 4)", "cv2.cv.CV_HAAR_SCALE_IMAGE", "cv2.CascadeClasifier"),
]  # fmt: skip


def test_results_of_nothing_and_calls_that_do_not_fit(oracle, opencv_models):
    """Empty results are equal, tuples as tuples; errors are caught by what catches OpenCV's, but for a SystemError."""
    path = str(opencv_models / "haarcascade_frontalface_alt2.xml")
    answer = oracle("evaluate", xml=path, statements=np.array(STATEMENTS))
    names = {"cv2": cv2, "np": np, "c": cv2.CascadeClassifier(path), "z": np.zeros((60, 60), np.uint8)}
    for statement, kind, text in zip(STATEMENTS, answer["kinds"], answer["texts"], strict=True):
        if kind == "result":
            assert repr(eval(statement, names)) == text, statement
            continue
        caught = {"error": cv2.error, "SystemError": cv2.error}.get(kind) or getattr(builtins, kind)
        with pytest.raises(caught):
            eval(statement, names)
    assert sorted(set(answer["kinds"])) == ["AttributeError", "SystemError", "TypeError", "error", "result"]
