"""Run compilers and interpreters on exports, if the machine has them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import ModelError
from vjcascade.exports.base import ADVICE
from vjcascade.exports.trial import Trial

TIMEOUT = 600
"""Seconds after which a program that runs an export counts as hung."""


def first_program(names: Sequence[str]) -> str | None:
    """Return the path of the first of these programs that is installed, or None.

    Examples
    --------
    >>> first_program(["no-such-program"]) is None
    True
    """
    return next((found for name in names if (found := shutil.which(name))), None)


def run_program(command: Sequence[str], folder: Path, data: bytes = b"") -> bytes:
    """Run a program in a folder, and return its output.

    Parameters
    ----------
    command : sequence of str
        The program's path and its arguments.
    folder : Path
        Its working directory.
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
            f"the export could not be tested: {Path(command[0]).name} failed ({error}); nothing is written"
        ) from None
    if done.returncode != 0:
        output = done.stderr.decode(errors="replace").strip()[-600:]
        raise ModelError(
            f"the export could not be tested: {Path(command[0]).name} failed with exit code {done.returncode}; nothing "
            f"is written. Its output: {output}"
        )
    return done.stdout


def trial_bytes(trial: Trial) -> bytes:
    """Return the input of the programs that run exports: number of windows, size of the picture, windows, picture."""
    height, width = trial.picture.shape
    head = np.array([len(trial.windows), width, height], np.int32)
    return head.tobytes() + trial.windows.tobytes() + trial.picture.tobytes()


def parsed_answers(
    data: bytes, n_windows: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Parse the output of these programs: stages that windows passed; in the picture, boxes of windows and of groups.

    Raises
    ------
    ModelError
        If it is too short or too long.
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
        raise ModelError(f"the export's output of {len(data)} bytes has the wrong length; {ADVICE}")
    return passed, raw, found
