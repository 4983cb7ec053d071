"""A process that is ours alone: what makes it start and end sooner, and end well when the system asks it to."""

from __future__ import annotations

import gc
import signal
import sys
from types import FrameType

from vjcascade.cli.exit_codes import Terminated

_LINEAR_ALGEBRA = "scipy.linalg.cython_blas"
_OBJECTS_BETWEEN_COLLECTIONS = 100_000


class _Process:
    is_ours = False


def own_process() -> None:
    """Take it that nobody else works in this process; for programs, not for those who call `run`."""
    _Process.is_ours = True
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)  # imports make many objects and next to no garbage
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)


def start_compiler() -> None:
    """Start numba, in our own process without linear algebra: that takes longer to import than all else of it.

    No kernel uses it; other compiled code in this process could have no `np.dot`.
    """
    if not _Process.is_ours or _LINEAR_ALGEBRA in sys.modules:
        return
    from numba.core.registry import cpu_target

    sys.modules[_LINEAR_ALGEBRA] = None  # type: ignore[assignment]  # what makes an import fail
    try:
        cpu_target.target_context.refresh()
    finally:
        del sys.modules[_LINEAR_ALGEBRA]


def end_quickly() -> None:
    """Spare Python the search for garbage when it ends, a quarter of a second after numba."""
    gc.freeze()


def _terminate(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise Terminated
