"""Folders of pictures: which files in them are meant, and what is left out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from vjcascade.files import PICTURES_NAME, is_run_folder
from vjcascade.imaging.files import IMAGE_SUFFIXES

DRAWN = ".found"
"""Stands before the suffix of copies with detections drawn in, which are not searched or learned from again."""


class FoundImages(NamedTuple):
    """The picture files of a folder.

    Attributes
    ----------
    paths : list of Path
        Sorted.
    notes : list of str
        What was left out, in sentences.

    Examples
    --------
    >>> FoundImages([Path("a.png")], []).paths[0].name
    'a.png'
    """

    paths: list[Path]
    notes: list[str]


def find_images(folder: str | os.PathLike[str]) -> FoundImages:
    """Find the picture files in a folder and its subfolders, recognised by their suffixes.

    Linked folders are followed, each folder once. Hidden files and folders (those whose name begins with a dot) are
    left out without a word; folders of training runs, drawn copies and subfolders that cannot be read are left out
    and named. No file is opened.

    Parameters
    ----------
    folder : path-like
        The folder.

    Returns
    -------
    FoundImages
        Paths below `folder`, and notes.

    Raises
    ------
    OSError
        If the folder itself cannot be read; with its file name.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.JPG", "a.png", "a.found.png", "notes.txt", ".a.png"):
    ...         Path(folder, name).touch()
    ...     found = find_images(folder)
    >>> [path.name for path in found.paths], found.notes
    (['a.png', 'b.JPG'], ['1 drawn copy (NAME.found.SUFFIX) is left out, for example a.found.png'])
    """
    folder = Path(folder)
    walk = _Walk(folder)
    paths = sorted(walk.pictures(), key=Path.as_posix)
    drawn = [path for path in paths if path.stem.endswith(DRAWN)]
    if drawn:
        kind = f"(NAME{DRAWN}.SUFFIX)"
        are = f"{len(drawn)} drawn copies {kind} are" if drawn[1:] else f"1 drawn copy {kind} is"
        walk.notes.append(f"{are} left out, for example {drawn[0].relative_to(folder).as_posix()}")
    return FoundImages([path for path in paths if not path.stem.endswith(DRAWN)], walk.notes)


class _Walk:
    """A walk through a folder, its subfolders and what they link to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: set[tuple[int, int]] = set()
        self.notes: list[str] = []

    def pictures(self) -> Iterator[Path]:
        """Yield the picture files, drawn copies among them."""
        for parent, subfolders, files in os.walk(
            self._folder, onerror=self._note_unreadable, followlinks=True
        ):
            if not self._is_new(Path(parent)):
                subfolders.clear()
                continue
            own = is_run_folder(Path(parent))
            if own and Path(parent) != self._folder:
                self.notes.append(f"{self._name(parent)} is the folder of a training run and is left out")
                subfolders.clear()
                continue
            hidden = {PICTURES_NAME} if own else set()
            subfolders[:] = sorted(
                name for name in subfolders if not name.startswith(".") and name not in hidden
            )
            paths = (Path(parent, name) for name in files if not name.startswith("."))
            yield from (path for path in paths if path.suffix.lower() in IMAGE_SUFFIXES)

    def _is_new(self, folder: Path) -> bool:
        """Tell whether a folder is met for the first time: links may lead to it again, or in a circle."""
        known = folder.stat()
        key = known.st_dev, known.st_ino
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new

    def _note_unreadable(self, error: OSError) -> None:
        if Path(error.filename) == self._folder:
            raise error
        reason = (error.strerror or str(error)).lower()
        self.notes.append(f"{self._name(error.filename)} cannot be read ({reason}) and is left out")

    def _name(self, folder: str) -> str:
        return Path(folder).relative_to(self._folder).as_posix()
