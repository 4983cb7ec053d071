"""The compiler of kernels, as the command line tells of it. Imports the compiler."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numba.core.event import Event, Listener, install_listener

SECONDS_FOR_DETECTION, SECONDS_FOR_TRAINING = 20, 45
"""What the kernels of detection take, about, and those of training and detection."""


class CompileCounter(Listener):
    """Counts the kernels that are compiled, not those that are loaded from disk.

    Attributes
    ----------
    n_compiled : int
        Kernels that were compiled since, each kind of arguments by itself.
    """

    def __init__(self) -> None:
        self.n_compiled = 0

    def on_start(self, event: Event) -> None:
        """Count a kernel."""
        del event
        self.n_compiled += 1

    def on_end(self, event: Event) -> None:
        """Let it go."""


class CompileNotice(CompileCounter):
    """Says at the first kernel that is compiled why nothing else happens for a while.

    Parameters
    ----------
    seconds : int
        How long it takes, about.
    """

    def __init__(self, seconds: int) -> None:
        super().__init__()
        self._seconds = seconds

    def on_start(self, event: Event) -> None:
        """Say so once."""
        super().on_start(event)
        if self.n_compiled > 1:
            return
        if cache_folder() is None:
            advice = "every time, as no cache folder can be written to: set NUMBA_CACHE_DIR to one"
        else:
            advice = "once; `vjcascade warmup` does it in advance"
        sys.stderr.write(f"compiling kernels, which takes about {self._seconds} s: {advice}\n")
        sys.stderr.flush()


@contextmanager
def compile_notice(seconds: int) -> Iterator[None]:
    """Say on standard error if anything is compiled in the `with` block, and that it takes about so long."""
    with install_listener("numba:compile", CompileNotice(seconds)):
        yield


@contextmanager
def count_compiled() -> Iterator[CompileCounter]:
    """Count what is compiled in the `with` block."""
    with install_listener("numba:compile", CompileCounter()) as counter:
        yield counter


def cache_folder() -> Path | None:
    """Return the folder of the compiled kernels; None if they cannot be kept."""
    from vjcascade.kernels.integral import fill_integrals

    stats = getattr(fill_integrals, "stats", None)  # a plain function where compiling is switched off
    path = None if stats is None else stats.cache_path
    return None if path is None else Path(path)
