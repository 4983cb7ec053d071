"""Where the programs begin: ``vjcascade``, ``train-cascade`` and ``python -m vjcascade``.

Importing the command line takes some tenths of a second. Ctrl-C in that time ends the program as it does any other,
without a traceback.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


@contextmanager
def _ended_by_interrupts() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def main() -> NoReturn:
    """Run ``vjcascade``, and leave Python."""
    with _ended_by_interrupts():
        from vjcascade.cli.main import main as run
    run()


def train_main() -> NoReturn:
    """Run ``train-cascade``, which is ``vjcascade train``, and leave Python."""
    with _ended_by_interrupts():
        from vjcascade.cli.main import train_main as run
    run()


if __name__ == "__main__":
    main()
