"""Annotations in an archive or at a URL."""

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
_NO_ANNOTATIONS = ("readme", "license", "licence", "copying", "changelog")
_SHAPES = b'"shapes"'
"""Tells a LabelMe file beside a picture from one of WebDataset."""


def local_annotations(place: Place) -> Path | None:
    """Return the annotations in a place as a local copy with the pictures; None if there are none.

    A place that contains only pictures is not copied: they are read directly. Text files that WebDataset has beside
    each picture are not annotations.

    Parameters
    ----------
    place : Place
        An archive, a set of shards, or a URL.

    Returns
    -------
    Path or None
        A file or a folder, for `vjcascade.formats.annotations.reading.read_annotations`.

    Raises
    ------
    SourceError
        If there are several files of annotations, or the disk has no room for a copy.
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
            f"{place.name} has {len(named)} files that may be annotations, such as {', '.join(sorted(named)[:3])}; "
            "keep only one of them, or unpack the archive and give the file"
        )
    return copy / named[0]


def _annotations(place: Place) -> list[StoredFile]:
    others = [
        one
        for one in place.others(IMAGE_SUFFIXES)
        if one.suffix.lower() in _SUFFIXES and not one.name.lower().startswith(_NO_ANNOTATIONS)
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
