"""Where training pictures come from: a folder, a list or annotations, and the report on what became of every file."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import ImageError, SourceError
from vjcascade.formats.annotations.opencv_lists import (
    LIST_NAME,
    Box,
    read_boxes_list,
    read_image_list,
    read_opencv_list,
)
from vjcascade.formats.annotations.pictures import AnnotatedPicture, Annotations, Coordinates
from vjcascade.formats.annotations.reading import contains_boxes, read_annotations, reader_of
from vjcascade.formats.annotations.stored import local_annotations
from vjcascade.formats.annotations.vec_files import is_vec, read_vec
from vjcascade.imaging import IMAGE_SUFFIXES, decoding_memory, find_images, image_size, read_upright, to_gray
from vjcascade.messages import memory_size, near_file, one_line, pluralize
from vjcascade.parallel import MemoryBudget
from vjcascade.storage import File, StoredFile, fetch_ahead, is_place, open_place, spelled
from vjcascade.types import Size

Kind = Literal["positives", "negatives"]
Source = str | os.PathLike[str] | Sequence[NDArray[Any]] | NDArray[Any]
"""A folder, a list, an archive or an address of pictures, or pictures in memory."""

Progress = Callable[[int, int], None]
"""Called as `progress(n_done, n_pictures)` after every picture."""


class Cause(StrEnum):
    """Why something is not used: what reasons have in common."""

    UNREADABLE = "unreadable"
    COPY = "copy"
    IN_BOTH = "in both"
    SMALL = "small"
    SHAPE = "shape"
    FLAT = "flat"
    FAINT = "faint"
    BOX = "box"
    OTHER = "other"


class Skipped(NamedTuple):
    """A file, line or box that is not used, and why: in words, and by the kind of reason."""

    name: str
    reason: str
    cause: Cause = Cause.OTHER

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


@dataclass(frozen=True)
class SourceReport:
    r"""What was found in a source of training pictures, and what became of it.

    Attributes
    ----------
    kind : {"positives", "negatives"}
        What the pictures are for.
    source : str
        The folder or list, as given; "memory" for arrays.
    unit : str
        What is counted: "image files", "boxes", "samples" or "arrays".
    n_used : int
        Of `n_found`, those that training sees.
    skipped : tuple of Skipped
        The others, each with its reason. A wrong line of a list counts as one.
    clipped : tuple of Skipped
        Boxes that are used, but not as given, since they reach a little beyond the picture.
    notes : tuple of str
        Warnings and explanations.

    Examples
    --------
    >>> report = SourceReport("positives", "pos", "image files", 61, (Skipped("a.jpg", "is empty"),))
    >>> print("\n".join(report.lines()))
    positives: found 62 image files in pos, used 61, skipped 1
      skipped a.jpg: is empty
    """

    kind: Kind
    source: str
    unit: str
    n_used: int
    skipped: tuple[Skipped, ...] = ()
    clipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def n_found(self) -> int:
        """Everything that was meant to be used."""
        return self.n_used + len(self.skipped)

    @property
    def units(self) -> str:
        """What is counted, in the singular where there is but one."""
        singular = {"boxes": "box"}.get(self.unit, self.unit.removesuffix("s"))
        return singular if self.n_found == 1 else self.unit

    def lines(self, limit: int = 20) -> list[str]:
        """Return the report as plain text, with at most `limit` skipped and `limit` clipped ones named."""
        counts = f"found {self.n_found} {self.units} in {one_line(self.source)}, used {self.n_used}"
        return [
            f"{self.kind}: {counts}, skipped {len(self.skipped)}",
            *_cut([f"  skipped {one_line(str(item))}" for item in self.skipped], limit),
            *_cut([f"  clipped {one_line(str(item))}" for item in self.clipped], limit),
            *[f"  note: {one_line(note)}" for note in self.notes],
        ]


class Picture(NamedTuple):
    """A picture file that may be used for training.

    Attributes
    ----------
    name : str
        Path below the source folder, or as written in the list.
    path : Path or StoredFile
        The file.
    origin : str
        List and line that name it, as `"info.dat:4: "`; empty in folders.
    boxes : tuple of Box or None
        The objects in it; None where there are none, or the picture as a whole is meant.
    pixels : ndarray of shape (height, width), dtype uint8, or None
        Grey levels of a picture in memory, which has no file; None otherwise.
    """

    name: str
    path: File
    origin: str = ""
    boxes: tuple[Box, ...] | None = None
    pixels: NDArray[np.uint8] | None = None

    @property
    def label(self) -> str:
        """Name for reports: where it is named, and its name."""
        return self.origin + self.name


@dataclass(frozen=True)
class Listing:
    """The pictures of a source before any of them is opened.

    Attributes
    ----------
    unit : str
        "image files", "boxes", "samples" or "arrays".
    pictures : tuple of Picture
        Sorted by path in folders, in the order of the lines in lists.
    skipped : tuple of Skipped
        Wrong lines and missing pictures of a list.
    notes : tuple of str
        What the reader of the list had to assume.
    window : Size or None
        Of crops that are all of the size of a window; None where they are of any size.
    """

    unit: str
    pictures: tuple[Picture, ...]
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    window: Size | None = None


def name_of(source: Source) -> str:
    """Return what a source is called: its path as given, or "memory"."""
    return spelled(os.fspath(source)) if isinstance(source, str | os.PathLike) else "memory"


def list_pictures(
    source: Source, kind: Kind, *, label: str | None = None, window: Size | None = None
) -> Listing:
    """Find the pictures of a folder and its subfolders, those that a list or annotations name, or those in memory.

    Hidden files and folders, and files whose suffix is not one of `IMAGE_SUFFIXES`, mean nothing in a folder, unless
    they are annotations of the pictures in it. A `.vec` has crops. Annotations tell boxes: in positives, where the
    object is; in negatives, what is to be ignored. Any other file is read as a list: boxes for positives; names for
    negatives, with or without boxes to ignore.

    Parameters
    ----------
    source : path or sequence of ndarray
        What is given.
    kind : {"positives", "negatives"}
        What the pictures are for.
    label : str, optional
        The kind of object, where annotations have several. Without it, all of them are ignored in negatives.
    window : Size, optional
        The size of the crops in a `.vec`, which does not say it.

    Returns
    -------
    Listing
        In its order.

    Raises
    ------
    SourceError
        If there is no such folder or list, if it cannot be read, or if there is no picture in it; or if an array in
        memory is no picture.
    """
    if not isinstance(source, str | os.PathLike):
        return _list_arrays(source, kind)
    if is_place(source):
        return _list_place(source, kind, label, window)
    source = Path(source)
    _refuse_missing(source, kind)
    listing = _list_path(source, kind, label, window)
    if not listing.pictures and not listing.skipped:
        looked_for = _in_words(source, kind)
        raise SourceError(f"{kind}: there is no picture in {source.absolute()}; looked for {looked_for}")
    return listing


def _list_place(
    source: str | os.PathLike[str], kind: Kind, label: str | None, window: Size | None
) -> Listing:
    """List the pictures of an archive, a set of shards or an address, where they are; annotated ones as a copy."""
    place = open_place(source)
    copy = local_annotations(place)
    if copy is not None:
        return _list_path(copy, kind, label, window)
    pictures = tuple(Picture(place.label(one), one) for one in place.pictures(IMAGE_SUFFIXES))
    if not pictures:
        suffixes = ", *".join(sorted(IMAGE_SUFFIXES))
        raise SourceError(f"{kind}: there is no picture in {place.name}; looked for files named *{suffixes}")
    return Listing("image files", pictures)


def _list_path(source: Path, kind: Kind, label: str | None, window: Size | None) -> Listing:
    if source.is_file() and is_vec(source):
        return _list_vec(source, kind, window)
    reader = reader_of(source)
    if reader is None or reader is read_opencv_list:
        listing = _list_folder(source, kind) if reader is None else _list_file(source, kind)
        note = f"{source.name} has no labels: the label {label!r} chooses nothing there"
        # Of photos without boxes, nobody expects it to.
        return replace(listing, notes=(*listing.notes, note)) if label and kind == "positives" else listing
    read = read_annotations(source)
    if kind == "positives":
        return _list_objects(read.of_label(label))
    return _list_with_ignored(read if label is None else read.only(label))


class Loaded(NamedTuple):
    """A picture that was read.

    Attributes
    ----------
    gray : ndarray of shape (height, width), dtype uint8
        Grey levels.
    is_turned : bool
        Whether it was turned or mirrored as its EXIF orientation says.
    decoding_memory : int
        Bytes that reading it took, the grey levels included; 0 if it was in memory.
    """

    gray: NDArray[np.uint8]
    is_turned: bool
    decoding_memory: int = 0


def read_or_skip(picture: Picture, budget: MemoryBudget) -> Loaded | Skipped:
    """Return the grey picture, or why it cannot be read.

    Parameters
    ----------
    picture : Picture
        In memory, or a file.
    budget : MemoryBudget
        Waited for, so that pictures that are decoded at the same time fit into memory.

    Returns
    -------
    Loaded or Skipped
        The picture, or the reason.

    Raises
    ------
    SourceError
        If the picture alone does not fit: whether it is used must not depend on memory.
    """
    if picture.pixels is not None:
        return Loaded(picture.pixels, is_turned=False)
    try:
        path = picture.path.fetched() if isinstance(picture.path, StoredFile) else picture.path
        needed = decoding_memory(path)
        if needed > budget.n_bytes:
            size, free = image_size(path), memory_size(budget.n_bytes)
            raise SourceError(
                f"{picture.label}: decoding {size} pixels takes {memory_size(needed)} of memory; of the limit, only "
                f"{free} are left beside the program and the photos in memory. Save the picture smaller, or "
                "raise the memory limit"
            )
        with budget.hold(needed):
            return Loaded(*read_upright(path), needed)
    except ImageError as error:
        return Skipped(picture.label, str(error).removeprefix(f"{picture.path}: "), Cause.UNREADABLE)


def fetched_ahead(pictures: Sequence[Picture]) -> Iterable[Picture]:
    """Return pictures in their order, those in archives or at addresses with their content: it is fetched ahead.

    Parameters
    ----------
    pictures : sequence of Picture
        From one listing.

    Returns
    -------
    iterable of Picture
        As they are if all are in folders.
    """
    if not any(isinstance(one.path, StoredFile) for one in pictures):
        return pictures
    return fetch_ahead(_with_content, pictures)


def _with_content(picture: Picture) -> Picture:
    try:
        return (
            picture._replace(path=picture.path.fetched()) if isinstance(picture.path, StoredFile) else picture
        )
    except ImageError:  # said where it is read
        return picture


def note_on_turned(n_turned: int) -> list[str]:
    """Say how many pictures were not upright in their files; nothing if all were.

    Examples
    --------
    >>> note_on_turned(7), note_on_turned(0)
    (['7 files were rotated upright as EXIF says'], [])
    """
    were = "was" if n_turned == 1 else "were"
    return [f"{pluralize(n_turned, 'file')} {were} rotated upright as EXIF says"] if n_turned else []


def pixel_digest(gray: NDArray[np.uint8]) -> bytes:
    """Return the SHA-256 of shape and pixels: equal for copies, whatever their names and file formats."""
    digest = hashlib.sha256(str(gray.shape).encode())
    digest.update(np.ascontiguousarray(gray).data)
    return digest.digest()


def refuse_skipped(report: SourceReport) -> None:
    """Raise if anything was skipped: what `strict` asks for.

    Raises
    ------
    SourceError
        With the list of what was skipped.
    """
    if report.skipped:
        problem = (
            f"{len(report.skipped)} of {report.n_found} {report.units} in {report.source} cannot be used"
        )
        advice = "fix or remove them, or do not train with strict"
        raise SourceError("\n".join([f"{report.kind}: {problem}; {advice}:", *report.lines()[1:]]))


def _refuse_missing(source: Path, kind: Kind) -> None:
    try:
        source.stat()
    except (FileNotFoundError, NotADirectoryError):
        near = near_file(source)
        hint = f"; did you mean {near}?" if near else ""
        raise SourceError(f"{kind}: {source.absolute()} does not exist{hint}") from None
    except OSError as error:  # no permission, or a name that is too long
        raise SourceError(f"{kind}: {source} cannot be read: {error.strerror}") from None


def _list_arrays(source: Sequence[NDArray[Any]] | NDArray[Any], kind: Kind) -> Listing:
    is_one = isinstance(source, np.ndarray) and (source.ndim < 3 or source.shape[2:] in {(3,), (4,)})
    if is_one or not isinstance(source, Sequence | np.ndarray):
        given = f"an array of shape {source.shape}" if isinstance(source, np.ndarray) else repr(source)
        raise SourceError(
            f"{kind}: {given} is neither a path nor a sequence of pictures; put a single picture into a list"
        )
    pictures = []
    for number, array in enumerate(source):
        try:
            gray = np.require(to_gray(array), requirements="W")
        except (TypeError, ImageError) as error:
            raise SourceError(f"{kind}: array {number}: {error}") from None
        name = f"array {number}"
        pictures.append(Picture(name, Path(name), pixels=gray))
    if not pictures:
        raise SourceError(f"{kind}: there is no picture in the sequence given")
    return Listing("arrays", tuple(pictures))


def _list_folder(source: Path, kind: Kind) -> Listing:
    _refuse_boxes_in(source, kind)
    try:
        paths, notes = find_images(source)
    except OSError as error:
        raise SourceError(f"{error.filename} cannot be read: {error.strerror}") from error
    pictures = tuple(Picture(path.relative_to(source).as_posix(), path) for path in paths)
    return Listing("image files", pictures, notes=tuple(notes))


def _refuse_boxes_in(folder: Path, kind: Kind) -> None:
    """Refuse a folder whose pictures show several objects, or more than the object, as a file in it says.

    Such folders are made by ``vjcascade samples`` (sheets of samples, and scenes), by ``vjcascade label`` and by other
    annotation tools. As a folder of crops, whole pictures would be taken for the object; as one of photos, the object
    would be among the negatives.
    """
    for path in islice(_may_tell_boxes(folder), _MOST_BESIDE):
        try:
            pictures = read_annotations(path).pictures if contains_boxes(path) else ()
        except (SourceError, OSError):  # it is something else
            continue
        inside = (
            one for one in pictures if one.boxes and one.path.absolute().is_relative_to(folder.absolute())
        )
        shown = next((one for one in inside if len(one.boxes) > 1 or not _is_whole(one)), None)
        if shown is not None:
            advice = (
                f"Give that file in place of the folder: {path}"
                if kind == "positives"
                else f"Give photos without it; or that file, {path}, to use what is outside of its boxes"
            )
            raise SourceError(
                f"{kind}: {folder} holds pictures with boxes around the object, according to {path.name} in it: "
                f"{shown.name} has {len(shown.boxes)}. {advice}"
            )


_MOST_BESIDE = 8
"""Files beside pictures that are looked into."""


def _may_tell_boxes(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder that may be annotations of the pictures there: not those of each picture."""
    try:
        paths = sorted(folder.iterdir(), key=lambda path: (path.name != LIST_NAME, path))
    except OSError:  # said where its pictures are looked for
        return
    stems = {path.stem for path in paths if path.suffix.lower() in IMAGE_SUFFIXES}
    for path in paths:
        if path.suffix.lower() in _TELLING_SUFFIXES and path.stem not in stems and path.is_file():
            yield path


_TELLING_SUFFIXES = (".dat", ".json", ".csv", ".xml", ".txt")


def _is_whole(one: AnnotatedPicture) -> bool:
    """Tell whether the box of a picture is all of it."""
    try:
        return one.boxes == ((0, 0, *image_size(one.path)),)
    except ImageError:  # said where it is read
        return True


def _list_file(source: Path, kind: Kind) -> Listing:
    read = read_boxes_list(source) if kind == "positives" else read_image_list(source)
    with_boxes = kind == "positives" and read.has_boxes
    notes = read.notes
    if kind == "positives" and read.pictures and not with_boxes:
        notes += (f"{source.name} names pictures without boxes: each is used as a crop of the object",)
    pictures = tuple(
        Picture(entry.name, entry.path, f"{source.name}:{entry.line}: ", entry.boxes or None)
        for entry in read.pictures
        if entry.boxes or not with_boxes
    )
    errors = tuple(Skipped(f"{source.name}:{error.line}", error.reason) for error in read.errors)
    return Listing("boxes" if with_boxes else "image files", pictures, errors, notes)


def _list_vec(source: Path, kind: Kind, window: Size | None) -> Listing:
    if kind == "negatives":
        raise SourceError(
            f"{kind}: {source} holds crops of opencv_createsamples; give photos without the object"
        )
    read = read_vec(source, window)
    pictures = tuple(
        Picture(f"sample {i}", source, f"{source.name}: ", pixels=pixels)
        for i, pixels in enumerate(read.windows)
    )
    return Listing("samples", pictures, notes=read.notes, window=read.size)


def _list_objects(read: Annotations) -> Listing:
    """Return the pictures with objects; those to ignore are none."""
    pictures = tuple(
        Picture(one.name, one.path, _origin(read, one.place), tuple(map(_whole, one.boxes)))
        for one in read.pictures
        if one.boxes
    )
    notes = [f"{read.path.name} was read as {read.format}", *read.notes]
    if n_ignored := sum(len(one.ignored) for one in read.pictures):
        notes.append(f"{pluralize(n_ignored, 'object')} marked to be ignored left out")
    return Listing("boxes", pictures, _faults(read), tuple(notes))


def _list_with_ignored(read: Annotations) -> Listing:
    """Return the pictures of which all objects are known, with every box in them to be ignored."""
    incomplete = {fault.name for fault in read.faults}
    pictures = tuple(
        Picture(
            one.name,
            one.path,
            _origin(read, one.place),
            tuple(_outward(thing.box) for thing in one.objects) or None,
        )
        for one in read.pictures
        if one.name not in incomplete
    )
    notes = [f"{read.path.name} was read as {read.format}", *read.notes]
    if n_unnamed := _n_unnamed(read):
        unnamed = pluralize(n_unnamed, "picture")
        notes.append(f"{unnamed} in {read.path.name} left out, as no annotations name them")
    if n_boxes := sum(len(one.objects) for one in read.pictures):
        notes.append(
            f"{n_boxes:,} boxes are left out of the negatives; all outside them is background, even unmarked objects"
        )
    return Listing("image files", pictures, _faults(read), tuple(notes))


def _n_unnamed(read: Annotations) -> int:
    """Return how many pictures are in the folder of annotations that are not among them."""
    if not read.path.is_dir():
        return 0
    named = {picture.path.absolute() for picture in read.pictures}
    return sum(path.absolute() not in named for path in find_images(read.path).paths)


def _origin(read: Annotations, place: int) -> str:
    """Return where a picture is named, as labels begin."""
    between = ":" if read.unit == "line" else f": {read.unit} "
    return f"{read.path.name}{between}{place}: " if place else f"{read.path.name}: "


def _faults(read: Annotations) -> tuple[Skipped, ...]:
    return tuple(Skipped(_origin(read, one.place).removesuffix(": "), one.reason) for one in read.faults)


def _whole(box: Coordinates) -> Box:
    """Return the box of whole pixels that is nearest to one with fractions."""
    x, y, width, height = box
    left, top = math.floor(x + 0.5), math.floor(y + 0.5)
    return Box(left, top, math.floor(x + width + 0.5) - left, math.floor(y + height + 0.5) - top)


def _outward(box: Coordinates) -> Box:
    """Return the smallest box of whole pixels around one with fractions."""
    x, y, width, height = box
    left, top = math.floor(x), math.floor(y)
    return Box(left, top, math.ceil(x + width) - left, math.ceil(y + height) - top)


def _in_words(source: Path, kind: Kind) -> str:
    if reader_of(source) not in {None, read_opencv_list}:
        return "pictures with objects of this kind"
    if source.is_dir():
        return f"files named *{', *'.join(sorted(IMAGE_SUFFIXES))} in it and its subfolders"
    if kind == "positives":
        return "lines NAME COUNT X Y WIDTH HEIGHT ... with boxes"
    return "lines that name a picture"


def _cut(lines: Sequence[str], limit: int) -> list[str]:
    more = [f"  ... and {len(lines) - limit} more"] if len(lines) > limit else []
    return [*lines[:limit], *more]
