"""Background images: checked once, kept in memory as far as they fit, read again where they do not."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import ImageError, SourceError
from vjcascade.formats.annotations.opencv_lists import Box
from vjcascade.imaging import read_gray
from vjcascade.parallel import MemoryBudget, checked_memory, checked_threads, ordered_map
from vjcascade.storage import File, StoredFile
from vjcascade.training.data.sources import (
    Cause,
    Picture,
    Progress,
    Skipped,
    Source,
    SourceReport,
    fetched_ahead,
    list_pictures,
    name_of,
    note_on_turned,
    pixel_digest,
    read_or_skip,
    refuse_skipped,
)
from vjcascade.types import Size


@dataclass(frozen=True, eq=False)
class BackgroundImage:
    """One background photo.

    Attributes
    ----------
    name : str
        Path below the source folder, or as written in the list.
    path : Path or StoredFile
        The file.
    size : Size
        In pixels.
    digest : bytes
        SHA-256 of size and pixels.
    pixels : ndarray of shape (height, width), dtype uint8, or None
        Grey levels; None if they are to be read from the file each time.
    ignored : tuple of Box
        Objects in it; windows at them are no negatives. Sides > 0.
    is_turned : bool
        Whether it was turned upright by EXIF.
    decoding_memory : int
        Bytes that reading it takes; 0 if it came from memory.
    """

    name: str
    path: File
    size: Size
    digest: bytes
    pixels: NDArray[np.uint8] | None
    ignored: tuple[Box, ...] = ()
    is_turned: bool = False
    decoding_memory: int = 0

    def load(self) -> NDArray[np.uint8]:
        """Return the grey pixels, from memory or from the file.

        Raises
        ------
        SourceError
            If the file has gone or changed since it was first read.
        """
        if self.pixels is not None:
            return self.pixels
        advice = "do not change pictures while training runs; restore it, and resume"
        try:
            gray = read_gray(self.path)
        except ImageError as error:
            raise SourceError(f"{self.path} can no longer be read ({error}): {advice}") from error
        if pixel_digest(gray) != self.digest:
            raise SourceError(f"{self.path} has changed since training began: {advice}")
        return gray


@dataclass(frozen=True, eq=False)
class BackgroundImages:
    """The usable background photos of a source: a sequence of grey pictures, safe to share among threads.

    Attributes
    ----------
    photos : tuple of BackgroundImage
        In the order of the source.
    report : SourceReport
        On the whole source, also in a `subset`.
    """

    photos: tuple[BackgroundImage, ...]
    report: SourceReport

    def __len__(self) -> int:
        return len(self.photos)

    def __getitem__(self, index: int) -> NDArray[np.uint8]:
        """Return photo `index`: grey levels of shape (height, width); see `BackgroundImage.load`."""
        return self.photos[index].load()

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each photo."""
        return tuple(photo.name for photo in self.photos)

    @property
    def sizes(self) -> tuple[Size, ...]:
        """Size of each photo, in pixels."""
        return tuple(photo.size for photo in self.photos)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all pixels and boxes in order, in hexadecimal; names do not count."""
        parts = (photo.digest + str(photo.ignored).encode() * bool(photo.ignored) for photo in self.photos)
        return hashlib.sha256(b"".join(parts)).hexdigest()

    def as_sent(self, index: int) -> BackgroundImage:
        """Return photo `index` for another process: with its pixels only if it has no file."""
        photo = self.photos[index]
        return replace(photo, pixels=None) if photo.decoding_memory else photo

    def ignored(self, index: int) -> NDArray[np.int32]:
        """Return the boxes of the objects in photo `index`, shape (n, 4): `x, y, w, h` in pixels."""
        return np.array(self.photos[index].ignored, np.int32).reshape(-1, 4)

    def subset(self, indices: Iterable[int]) -> BackgroundImages:
        """Return the photos at `indices`, in that order, without copying pixels."""
        return replace(self, photos=tuple(self.photos[index] for index in indices))


def open_background_images(  # noqa: PLR0913  what, how, and who hears of it
    source: Source,
    window: Size,
    *,
    n_threads: int | None = None,
    memory_limit: int = 2**30,
    memory_budget: MemoryBudget | None = None,
    strict: bool = False,
    progress: Progress | None = None,
    not_these: Collection[bytes] = (),
    label: str | None = None,
) -> BackgroundImages:
    """Open the photos without objects that negatives are taken from.

    Every photo is decoded once, so that a broken one shows now and not after hours of training.

    Parameters
    ----------
    source : str, path-like or sequence of ndarray
        A folder, searched with its subfolders, an archive or an address (see `vjcascade.storage`), or a list like
        OpenCV's `bg.txt`. Photos of a list may show the object, if boxes tell where, as in an `info.dat`
        (`NAME COUNT X Y WIDTH HEIGHT ...`): no window that shares more than a third of the smaller area with a box is
        taken for a negative. So it is with annotations in any format of
        `vjcascade.formats.annotations.reading`. Or photos in memory, each an array that
        `vjcascade.imaging.to_gray` takes; contiguous uint8 grey levels are not copied.
    window : Size
        Training window; smaller photos are skipped. So are copies of a photo, but their boxes count.
    n_threads : int, optional
        Threads that decode; all processors if not given. The result does not depend on it.
    memory_limit : int
        Bytes of grey pixels to keep; files beyond are read again whenever they are needed.
    memory_budget : MemoryBudget, optional
        What decoding may take; most of the machine's memory if not given.
    strict : bool
        Raise if anything has to be skipped.
    progress : callable, optional
        Called as `progress(n_done, n_photos)` after every photo.
    not_these : collection of bytes
        Digests of pictures of the object, as by `pixel_digest`: copies of them, without boxes to ignore, are skipped.
    label : str, optional
        The kind of object, where annotations have several: the others may be learned as negatives. Without it, none.

    Returns
    -------
    BackgroundImages
        At least one photo, each at least as large as the window.

    Raises
    ------
    SourceError
        If there is no source, no photo in it or none that can be used, if one does not fit into memory, or `strict`
        finds fault.
    """
    listing = list_pictures(source, "negatives", label=label)
    photos: dict[bytes, BackgroundImage] = {}
    skipped = list(listing.skipped)
    small: list[str] = []
    n_bytes = 0
    open_photo = partial(_open, budget=memory_budget or MemoryBudget(checked_memory(None)))
    opened = ordered_map(open_photo, fetched_ahead(listing.pictures), checked_threads(n_threads))
    for n_done, (picture, photo) in enumerate(zip(listing.pictures, opened, strict=True), start=1):
        if isinstance(photo, Skipped):
            skipped.append(photo)
        elif photo.size.width < window.width or photo.size.height < window.height:
            small.append(picture.label)
            skipped.append(
                Skipped(picture.label, f"{photo.size} is smaller than the {window} window", Cause.SMALL)
            )
        elif photo.digest in not_these and not photo.ignored:
            skipped.append(
                Skipped(picture.label, "is also among the positives: it shows the object", Cause.IN_BOTH)
            )
        elif (known := photos.get(photo.digest)) is not None:
            skipped.append(Skipped(picture.label, f"same pixels as {known.name}", Cause.COPY))
            boxes = tuple(dict.fromkeys(known.ignored + photo.ignored))
            photos[photo.digest] = replace(known, ignored=boxes)
        else:
            n_pixels = photo.size.width * photo.size.height
            fits = picture.pixels is not None or n_bytes + n_pixels <= memory_limit
            n_bytes += n_pixels if fits else 0
            photos[photo.digest] = photo if fits else replace(photo, pixels=None)
        if progress is not None:
            progress(n_done, len(listing.pictures))

    notes = (*listing.notes, *note_on_turned(sum(photo.is_turned for photo in photos.values())))
    report = SourceReport(
        "negatives", name_of(source), listing.unit, len(photos), tuple(skipped), notes=notes
    )
    if not photos:
        raise SourceError(_why_none(report, small, window))
    if strict:
        refuse_skipped(report)
    return BackgroundImages(tuple(photos.values()), report)


def _open(picture: Picture, budget: MemoryBudget) -> BackgroundImage | Skipped:
    boxes = picture.boxes or ()
    for box in boxes:
        if box.width < 1 or box.height < 1:
            return Skipped(picture.label, f"box {box} to ignore has no area", Cause.BOX)
    loaded = read_or_skip(picture, budget)
    if isinstance(loaded, Skipped):
        return loaded
    gray = loaded.gray
    height, width = gray.shape
    return BackgroundImage(
        name=picture.name,
        path=picture.path.released() if isinstance(picture.path, StoredFile) else picture.path,
        size=Size(width, height),
        digest=pixel_digest(gray),
        pixels=gray,
        ignored=boxes,
        is_turned=loaded.is_turned,
        decoding_memory=loaded.decoding_memory,
    )


def _why_none(report: SourceReport, small: Sequence[str], window: Size) -> str:
    advice = "Give photos without the object, larger than the window."
    if small:
        problem = (
            f"{len(small)} of {report.n_found} negatives are smaller than the {window} window, for example"
        )
        summary = f"{problem} {small[0]}. {advice}"
    else:
        summary = f"none of the {report.n_found} negatives in {report.source} can be used. {advice}"
    return "\n".join([summary, *report.lines()])
