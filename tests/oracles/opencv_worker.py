"""Functions of OpenCV 4.14, called by name, in a process of its environment: the answering side of `LibraryProcess`.

Every function takes the arrays of the request by name and returns a dict of arrays. Need numpy and cv2 only.
"""

import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np

FUNCTIONS = {}


def offered(function):
    """Make a function callable by name."""
    FUNCTIONS[function.__name__] = function
    return function


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


@offered
def evaluate(xml, statements):
    """Return what expressions over `cv2`, a classifier `c` and a black picture `z` give, or kinds of errors."""
    names = {"cv2": cv2, "np": np, "c": load(xml), "z": np.zeros((60, 60), np.uint8)}
    kinds, texts = [], []
    for statement in statements:
        try:
            kind, text = "result", repr(eval(str(statement), names))
        except Exception as error:  # what is wanted
            kind, text = type(error).__name__, str(error)
        kinds.append(kind)
        texts.append(text)
    return {"kinds": np.array(kinds), "texts": np.array(texts)}


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


@offered
def detect_each(models, settings, **images):
    """Do what `detect` does with every model (paths); the answers of the first are `boxes_0`, `counts_0` and so on."""
    answers = [detect(xml, settings, **images) for xml in models]
    return {f"{name}_{i}": found for i, answer in enumerate(answers) for name, found in answer.items()}


@offered
def convert_old(source, target):
    """Convert a cascade of the old format; say whether OpenCV did."""
    return {"done": cv2.CascadeClassifier.convert(source, target)}


@offered
def rewrite_storage(source, target):
    """Write the first element of a FileStorage again, into a file whose name tells the form."""
    storage = cv2.FileStorage(source, cv2.FILE_STORAGE_READ)
    copy = cv2.FileStorage(target, cv2.FILE_STORAGE_WRITE)
    root = storage.getFirstTopLevelNode()
    write_node(copy, root.name(), root)
    copy.release()
    return {}


def write_node(storage, name, node):
    """Write a node with all that is in it; numbers stay whole or real."""
    if node.isMap():
        storage.startWriteStruct(name, cv2.FILE_NODE_MAP)
        for key in node.keys():  # noqa: SIM118  a FileNode is no dict
            write_node(storage, key, node.getNode(key))
        storage.endWriteStruct()
    elif node.isSeq():
        is_flat = not any(item.isMap() or item.isSeq() for item in items(node))
        storage.startWriteStruct(name, cv2.FILE_NODE_SEQ | (cv2.FILE_NODE_FLOW if is_flat else 0))
        for item in items(node):
            write_node(storage, "", item)
        storage.endWriteStruct()
    elif node.isString():
        storage.write(name, node.string())
    else:
        storage.write(name, int(node.real()) if node.isInt() else node.real())


@offered
def raw_windows(paths, gray, scale_factor):
    """Return the raw windows that each model file finds, and how many (-1: OpenCV does not load it)."""
    boxes, n_boxes = [np.empty((0, 4), np.int32)], []
    for path in paths:
        try:
            classifier = cv2.CascadeClassifier(str(path))
        except SystemError:  # how Python learns that OpenCV's parser gave up
            n_boxes.append(-1)
            continue
        if classifier.empty():
            n_boxes.append(-1)
            continue
        found = classifier.detectMultiScale(gray, scaleFactor=float(scale_factor), minNeighbors=0)
        boxes.append(np.asarray(found, np.int32).reshape(-1, 4))
        n_boxes.append(len(boxes[-1]))
    return {"boxes": np.concatenate(boxes), "n_boxes": np.array(n_boxes)}


@offered
def call_classifier(xml, calls, **images):
    """Call `detectMultiScale`, 2 and 3 of a classifier with every image and every keyword text of `calls`.

    A call is the Python text of keyword arguments. The answers are `kind_0` ("found" or the name of the error's class)
    and, if found, `boxes_0`, `counts_0`, `levels_0` and `weights_0`, then `kind_1` and so on, images outermost.
    """
    classifier, answers = load(xml), {}
    pairs = [(image, call) for image in images.values() for call in calls]
    for i, (image, call) in enumerate(pairs):
        options = eval(f"dict({call})", {"np": np})  # our own texts
        try:
            boxes = classifier.detectMultiScale(image, **options)
            counts = classifier.detectMultiScale2(image, **options)[1]
            _, levels, weights = classifier.detectMultiScale3(image, outputRejectLevels=True, **options)
        except Exception as error:  # its kind is what is asked for
            answers[f"kind_{i}"] = type(error).__name__
            continue
        answers[f"kind_{i}"] = "found"
        answers[f"boxes_{i}"] = np.asarray(boxes, np.int32).reshape(-1, 4)
        answers[f"counts_{i}"] = np.asarray(counts, np.int32).ravel()
        answers[f"levels_{i}"] = np.asarray(levels, np.int32).ravel()
        answers[f"weights_{i}"] = np.asarray(weights, np.float64).ravel()
    return answers


@offered
def group_with_eps(boxes, set_sizes, thresholds, shares):
    """Group consecutive sets of boxes as `group_rectangles` does, each with a share `eps` of its own."""
    groups, counts, n_groups = [], [], []
    sets = np.split(boxes, np.cumsum(set_sizes)[:-1])
    for rows, threshold, eps in zip(sets, thresholds, shares, strict=True):
        found, weights = cv2.groupRectangles(rows.tolist(), int(threshold), float(eps))
        groups.append(np.asarray(found, np.int32).reshape(-1, 4))
        counts.append(np.asarray(weights, np.int32).ravel())
        n_groups.append(len(groups[-1]))
    return {"boxes": np.concatenate(groups), "counts": np.concatenate(counts), "n_groups": np.array(n_groups)}


def main():
    """Answer requests until there are no more."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
    from library_process import answer_requests

    cv2.setNumThreads(1)
    answer_requests(FUNCTIONS.__getitem__)


if __name__ == "__main__":
    main()
