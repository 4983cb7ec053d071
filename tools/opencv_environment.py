"""Where the environment with OpenCV 4.14 is: for the tests, and for the programs that compare with it."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "VJCASCADE_ORACLE_PYTHON"
"""Names the environment's Python, if it is set."""

USUAL = Path(__file__).resolve().parent.parent / ".venv-oracle"
"""Where it is if nothing else is said."""


def opencv_python(named: Path | None = None) -> Path | None:
    """Return the Python of the environment, or None: `named`, or what the variable names, or that of the usual folder."""
    chosen = named or os.environ.get(VARIABLE)
    places = [Path(chosen)] if chosen else [USUAL / "bin/python", USUAL / "Scripts/python.exe"]
    return next((path for path in places if path.exists()), None)


def absence(named: Path | None = None) -> str:
    """Say where it was looked for."""
    chosen = named or os.environ.get(VARIABLE)
    return f"{chosen} does not exist" if chosen else f"no {USUAL}"
