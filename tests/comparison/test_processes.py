"""Processes that work for this one: nothing is left of them, whatever ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import vjcascade
from vjcascade.comparison.processes import processes
from vjcascade.errors import ProcessError

PROJECT = Path(vjcascade.__file__).parents[1]

PROGRAM = """
import time

from vjcascade.comparison.processes import processes

if __name__ == "__main__":
    with processes(1, time.sleep) as mapped:
        results = mapped([0, 60])
        next(results)
        print("begun", flush=True)
        list(results)
"""


def exit_if_one(number):
    if number == 1:
        os._exit(1)
    return number


def test_a_process_that_is_gone_is_told():
    with (
        pytest.raises(ProcessError, match="one of 2 processes was killed"),
        processes(2, exit_if_one) as mapped,
    ):
        list(mapped([0, 1, 2]))


@pytest.mark.skipif(sys.platform == "win32", reason="signals to groups of processes are POSIX")
@pytest.mark.parametrize("kind", ["SIGINT", "SIGKILL"])
def test_none_is_left_behind(tmp_path, kind):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    ) as program:
        assert program.stdout.readline() == "begun\n"
        number = getattr(signal, kind)
        if kind == "SIGINT":  # from the keyboard: all of them get it
            os.killpg(program.pid, number)
        else:
            program.send_signal(number)
        try:
            errors = program.communicate(timeout=20)[1]  # the pipes are open as long as any of them lives
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)  # or leaving the block would wait for it
            raise
    assert program.returncode == -number
    assert "Process" not in errors
