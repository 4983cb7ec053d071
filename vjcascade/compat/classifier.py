"""`CascadeClassifier`, as OpenCV 4 has it."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from vjcascade.compat import data
from vjcascade.compat._arguments import Settings, checked_call, checked_settings, gray_picture
from vjcascade.compat._errors import asserted, bad_argument
from vjcascade.compat._nodes import is_file_node, tree_of
from vjcascade.compat._results import Boxes, Counts, Weights, opencv_list
from vjcascade.detection import Scanner, group_windows
from vjcascade.detection.detector import clipped, raw_windows
from vjcascade.errors import ModelError, ModelNotFoundError
from vjcascade.formats import load_cascade, save_cascade
from vjcascade.formats.new_format import read_new
from vjcascade.imaging import opencv
from vjcascade.types import Detections, FeatureType, Size

CASCADE_DO_CANNY_PRUNING = 1
"""Does nothing, as in every OpenCV since 4.0; so do the other three."""
CASCADE_SCALE_IMAGE = 2
CASCADE_FIND_BIGGEST_OBJECT = 4
CASCADE_DO_ROUGH_SEARCH = 8

PathName: TypeAlias = "str | bytes | os.PathLike[str] | os.PathLike[bytes]"

_TYPE_NUMBERS = {FeatureType.HAAR: 0, FeatureType.LBP: 1}


_log = logging.getLogger("vjcascade")


class _Model(NamedTuple):
    """What the last `load` or `read` gave: a scanner, or the reason why there is none and the file's name."""

    scanner: Scanner | None
    problem: str = ""
    hint_for: str = ""


_NOTHING = _Model(
    None, "no model was loaded; give the path of a file to CascadeClassifier or to its `load`", ""
)


class CascadeClassifier:
    """Find objects with a cascade, by the names and arguments of `cv2.CascadeClassifier`; boxes are OpenCV 4.14's.

    A classifier may be shared by any number of threads. It uses as many of its own as `cv2.getNumThreads()` says.

    Parameters
    ----------
    filename : path-like, optional
        Model file; see `load`. As in OpenCV, a file that is missing or broken makes no error here: `empty` tells, and
        detecting says why.

    Raises
    ------
    cv2.error
        If `filename` is no path.

    References
    ----------
    .. [1] OpenCV 4.14, modules/objdetect/src/cascadedetect.cpp.

    Examples
    --------
    >>> faces = CascadeClassifier(data.find("frontalface"))
    >>> faces.empty(), faces.getOriginalWindowSize()
    (False, (20, 20))
    >>> faces.detectMultiScale(np.zeros((100, 100), np.uint8))
    ()
    """

    @checked_call
    def __init__(self, filename: PathName | None = None) -> None:
        self._model = _NOTHING
        if filename is not None:
            self.load(filename)

    @checked_call
    def load(self, filename: PathName) -> bool:
        """Load a model file, in any form of OpenCV's formats, new or old, Haar or LBP.

        Parameters
        ----------
        filename : path-like
            The file.

        Returns
        -------
        bool
            Whether it could be used. If not, the classifier is empty, whatever was loaded before, and the logger
        "vjcascade" warns why, on standard error unless told otherwise, as OpenCV does.

        Raises
        ------
        cv2.error
            If `filename` is no path.

        Examples
        --------
        >>> CascadeClassifier().load("no such file.xml")
        False
        """
        path = _path("load", "filename", filename)
        if not filename:
            self._model = _Model(None, "the file name is empty")
            return False
        try:
            self._model = _Model(Scanner(load_cascade(path)))
        except ModelNotFoundError as error:
            self._model = _Model(None, str(error), path.name)
        except ModelError as error:
            self._model = _Model(None, str(error))
        if self.empty():
            _log.warning("CascadeClassifier has no model: %s", self._problem)
        return not self.empty()

    @checked_call
    def read(self, node: Any) -> bool:
        """Take the model from a node of an open `cv2.FileStorage`; new format only, as in OpenCV.

        Parameters
        ----------
        node : cv2.FileNode
            As `getFirstTopLevelNode()` of the storage gives it.

        Returns
        -------
        bool
            Whether it could be used. If not, the classifier is empty.

        Raises
        ------
        cv2.error
            If `node` is something else.

        Examples
        --------
        >>> CascadeClassifier().read(None)
        False
        """
        if node is not None and not is_file_node(node):
            raise bad_argument("read", f"node is of type {type(node).__name__}; give a cv2.FileNode")
        try:
            self._model = _Model(Scanner(read_new({} if node is None else tree_of(node))))
        except ModelError as error:
            self._model = _Model(None, f"the node given to `read` is not a cascade: {error}")
        return not self.empty()

    @checked_call
    def empty(self) -> bool:
        """Tell whether there is no model, because none was loaded or the last one could not be."""
        return self._model.scanner is None

    @checked_call
    def getOriginalWindowSize(self) -> tuple[int, int]:
        """Return the width and height that the cascade was trained with; the smallest object it finds."""
        width, height = self._scanner("getOriginalWindowSize").cascade.window
        return width, height

    @checked_call
    def getFeatureType(self) -> int:
        """Return 0 for Haar features, 1 for LBP."""
        return _TYPE_NUMBERS[self._scanner("getFeatureType").cascade.feature_type]

    @checked_call
    def isOldFormatCascade(self) -> bool:
        """Return False, as OpenCV 4 does: files in the old format are converted while they are loaded."""
        self._scanner("isOldFormatCascade")
        return False

    @staticmethod
    @checked_call
    def convert(oldcascade: PathName, newcascade: PathName) -> bool:
        """Write a model file in the new format, in XML.

        Other than in OpenCV, the first file may be in any format that `load` takes, and a second file that is
        there already stays if the first cannot be read.

        Parameters
        ----------
        oldcascade : path-like
            The file to read.
        newcascade : path-like
            The file to create or replace.

        Returns
        -------
        bool
            Whether it was written.

        Raises
        ------
        cv2.error
            If one of them is no path.

        Examples
        --------
        >>> CascadeClassifier.convert(data.find("frontalface"), "new.xml")
        True
        """
        source, target = (
            _path("convert", "oldcascade", oldcascade),
            _path("convert", "newcascade", newcascade),
        )
        try:
            save_cascade(load_cascade(source), target)
        except (ModelError, ModelNotFoundError, OSError):
            return False
        return True

    @checked_call
    def detectMultiScale(
        self,
        image: Any,
        scaleFactor: float = 1.1,
        minNeighbors: int = 3,
        flags: int = 0,
        minSize: Sequence[int] = (0, 0),
        maxSize: Sequence[int] = (0, 0),
    ) -> Boxes:
        """Find objects of all sizes.

        Parameters
        ----------
        image : ndarray of shape (h, w), (h, w, 1), (h, w, 3) or (h, w, 4), dtype uint8; or cv2.UMat
            Grey, BGR (not RGB) or BGRA. Nothing is found in None or an empty array.
        scaleFactor : float, optional
            Ratio of neighbouring scales, > 1.
        minNeighbors : int, optional
            A detection needs more raw windows than this; 0 or less asks for the raw windows.
        flags : int, optional
            Not looked at, as in OpenCV 4.
        minSize, maxSize : tuple of int, optional
            Width and height in pixels; 0 for no bound. Where no scale lies between them, the one nearest to
            `minSize` is scanned all the same, as in OpenCV.

        Returns
        -------
        ndarray of shape (n, 4), dtype int32
            `x, y, w, h`; an empty tuple if nothing was found, as in OpenCV, for scripts ask `if faces == ()`.

        Raises
        ------
        cv2.error
            If no model is loaded (the message tells why), or an argument is one that OpenCV refuses.

        Examples
        --------
        >>> faces = CascadeClassifier(data.find("frontalface"))
        >>> bgr = np.zeros((100, 100, 3), np.uint8)
        >>> for x, y, w, h in faces.detectMultiScale(bgr, 1.3, 5, minSize=(30, 30)):
        ...     print(x, y, w, h)
        """
        settings = checked_settings("detectMultiScale", scaleFactor, minNeighbors, flags, minSize, maxSize)
        return opencv_list(self._found("detectMultiScale", image, settings).boxes)

    @checked_call
    def detectMultiScale2(
        self,
        image: Any,
        scaleFactor: float = 1.1,
        minNeighbors: int = 3,
        flags: int = 0,
        minSize: Sequence[int] = (0, 0),
        maxSize: Sequence[int] = (0, 0),
    ) -> tuple[Boxes, Counts]:
        """Find objects of all sizes, and how many raw windows speak for each.

        Parameters
        ----------
        image : ndarray, dtype uint8; or cv2.UMat
            Grey, BGR or BGRA, in the shapes that `detectMultiScale` takes.
        scaleFactor : float, optional
            Ratio of neighbouring scales.
        minNeighbors : int, optional
            A detection needs more raw windows than this.
        flags : int, optional
            Not looked at.
        minSize, maxSize : tuple of int, optional
            Bounds in pixels.

        Returns
        -------
        objects : ndarray of shape (n, 4), dtype int32
            `x, y, w, h`.
        numDetections : ndarray of shape (n,), dtype int32
            Raw windows in each group; 1 for raw windows. Both are empty tuples if nothing was found.

        Raises
        ------
        cv2.error
            As `detectMultiScale`.

        Examples
        --------
        >>> faces = CascadeClassifier(data.find("frontalface"))
        >>> faces.detectMultiScale2(np.zeros((100, 100), np.uint8))
        ((), ())
        """
        settings = checked_settings("detectMultiScale2", scaleFactor, minNeighbors, flags, minSize, maxSize)
        found = self._found("detectMultiScale2", image, settings)
        return opencv_list(found.boxes), opencv_list(found.neighbors)

    @checked_call
    def detectMultiScale3(
        self,
        image: Any,
        scaleFactor: float = 1.1,
        minNeighbors: int = 3,
        flags: int = 0,
        minSize: Sequence[int] = (0, 0),
        maxSize: Sequence[int] = (0, 0),
        outputRejectLevels: bool = False,
    ) -> tuple[Boxes, Counts, Weights]:
        """Find objects of all sizes, and how sure the last stage is of each.

        Parameters
        ----------
        image : ndarray, dtype uint8; or cv2.UMat
            Grey, BGR or BGRA, in the shapes that `detectMultiScale` takes.
        scaleFactor : float, optional
            Ratio of neighbouring scales.
        minNeighbors : int, optional
            A detection needs more raw windows than this.
        flags : int, optional
            Not looked at.
        minSize, maxSize : tuple of int, optional
            Bounds in pixels.
        outputRejectLevels : bool, optional
            Not looked at: OpenCV fails without it as soon as anything is found, here levels and weights always come.

        Returns
        -------
        objects : ndarray of shape (n, 4), dtype int32
            `x, y, w, h`.
        rejectLevels : ndarray of shape (n,), dtype int32
            Stages passed: since OpenCV 3, all of them.
        levelWeights : ndarray of shape (n,), dtype float64
            The last stage's sum of leaf values; the largest of the group. Not a margin: the stage's threshold is
            not taken off. All three are empty tuples if nothing was found.

        Raises
        ------
        cv2.error
            As `detectMultiScale`.

        Examples
        --------
        >>> faces = CascadeClassifier(data.find("frontalface"))
        >>> faces.detectMultiScale3(np.zeros((100, 100), np.uint8), outputRejectLevels=True)
        ((), (), ())
        """
        del outputRejectLevels
        settings = checked_settings("detectMultiScale3", scaleFactor, minNeighbors, flags, minSize, maxSize)
        n_stages = self._scanner("detectMultiScale3").cascade.n_stages
        found = self._found("detectMultiScale3", image, settings)
        levels = np.full(len(found), n_stages, np.int32)
        return opencv_list(found.boxes), opencv_list(levels), opencv_list(found.scores)

    def _scanner(self, function: str) -> Scanner:
        """Return the scanner, or say why there is none."""
        if self._model.scanner is None:
            raise asserted(function, "!empty()", self._problem)
        return self._model.scanner

    @property
    def _problem(self) -> str:
        """Why there is no model, and what to do."""
        _, problem, hint_for = self._model
        return f"{problem}; {data.hint(hint_for)}" if hint_for else problem

    def _found(self, function: str, image: Any, settings: Settings) -> Detections:
        """Detect; the scores are level weights."""
        scanner = self._scanner(function)
        gray = gray_picture(function, image)
        size = Size(gray.shape[1], gray.shape[0])
        levels = settings.levels(function, size, scanner.cascade.window)
        n_threads = max(1, opencv().getNumThreads())
        boxes, sums = raw_windows(scanner, gray, levels, n_threads)
        raw = Detections(boxes, sums, np.ones(len(sums), np.int32))
        return clipped(group_windows(raw, settings.min_neighbors), size)


CascadeClassifier_convert = CascadeClassifier.convert


def _path(function: str, name: str, value: PathName) -> Path:
    try:
        path = os.fsdecode(value)
    except TypeError:
        raise bad_argument(
            function, f"{name} {value!r} is of type {type(value).__name__}; give the path of a file"
        ) from None
    if "\0" in path:
        raise bad_argument(function, f"{name} {path!r} has a null character, as no path has; give another")
    return Path(path)
