"""Pages in Markdown, whose commands tests run (`import markdown_pages`)."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[1]
PROGRAMS = {
    "vjcascade": ["-m", "vjcascade"],
    "train-cascade": ["-m", "vjcascade", "train"],
    "python": [],
}
"""What Python is to run for the first word of a command."""


def code_blocks(text: str, language: str) -> list[str]:
    """Return the blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def command_lines(text: str) -> list[list[str]]:
    """Return the words of all lines in blocks of the shell."""
    return [shlex.split(line) for block in code_blocks(text, "sh") for line in block.splitlines()]


def run_command(words: list[str], folder: Path) -> str:
    """Run a command line of a page in a folder, and return what it printed."""
    return run([sys.executable, *PROGRAMS[words[0]], *words[1:]], folder)


def run(command: list[str], folder: Path) -> str:
    """Run a program in a folder; it must end well."""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONWARNINGS": ""}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout
