"""The decorator of all kernels."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile on the first call, and cache the machine code on disk if there is a writable folder.

    `nogil` lets a Python thread pool run kernels (see `vjcascade.parallel`); without fastmath and `prange`, float
    operations keep their order and results do not depend on the number of threads. Division by zero gives inf or nan,
    as in numpy: checks would prevent vectorisation.
    """
    try:
        compiled = njit(cache=True, nogil=True, fastmath=False, error_model="numpy")(function)
    except RuntimeError:  # neither the package's folder nor the user's cache is writable
        compiled = njit(nogil=True, fastmath=False, error_model="numpy")(function)
    return cast("Callable[P, R]", compiled)
