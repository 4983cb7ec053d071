"""Run other programs on exports: compilers and interpreters, where the machine has them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import ModelError
from vjcascade.exports.trial import Trial

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


def trial_bytes(trial: Trial) -> bytes:
    """Return what the programs that try exports read: number of windows, size of the picture, windows, picture."""
    height, width = trial.picture.shape
    head = np.array([len(trial.windows), width, height], np.int32)
    return head.tobytes() + trial.windows.tobytes() + trial.picture.tobytes()


def parsed_answers(
    data: bytes, n_windows: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return what these programs write: stages passed by windows; boxes of all windows, and of groups, in the picture.

    Raises
    ------
    ModelError
        If there is less, or more.
    """
    numbers = np.frombuffer(data[: len(data) // 4 * 4], np.int32)
    passed, rest = numbers[:n_windows], numbers[n_windows:]
    boxes = []
    for _ in range(2):
        n_items = 4 * int(rest[0]) if len(rest) else 0
        boxes.append(rest[1 : 1 + n_items].reshape(-1, 4) if len(rest) > n_items >= 0 else None)
        rest = rest[1 + n_items :]
    raw, found = boxes
    if raw is None or found is None or len(rest) or len(data) % 4:
        raise ModelError(
            f"the export answered with {len(data)} bytes that are no answers; nothing is written"
        )
    return passed, raw, found
