"""Fixtures that run and import the developers' programs."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def run_program():
    """Return `run_program(name, *arguments) -> subprocess.CompletedProcess`."""

    def run(name, *arguments):
        environment = {**os.environ, "PYTHONPATH": str(TOOLS.parent), "PYTHONWARNINGS": ""}
        command = [sys.executable, str(TOOLS / name), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    return run


@pytest.fixture
def program(monkeypatch):
    """Return `program(name) -> module`; processes that it starts find the package as well."""
    monkeypatch.syspath_prepend(str(TOOLS))
    monkeypatch.setenv("PYTHONPATH", str(TOOLS.parent))
    return importlib.import_module
