"""What a run costs: seconds for each part of a stage, and memory. Results never depend on it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STATUS = Path("/proc/self/statm")


def resident_memory() -> int | None:
    """Return how many bytes of memory the process occupies now.

    Where the system does not tell, the most that it has occupied so far; None where it tells neither.

    Examples
    --------
    >>> resident = resident_memory()
    >>> resident is None or resident > 2**20
    True
    """
    try:
        import resource
    except ImportError:  # not a POSIX system
        return None
    try:
        return int(_STATUS.read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError, ValueError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak


class Stopwatch:
    """Seconds of each part of the work, and the most memory seen when one of them ended.

    Attributes
    ----------
    seconds : dict
        Wall time by part; a part that is entered twice adds up.
    memory : int or None
        Resident bytes.

    Examples
    --------
    >>> clock = Stopwatch()
    >>> with clock.part("mining"):
    ...     pass
    >>> list(clock.seconds)
    ['mining']
    """

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self.seconds: dict[str, float] = {}
        self.memory: int | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since it was made."""
        return time.perf_counter() - self._began

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count the `with` block's time to a part."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began
            resident = resident_memory()
            if resident is not None:
                self.memory = max(self.memory or 0, resident)
