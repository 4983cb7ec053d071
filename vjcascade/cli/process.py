"""The program's process: how it starts, is ended by the system, and ends, with which exit code."""

from __future__ import annotations

import gc
import signal
import sys
from enum import IntEnum
from types import FrameType

_LINEAR_ALGEBRA = "scipy.linalg.cython_blas"
_OBJECTS_BETWEEN_COLLECTIONS = 100_000


class ExitCode(IntEnum):
    """Exit codes of every command."""

    DONE = 0
    OUR_FAULT = 1
    WRONG_INPUT = 2
    INTERRUPTED = 130  # as shells say it: 128 and the number of the signal
    READER_GONE = 141
    TERMINATED = 143


class Terminated(KeyboardInterrupt):
    """The system asks the program to end, which it does as after Ctrl-C."""


def code_of(interrupt: KeyboardInterrupt) -> ExitCode:
    """Return how a program ends that was stopped."""
    return ExitCode.TERMINATED if isinstance(interrupt, Terminated) else ExitCode.INTERRUPTED


class _Process:
    is_ours = False


def own_process() -> None:
    """Assume that nobody else works in this process; for programs, not for those who call `run`."""
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
