"""`groupRectangles`, as OpenCV 4 has it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vjcascade.compat._arguments import checked_call, real, whole
from vjcascade.compat._errors import bad_argument
from vjcascade.compat._results import Boxes, Counts, opencv_list
from vjcascade.detection import group_windows
from vjcascade.detection.grouping import GROUP_EPS
from vjcascade.types import Detections

_FUNCTION = "groupRectangles"
_INT32 = np.iinfo(np.int32)


@checked_call
def groupRectangles(rectList: Any, groupThreshold: int, eps: float = GROUP_EPS) -> tuple[Boxes, Counts]:
    """Average the boxes of each class of similar ones, and drop small classes: `cv2.groupRectangles`.

    Parameters
    ----------
    rectList : array-like of shape (n, 4), whole numbers
        `x, y, w, h`. It is left as it is.
    groupThreshold : int
        A class is kept if it has more boxes than this; 0 or less gives back all boxes, each with weight 1.
    eps : float, optional
        Allowed distance of sides, as a share of the mean of width and height.

    Returns
    -------
    rectList : ndarray of shape (n, 4), dtype int32
        Mean boxes, in the order of the first box of each class.
    weights : ndarray of shape (n,), dtype int32
        Boxes in each class. Both are empty tuples, as in OpenCV, if no class is left.

    Raises
    ------
    cv2.error
        If an argument is of another kind; it is a TypeError too, which is what OpenCV raises here.

    References
    ----------
    .. [1] OpenCV 4.14, modules/objdetect/src/cascadedetect.cpp.

    Examples
    --------
    >>> boxes, weights = groupRectangles([[10, 10, 24, 24], [12, 10, 24, 24], [70, 10, 24, 24]], 1)
    >>> boxes.tolist(), weights.tolist()
    ([[11, 10, 24, 24]], [2])
    """
    boxes = _boxes(rectList)
    threshold = whole(_FUNCTION, "groupThreshold", groupThreshold, 0)
    share = real(_FUNCTION, "eps", eps, GROUP_EPS)
    if not math.isfinite(share):
        raise bad_argument(_FUNCTION, f"eps is {share}; give a finite number, for example {GROUP_EPS}")
    ones = np.ones(len(boxes), np.int32)
    found = group_windows(Detections(boxes, np.zeros(len(boxes)), ones), threshold, share)
    return opencv_list(found.boxes), opencv_list(found.neighbors)


def _boxes(rect_list: Any) -> NDArray[np.int32]:
    """Return a copy as an array; fractions are refused, as OpenCV does."""
    try:
        boxes = np.array([] if rect_list is None else rect_list)
    except ValueError:  # rows of different lengths
        boxes = np.empty(1, object)
    if boxes.size == 0:
        return np.empty((0, 4), np.int32)
    are_boxes = boxes.ndim == 2 and boxes.shape[1] == 4 and boxes.dtype.kind in "iu"
    if are_boxes and _INT32.min <= boxes.min() and boxes.max() <= _INT32.max:
        return boxes.astype(np.int32)
    raise bad_argument(
        _FUNCTION, "rectList is not a list of boxes; give rows of four whole numbers of 32 bits: x, y, w, h"
    )
