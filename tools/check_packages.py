"""Build wheel and sdist twice, and say whether they are the same bytes, are well described, and have all in them.

``python tools/check_packages.py FOLDER`` leaves the packages in FOLDER. Exit code 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

PROJECT = Path(__file__).parents[1]
EPOCH = "1577836800"
"""What SOURCE_DATE_EPOCH says where it is not set: the beginning of 2020."""

IN_SDIST = (
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "Containerfile",
    "LICENSE",
    "README.md",
    "SECURITY.md",
    "pyproject.toml",
)
MODELS = ("car.xml", "frontalface-small.xml", "frontalface.xml", "plate.xml")


def main() -> int:
    """Build, compare and look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as again:
        packages = build(folder)
        problems = differences(packages, build(Path(again)))
    problems += what_is_missing(packages)
    check = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *packages], check=False)
    problems += ["twine finds fault with them"] if check.returncode else []
    for problem in problems:
        print(f"wrong: {problem}")
    if not problems:
        print("the same bytes twice, whole, and well described:", *(path.name for path in packages))
    return bool(problems)


def build(folder: Path) -> list[Path]:
    """Return the wheel and the sdist, built into a folder."""
    words = [sys.executable, "-m", "build", "--outdir", str(folder), str(PROJECT)]
    subprocess.run(
        words, env={"SOURCE_DATE_EPOCH": EPOCH, **os.environ}, stdout=subprocess.DEVNULL, check=True
    )
    return [max(folder.glob(kind), key=lambda path: path.stat().st_mtime) for kind in ("*.whl", "*.tar.gz")]


def differences(packages: list[Path], others: list[Path]) -> list[str]:
    """Return what differs between two builds."""
    return [
        f"{one.name} is not the same bytes when it is built again"
        for one, other in zip(packages, others, strict=True)
        if one.name != other.name or one.read_bytes() != other.read_bytes()
    ]


def what_is_missing(packages: list[Path]) -> list[str]:
    """Return which files the packages lack, and what is in them that should not be."""
    wheel, sdist = packages
    package = PROJECT / "vjcascade"
    files = (path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    wanted = {f"vjcascade/{path.relative_to(package).as_posix()}" for path in files}
    with zipfile.ZipFile(wheel) as archive:
        there = {name for name in archive.namelist() if ".dist-info/" not in name}
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    models = {f"vjcascade/models/{name}" for name in MODELS}
    return [
        *(f"{wheel.name} lacks {name}" for name in sorted((wanted | models) - there)),
        *(f"{wheel.name} has {name}, which nobody needs" for name in sorted(there - wanted - models)),
        *(f"{sdist.name} lacks {name}" for name in sorted({*IN_SDIST, *wanted} - in_sdist)),
    ]


if __name__ == "__main__":
    sys.exit(main())
