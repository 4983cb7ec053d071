"""How the programs end."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every command."""

    DONE = 0
    OUR_FAULT = 1
    WRONG_INPUT = 2
    INTERRUPTED = 130  # as shells say it: 128 and the number of the signal
    READER_GONE = 141
