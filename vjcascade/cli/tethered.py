"""``vjcascade`` for a program that starts it with a pipe as its standard input: it ends when that program is gone.

The system closes the pipe however the other program ends, by ``kill -9``, too. Then this one ends as if told to.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from vjcascade.__main__ import main
from vjcascade.cli.process import ExitCode

SECONDS_TO_END = 10.0
"""For ending in order."""


def _end_with_the_pipe() -> None:
    while os.read(sys.stdin.fileno(), 1024):  # not from the buffer, whose lock would be held when Python ends
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(SECONDS_TO_END)
    os._exit(ExitCode.TERMINATED)


if __name__ == "__main__":
    threading.Thread(target=_end_with_the_pipe, name="tether", daemon=True).start()
    main()
