"""The photos that are labelled, by the names they have in the file of boxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from vjcascade.errors import ImageError, SettingsError
from vjcascade.formats.annotations.writing import relative_name
from vjcascade.imaging import find_images, image_size
from vjcascade.types import Size


class Photos:
    """Photos by name; requests can reach no other files.

    Parameters
    ----------
    paths : mapping of str to Path
        Paths by the names in the file of boxes.
    folder : Path
        The folder of the file of boxes; new photos are saved there.
    notes : tuple of str
        Messages about files that were skipped.

    Examples
    --------
    >>> from vjcascade.imaging import write_image
    >>> import numpy as np
    >>> write_image("a.png", np.zeros((30, 40), np.uint8))
    >>> photos = Photos.below(Path())
    >>> list(photos), photos.size("a.png")
    (['a.png'], Size(width=40, height=30))
    """

    def __init__(self, paths: Mapping[str, Path], folder: Path, notes: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.notes = notes
        self._paths = dict(paths)
        self._sizes: dict[str, Size] = {}

    @classmethod
    def below(cls, folder: Path) -> Photos:
        """Return the photos of a folder and its subfolders.

        Raises
        ------
        OSError
            If it cannot be read.
        """
        found = find_images(folder)
        paths = {relative_name(path, folder): path for path in found.paths}
        odd = [name for name in paths if not _is_text(name)]
        notes = [
            *found.notes,
            *(f"{name!a} is skipped: its name is not valid UTF-8; rename it" for name in odd),
        ]
        return cls({name: path for name, path in paths.items() if name not in odd}, folder, tuple(notes))

    def seen_from(self, folder: Path) -> Photos:
        """Return the same photos with names relative to a file of boxes in another folder."""
        paths = {relative_name(path, folder): path for path in self._paths.values()}
        return Photos(paths, folder, self.notes)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._paths))

    def __len__(self) -> int:
        return len(self._paths)

    def __contains__(self, name: object) -> bool:
        return name in self._paths

    def path(self, name: str) -> Path:
        """Return the file of a photo.

        Raises
        ------
        SettingsError
            If there is no photo of this name.
        """
        if name not in self._paths:
            raise SettingsError(f"{name!r:.200} is not one of the photos: load the page again")
        return self._paths[name]

    def size(self, name: str) -> Size:
        """Return the size of an upright photo in pixels.

        Raises
        ------
        SettingsError
            If there is no photo of this name.
        ImageError
            If its header cannot be read.
        """
        path = self.path(name)
        if name not in self._sizes:
            self._sizes[name] = image_size(path)
        return self._sizes[name]

    def add(self, path: Path) -> str:
        """Add a new photo; return its name."""
        name = relative_name(path, self.folder)
        self._paths[name] = path
        return name


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def readable_size(photos: Photos, name: str) -> Size | None:
    """Return the size of a photo; None if it cannot be read.

    Examples
    --------
    >>> readable_size(Photos({"a.png": Path("nowhere.png")}, Path()), "a.png") is None
    True
    """
    try:
        return photos.size(name)
    except ImageError:
        return None
