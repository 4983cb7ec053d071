"""Run other programs on exports: compilers and interpreters, where the machine has them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from vjcascade.errors import ModelError

TIMEOUT = 600
"""Seconds after which a program that judges windows is taken for hung."""


def first_program(names: Sequence[str]) -> str | None:
    """Return the path of the first program that is there, or None.

    Examples
    --------
    >>> first_program(["no-such-program"]) is None
    True
    """
    return next((found for name in names if (found := shutil.which(name))), None)


def run_program(command: Sequence[str], folder: Path, data: bytes = b"") -> bytes:
    """Run a program in a folder, feed it bytes, and return what it writes.

    Parameters
    ----------
    command : sequence of str
        The program's path and its arguments.
    folder : Path
        Where it runs.
    data : bytes, optional
        Its standard input.

    Returns
    -------
    bytes
        Its standard output.

    Raises
    ------
    ModelError
        If it fails or takes too long.
    """
    try:
        done = subprocess.run(  # noqa: S603  a compiler or an interpreter, on a file that was just written
            command, cwd=folder, input=data, capture_output=True, check=False, timeout=TIMEOUT
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ModelError(
            f"the export could not be tried: {Path(command[0]).name} failed ({error}); nothing is written"
        ) from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()[-600:]
        raise ModelError(
            f"the export could not be tried: {Path(command[0]).name} ended with code {done.returncode}; nothing is "
            f"written. It said: {said}"
        )
    return done.stdout
