"""Pages in Markdown, whose commands tests run (`import markdown_pages`)."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

from vjcascade.cli.main import run as run_vjcascade

PROJECT = Path(__file__).parents[1]
PROGRAMS = {"vjcascade": [], "train-cascade": ["train"]}
"""Our programs, and what the words after their names are put after."""


def code_blocks(text: str, language: str) -> list[str]:
    """Return the blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def command_lines(text: str) -> list[list[str]]:
    """Return the words of all lines in blocks of the shell."""
    return [shlex.split(line) for block in code_blocks(text, "sh") for line in block.splitlines()]


def each_once(texts: Iterable[str]) -> list[list[str]]:
    """Return the command lines of our programs on some pages, in order, those that are on several pages once."""
    lines = [
        tuple(words) for text in texts for words in command_lines(text) if words and words[0] in PROGRAMS
    ]
    return [list(words) for words in dict.fromkeys(lines)]


def run_command(words: list[str], folder: Path) -> str:
    """Run a command line of a page in a folder, and return what it printed.

    Our own programs run in this process: to start an interpreter for each takes longer than most of them.
    """
    if words[0] == "python":
        return run([sys.executable, *words[1:]], folder)
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = run_vjcascade([*PROGRAMS[words[0]], *words[1:]])
    assert code == 0, f"{words}\n{output.getvalue()}\n{errors.getvalue()}"
    return output.getvalue()


def run_snippet(code: str, folder: Path) -> None:
    """Run a snippet of a page in a folder, in this process for the same reason."""
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(code, "snippet", "exec"), {"__name__": "__main__"})


def run(command: list[str], folder: Path) -> str:
    """Run a program in a folder; it must end well."""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONWARNINGS": ""}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout
