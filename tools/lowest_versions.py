"""Print the lowest versions that `pyproject.toml` supports, as constraints for pip: what CI runs a part of the tests with.

``python tools/lowest_versions.py > lowest.txt && pip install . --constraint lowest.txt``
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

PROJECT = Path(__file__).parents[1]
EXTRAS = ("demo", "sklearn", "label", "cloud", "cluster")
"""Those that belong to the package in use; the others are for work on it."""


def lowest(requirements: Iterable[str]) -> list[str]:
    """Return each requirement with its lower bound as the version.

    Examples
    --------
    >>> lowest(["numpy>=2.0", "opencv-python>=4.10.0.84", "fsspec[http]>=2025.2"])
    ['numpy==2.0', 'opencv-python==4.10.0.84', 'fsspec==2025.2']
    """
    bounds = (re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", requirement) for requirement in requirements)
    return [f"{bound[1]}=={bound[2]}" for bound in bounds if bound]


def main() -> int:
    """Print them."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = (one for name in EXTRAS for one in project["optional-dependencies"][name])
    print(*lowest([*project["dependencies"], *extras]), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
