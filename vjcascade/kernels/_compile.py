"""The one decorator of all kernels."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile on first call and keep the machine code on disk.

    `nogil` lets a Python thread pool drive kernels (see `vjcascade.parallel`); no fastmath and no
    `prange`, so that float operations keep their order and results do not depend on the thread count.
    """
    return cast("Callable[P, R]", njit(cache=True, nogil=True, fastmath=False)(function))
