"""Which scenes a model may never have seen, and which serve to choose settings: lists of pictures, by their bytes.

``python tools/scene_lists.py --data FOLDER`` writes scenes-test.txt and scenes-development.txt beside this file, from the
archives in FOLDER. A line has the first 16 hexadecimal digits of the picture's SHA-256, and its place in the archives.
"""

from __future__ import annotations

import argparse
import hashlib
import tarfile
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from face_pictures import FOR_DEVELOPMENT

from vjcascade.files import write_atomic
from vjcascade.imaging import IMAGE_SUFFIXES

TOOLS = Path(__file__).resolve().parent
DIGITS = 16

SETS: Mapping[str, tuple[str, ...]] = {
    "test": (
        "faces-test-mitcmu/*",
        "faces-test-caltech/*",
        "negatives-test/*",
        "cars-uiuc/TestImages*",
        "plates-eu/test/*",
    ),
    "development": (f"faces-scenes-train/images/*[{FOR_DEVELOPMENT}].jpg",),
}
"""Patterns of places in the archives, by what their scenes are for."""


def list_of(name: str) -> Path:
    """Return the file of a list."""
    return TOOLS / f"scenes-{name}.txt"


def read_list(name: str) -> dict[str, str]:
    """Return the places of a list by the digits of their pictures."""
    lines = list_of(name).read_text(encoding="utf-8").splitlines()
    return dict(line.split(maxsplit=1) for line in lines)


def pictures(data: Path, patterns: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield digits and place of every picture in the archives that a pattern fits."""
    for archive in sorted({pattern.split("/")[0] for pattern in patterns}):
        with tarfile.open(data / f"{archive}.tar.gz") as tar:
            for member in tar:
                place = member.name.removeprefix("./")
                is_picture = member.isfile() and PurePosixPath(place).suffix.lower() in IMAGE_SUFFIXES
                if is_picture and any(fnmatch(place, pattern) for pattern in patterns):
                    content = tar.extractfile(member)
                    if content is not None:
                        yield hashlib.sha256(content.read()).hexdigest()[:DIGITS], place


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the archives")
    data = parser.parse_args().data
    for name, patterns in SETS.items():
        lines = [f"{digits} {place}\n" for digits, place in pictures(data, patterns)]
        write_atomic(
            list_of(name), "".join(sorted(lines, key=lambda line: line.split(maxsplit=1)[1])).encode()
        )
        print(f"{list_of(name)}: {len(lines)} pictures")


if __name__ == "__main__":
    main()
