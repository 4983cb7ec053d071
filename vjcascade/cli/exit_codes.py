"""How the programs end."""

from enum import IntEnum


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
