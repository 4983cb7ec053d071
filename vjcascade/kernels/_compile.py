"""The one decorator of all kernels."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile on first call and keep the machine code on disk, where there is a folder to keep it in.

    `nogil` lets a Python thread pool drive kernels (see `vjcascade.parallel`); no fastmath and no
    `prange`, so that float operations keep their order and results do not depend on the thread count. What is
    divided by zero is infinite or not a number, as in numpy: a check would keep loops from being vectorised.
    """
    try:
        compiled = njit(cache=True, nogil=True, fastmath=False, error_model="numpy")(function)
    except RuntimeError:  # neither the package's folder nor the user's cache may be written to
        compiled = njit(nogil=True, fastmath=False, error_model="numpy")(function)
    return cast("Callable[P, R]", compiled)
