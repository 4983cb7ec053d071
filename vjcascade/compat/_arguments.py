"""Arguments, checked as OpenCV's Python bindings check them, and brought to this package's forms."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from operator import index
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from vjcascade.compat._errors import asserted, bad_argument
from vjcascade.detection.scales import MAX_LEVELS, Level, scan_levels
from vjcascade.errors import SettingsError
from vjcascade.imaging import opencv
from vjcascade.messages import near_name, suggest
from vjcascade.types import Size

P = ParamSpec("P")
R = TypeVar("R")

_INT32 = np.iinfo(np.int32)

_TO_8_BIT = {
    "b": "`image.astype(np.uint8) * 255`",
    "u": "for 16-bit pictures `(image >> 8).astype(np.uint8)`",
    "f": "`(image * 255).round().astype(np.uint8)` if it lies in 0 to 1",
}


def checked_call(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function refuse calls that do not fit its parameters by a `cv2.error` (and TypeError), as OpenCV's do."""
    signature = inspect.signature(function)
    class_name, _, method = function.__qualname__.rpartition(".")
    name = class_name if method == "__init__" else method

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise bad_argument(name, f"{error}; {_advice(list(signature.parameters), kwargs)}") from None
        return function(*args, **kwargs)

    return call


def _advice(parameters: list[str], keywords: Iterable[str]) -> str:
    """Say what was meant by a keyword, or what a function takes."""
    known = [name for name in parameters if name != "self"]
    unknown = next((name for name in keywords if name not in known), "")
    if unknown and near_name(unknown, known):
        return suggest(unknown, known)
    return f"it takes {', '.join(known) or 'no arguments'}"


class Settings(NamedTuple):
    """The arguments of the three `detectMultiScale` functions but for the picture."""

    scale_factor: float
    min_neighbors: int
    min_size: Size
    max_size: Size | None

    def levels(self, function: str, image_size: Size, window: Size) -> list[Level]:
        """Return what OpenCV scans in a picture of this size."""
        try:
            return scan_levels(image_size, window, self.scale_factor, self.min_size, self.max_size)
        except SettingsError as error:
            raise asserted(function, f"fewer than {MAX_LEVELS} scales", str(error)) from None


def checked_settings(  # one argument for each of OpenCV's
    function: str,
    scale_factor: object,
    min_neighbors: object,
    flags: object,
    min_size: object,
    max_size: object,
) -> Settings:
    """Check the arguments as OpenCV does: None stands for the default, and `flags` do nothing since 4.0."""
    factor = real(function, "scaleFactor", scale_factor, 1.1)
    neighbors = whole(function, "minNeighbors", min_neighbors, 3)
    whole(function, "flags", flags, 0)
    least, most = _size(function, "minSize", min_size), _size(function, "maxSize", max_size)
    if not 1 < factor < math.inf:  # nan too
        raise asserted(
            function, "scaleFactor > 1", f"scaleFactor is {factor}; give a finite number above 1, such as 1.1"
        )
    return Settings(factor, neighbors, least, most if most.width and most.height else None)


def real(function: str, name: str, value: object, default: float) -> float:
    """Return a number as a float."""
    if value is None:
        return default
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:  # an int of hundreds of digits
            raise bad_argument(
                function, f"{name} is a number too large for a float; give a smaller one"
            ) from None
    raise bad_argument(function, f"{name} {value!r} is of type {type(value).__name__}; give a number")


def whole(function: str, name: str, value: object, default: int) -> int:
    """Return a whole number of 32 bits as an int; no fractions, and no bool, as in OpenCV."""
    if value is None:
        return default
    try:
        number = index(value)  # type: ignore[arg-type]  # what it does not take is refused below
    except TypeError:
        number = _INT32.max + 1
    if isinstance(value, (bool, np.ndarray)) or not _INT32.min <= number <= _INT32.max:
        raise bad_argument(
            function,
            f"{name} {value!r} is of type {type(value).__name__}; give a whole number of 32 bits, such as 3",
        )
    return number


def _size(function: str, name: str, value: object) -> Size:
    """Return a width and a height."""
    if value is None:
        return Size(0, 0)
    is_list = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim > 0)
    sides: Any = [] if isinstance(value, str) or not is_list else value
    if len(sides) != 2:
        raise bad_argument(function, f"{name} {value!r} is not a pair (width, height), for example (30, 30)")
    return Size(
        whole(function, f"the width in {name}", sides[0], 0),
        whole(function, f"the height in {name}", sides[1], 0),
    )


def gray_picture(function: str, image: Any) -> NDArray[np.uint8]:
    """Return the grey levels of what OpenCV takes for a picture; (0, 0) for None, as `imread` gives it.

    Grey comes back itself; three channels are BGR and four BGRA, whose fourth is not looked at.
    """
    if image is None:
        return np.empty((0, 0), np.uint8)
    cv2 = opencv()
    if isinstance(image, cv2.UMat):
        image = image.get()
    if not isinstance(image, np.ndarray):
        raise bad_argument(
            function, f"image is of type {type(image).__name__}; give a numpy array of uint8, grey or BGR"
        )
    if image.dtype != np.uint8:
        advice = _TO_8_BIT.get(image.dtype.kind, "`image.astype(np.uint8)` if it lies in 0 to 255")
        raise asserted(
            function,
            "image.depth() == CV_8U",
            f"image has dtype {image.dtype} instead of uint8; {advice} helps",
        )
    if image.size == 0:
        return np.empty((0, 0), np.uint8)
    if image.ndim == 2 or (image.ndim == 3 and image.shape[2] == 1):
        return np.ascontiguousarray(image).reshape(image.shape[:2])
    if image.ndim == 3 and image.shape[2] in {3, 4}:
        gray: NDArray[np.uint8] = cv2.cvtColor(np.ascontiguousarray(image), cv2.COLOR_BGR2GRAY)
        return gray
    raise asserted(
        function,
        "channels == 1, 3 or 4",
        f"an array of shape {image.shape} is not a picture; give (height, width) grey, or (height, width, 3 or 4) BGR",
    )
