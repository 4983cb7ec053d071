"""Results in the form of OpenCV's Python bindings."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

_Kind = TypeVar("_Kind", bound=np.generic)

Boxes: TypeAlias = NDArray[np.int32] | tuple[()]
Counts: TypeAlias = NDArray[np.int32] | tuple[()]
Weights: TypeAlias = NDArray[np.float64] | tuple[()]


def opencv_list(found: NDArray[_Kind]) -> NDArray[_Kind] | tuple[()]:
    """Return an array, or an empty tuple in the place of an empty one.

    Running scripts are made for that: `faces is ()`, `faces == ()`, `type(faces) is tuple` and
    `isinstance(faces, tuple)` all stand for "nothing found" in them. With an empty array the first and the last two
    are never true, and the second is an error or false; code that needs an array there (`faces.shape`) fails with
    OpenCV too, so that no running script has it.
    """
    return found if len(found) else ()
