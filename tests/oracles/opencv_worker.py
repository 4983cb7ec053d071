"""Run one function in the OpenCV 4.14 environment: `opencv_worker.py FUNCTION REQUEST.npz ANSWER.npz`.

Every function takes the arrays of the request by name and returns a dict of arrays. Needs numpy and cv2 only.
"""

import sys
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np

FUNCTIONS = {}


def offered(function):
    """Make a function callable by name."""
    FUNCTIONS[function.__name__] = function
    return function


@offered
def versions():
    """Return the versions of OpenCV and numpy."""
    return {"cv2": cv2.__version__, "numpy": np.__version__}


@offered
def data_folder():
    """Return where the shipped Haar cascades are."""
    return {"path": cv2.data.haarcascades}


@offered
def integrals(gray):
    """Return the sum, squared sum (wrapping, as uint32) and tilted sum of a grey image."""
    total, squared, tilted = cv2.integral3(gray, sdepth=cv2.CV_32S, sqdepth=cv2.CV_64F)
    return {
        "sum": total,
        "squared": (squared.astype(np.int64) & 0xFFFFFFFF).astype(np.uint32),
        "tilted": tilted,
    }


@offered
def to_gray(bgr):
    """Return the grey image of a BGR image."""
    return {"gray": cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY)}


@offered
def resize_exact(gray, sizes):
    """Resize one image to `sizes` (n, 2) width, height; the results are `level_0`, `level_1`, ..."""
    return {
        f"level_{i}": cv2.resize(gray, (int(w), int(h)), interpolation=cv2.INTER_LINEAR_EXACT)
        for i, (w, h) in enumerate(sizes)
    }


def load(xml):
    """Load a cascade or say that OpenCV cannot."""
    classifier = cv2.CascadeClassifier(str(xml))
    if classifier.empty():
        raise SystemExit(f"OpenCV cannot load {xml}")
    return classifier


def detect_one(classifier, gray, setting):
    """Run one setting: scale factor, min neighbors, min width, min height, max width, max height."""
    factor, neighbors, *sizes = setting
    min_w, min_h, max_w, max_h = (int(s) for s in sizes)
    boxes, _, weights = classifier.detectMultiScale3(
        gray,
        scaleFactor=float(factor),
        minNeighbors=int(neighbors),
        minSize=(min_w, min_h),
        maxSize=(max_w, max_h),
        outputRejectLevels=True,
    )
    plain, counts = classifier.detectMultiScale2(
        gray,
        scaleFactor=float(factor),
        minNeighbors=int(neighbors),
        minSize=(min_w, min_h),
        maxSize=(max_w, max_h),
    )
    boxes = np.asarray(boxes, np.int32).reshape(-1, 4)
    if not np.array_equal(boxes, np.asarray(plain, np.int32).reshape(-1, 4)):
        raise SystemExit("OpenCV disagrees with itself")
    return boxes, np.asarray(counts, np.int32).ravel(), np.asarray(weights, np.float64).ravel()


@offered
def detect(xml, settings, **images):
    """Detect with every setting (rows as in `detect_one`) in every image, serially, so the order is fixed.

    Returns `boxes` (n, 4), `counts` (n,) class sizes, `weights` (n,) last stage's sums, all runs one after
    the other (images in the order given, settings within), and `n_boxes` of each run.
    """
    classifier = load(xml)
    runs = [detect_one(classifier, gray, setting) for gray in images.values() for setting in settings]
    boxes, counts, weights = (np.concatenate(parts) for parts in zip(*runs, strict=True))
    return {
        "boxes": boxes,
        "counts": counts,
        "weights": weights,
        "n_boxes": np.array([len(run[0]) for run in runs]),
    }


@offered
def accept_crops(xml, crops):
    """Say for each window-sized crop (n, h, w) whether OpenCV accepts it."""
    classifier = load(xml)
    found = [classifier.detectMultiScale(crop, scaleFactor=1.1, minNeighbors=0) for crop in crops]
    return {"accepted": np.array([len(boxes) > 0 for boxes in found])}


@offered
def can_load(xml):
    """Say whether OpenCV loads a model file, and its window."""
    classifier = cv2.CascadeClassifier(str(xml))
    empty = classifier.empty()
    return {"loaded": not empty, "window": np.array((0, 0) if empty else classifier.getOriginalWindowSize())}


@offered
def leaf_values(xml):
    """Return all leaf values of a model file, as OpenCV's parser reads them (float64)."""
    storage = cv2.FileStorage(str(xml), cv2.FILE_STORAGE_READ)
    stages = storage.getFirstTopLevelNode().getNode("stages")
    trees = [tree for stage in items(stages) for tree in items(stage.getNode("weakClassifiers"))]
    return {"leaves": np.array([leaf.real() for tree in trees for leaf in items(tree.getNode("leafValues"))])}


def items(node):
    """Return the items of a list."""
    return [node.at(i) for i in range(node.size())]


@offered
def group_rectangles(boxes, set_sizes, thresholds):
    """Group consecutive sets of boxes: set i has `set_sizes[i]` rows and the threshold `thresholds[i]`."""
    groups, counts, n_groups = [], [], []
    for rows, threshold in zip(np.split(boxes, np.cumsum(set_sizes)[:-1]), thresholds, strict=True):
        found, weights = cv2.groupRectangles(rows.tolist(), int(threshold), 0.2)
        groups.append(np.asarray(found, np.int32).reshape(-1, 4))
        counts.append(np.asarray(weights, np.int32).ravel())
        n_groups.append(len(groups[-1]))
    return {"boxes": np.concatenate(groups), "counts": np.concatenate(counts), "n_groups": np.array(n_groups)}


@offered
def time_detect(xml, gray, setting, repeats):
    """Return the CPU seconds of one detection on one thread: the best of `repeats`."""
    classifier = load(xml)
    seconds = []
    for _ in range(int(repeats)):
        start = time.process_time()
        detect_once(classifier, gray, setting)
        seconds.append(time.process_time() - start)
    return {"seconds": min(seconds)}


def detect_once(classifier, gray, setting):
    """Detect without scores, as most programs do."""
    factor, neighbors, min_w, min_h, max_w, max_h = (float(s) for s in setting)
    return classifier.detectMultiScale(
        gray,
        scaleFactor=factor,
        minNeighbors=int(neighbors),
        minSize=(int(min_w), int(min_h)),
        maxSize=(int(max_w), int(max_h)),
    )


BOOST_TYPES = {
    "adaboost": cv2.ml.BOOST_DISCRETE,
    "real": cv2.ml.BOOST_REAL,
    "logit": cv2.ml.BOOST_LOGIT,
    "gentle": cv2.ml.BOOST_GENTLE,
}


@offered
def boost(names, weak_count, max_depth, **tables):
    """Boost each table with each algorithm, of `BOOST_TYPES`, and apply it to the table's test rows.

    The tables are `train_0` (n, n_features) float32, `labels_0` (n,) int32 of 0 and 1, `test_0` (n_test, n_features)
    float32, then `train_1` and so on. The answers of table 0 are `gentle_0` (n_test,) float32, sums of
    votes, and `gentle_0_nodes`, see `nodes_of`.
    """
    answers = {}
    for i in range(len(tables) // 3):
        for name in names:
            model = boosted(
                name, tables[f"train_{i}"], tables[f"labels_{i}"], int(weak_count), int(max_depth)
            )
            sums = model.predict(tables[f"test_{i}"], flags=cv2.ml.DTREES_PREDICT_SUM)[1]
            answers[f"{name}_{i}"], answers[f"{name}_{i}_nodes"] = sums.ravel(), nodes_of(model)
    return answers


def boosted(name, train, labels, weak_count, max_depth):
    """Return a trained cv2.ml.Boost."""
    model = cv2.ml.Boost.create()
    model.setBoostType(BOOST_TYPES[name])
    model.setWeakCount(weak_count)
    model.setMaxDepth(max_depth)
    model.setWeightTrimRate(0)
    if not model.train(cv2.ml.TrainData.create(train, cv2.ml.ROW_SAMPLE, labels)):
        raise SystemExit(f"OpenCV cannot boost with {name}")
    return model


def nodes_of(model):
    """Return all nodes of a boosted model, shape (n_nodes, 5), as its file tells them, depth first, left before right.

    A row is the number of the tree, the depth, the feature (-1 in a leaf), the greatest value that goes left, and
    what the node answers.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.xml")
        model.save(path)
        storage = cv2.FileStorage(path, cv2.FILE_STORAGE_READ)  # nodes die with it
        trees = storage.getFirstTopLevelNode().getNode("trees")
        return np.array(
            [
                (i, node.getNode("depth").real(), *split_of(node), node.getNode("value").real())
                for i, tree in enumerate(items(trees))
                for node in items(tree.getNode("nodes"))
            ]
        )


def split_of(node):
    """Return the feature and the greatest value that goes left; -1 and 0 in a leaf."""
    splits = node.getNode("splits")
    if splits.empty():
        return -1, 0.0
    (split,) = items(splits)
    return split.getNode("var").real(), split.getNode("le").real()


def main():
    """Answer one request."""
    name, request, answer = sys.argv[1:]
    cv2.setNumThreads(1)
    with np.load(request, allow_pickle=False) as arrays:
        arguments = {key: arrays[key] if arrays[key].ndim else arrays[key].item() for key in arrays.files}
    with Path(answer).open("wb") as file:
        np.savez(file, **FUNCTIONS[name](**arguments))


if __name__ == "__main__":
    main()
