"""Annotations in an archive or below an address."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from vjcascade.errors import SourceError
from vjcascade.formats.annotations.opencv_lists import LIST_NAME
from vjcascade.formats.annotations.reading import reader_of
from vjcascade.imaging import IMAGE_SUFFIXES
from vjcascade.storage import Place, StoredFile

_SUFFIXES = frozenset(
    {".xml", ".json", ".csv", ".txt", ".dat", ".lst", ".list", ".yaml", ".yml", ".tsv", ".vec", ".mat"}
)
_SAY_NOTHING = ("readme", "license", "licence", "copying", "changelog")
_SHAPES = b'"shapes"'
"""What a file of LabelMe beside a picture has, and one of WebDataset has not."""


def local_annotations(place: Place) -> Path | None:
    """Return annotations that lie in a place, with their pictures, as a local copy; None where there are none.

    A place that holds pictures alone is not copied: they are read where they are. Text files that WebDataset keeps
    beside each picture are no annotations.

    Parameters
    ----------
    place : Place
        An archive, a set of shards, or an address.

    Returns
    -------
    Path or None
        A file or a folder, for `vjcascade.formats.annotations.reading.read_annotations`.

    Raises
    ------
    SourceError
        If it cannot be told which file is meant, or the disk has no room for a copy.
    """
    found = _annotations(place)
    if not found:
        return None
    copy = place.local_copy()
    if place.is_single or reader_of(copy) is not None:
        return copy
    labels = [place.label(one) for one in found]
    named = [label for label in labels if PurePosixPath(label).name == LIST_NAME] or labels
    if len(named) > 1:
        raise SourceError(
            f"{place.name}: which of its files tells of the pictures? {', '.join(sorted(named)[:3])} and so on; leave "
            "one, or unpack it and give the file"
        )
    return copy / named[0]


def _annotations(place: Place) -> list[StoredFile]:
    others = [
        one
        for one in place.others(IMAGE_SUFFIXES)
        if one.suffix.lower() in _SUFFIXES and not one.name.lower().startswith(_SAY_NOTHING)
    ]
    stems = {_stem(one) for one in place.pictures(IMAGE_SUFFIXES)}
    beside = [one for one in others if one.suffix.lower() in {".txt", ".json"} and _stem(one) in stems]
    first = next((one for one in beside if one.suffix.lower() == ".json"), None)
    if first is not None and _SHAPES in first.read_bytes():
        return others
    ignored = set(beside)
    return [one for one in others if one not in ignored]


def _stem(one: StoredFile) -> str:
    return (
        f"{one.container if one.member else ''}:{PurePosixPath(one.member or one.container).with_suffix('')}"
    )
