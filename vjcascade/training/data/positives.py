"""Positives: crops of the object, or boxes in photos, brought to the training window."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vjcascade.cascade import MAX_WINDOW_SIDE, checked_window
from vjcascade.errors import ImageError, SourceError
from vjcascade.formats.annotations.opencv_lists import Box
from vjcascade.imaging import image_size
from vjcascade.kernels.lanes import CONTRAST_FLOOR
from vjcascade.messages import pluralize
from vjcascade.parallel import MemoryBudget, checked_memory, checked_threads, ordered_map
from vjcascade.training.data.copies import (
    MOST_ALIKE,
    NO_COPIES,
    CopyRule,
    Region,
    make_copies,
    mirror_accuracy,
)
from vjcascade.training.data.crops import (
    MAX_GROWTH,
    clip_box,
    cut_window,
    grow_to_shape,
    growth,
    has_contrast,
)
from vjcascade.training.data.sources import (
    Cause,
    Listing,
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
from vjcascade.training.settings import Mirror
from vjcascade.types import Size

Item = TypeVar("Item")

MIN_POSITIVES = 10
"""Fewer positives are refused: nothing can be learned from them."""

FEW_POSITIVES = 100
"""Fewer positives are used with a warning."""

DEFAULT_WINDOW = Size(24, 24)
"""Its area is that of proposed windows; Viola and Jones's own."""

MIN_WINDOW_SIDE = 8
"""Shortest side of a proposed window."""

FLAT_DEVIATION = 3.0
"""Of the grey levels: with less there is nothing in a crop, with more there may be something faint."""

_SCENE = re.compile(r"\d{4}(_\d{4}){4}\.(jpg|jpeg|png)", re.IGNORECASE)
"""Names of `opencv_createsamples -info`: number, x, y, width, height."""

MIN_INSIDE = 80
"""Boxes with less than this percentage of their area inside the picture are dropped."""


@dataclass(frozen=True, eq=False)
class Positives:
    """The positives of a source, all of window size.

    Attributes
    ----------
    windows : ndarray of shape (n, height, width), dtype uint8
        Grey levels: the crops, no two alike, and after them their altered copies.
    names : tuple of str
        Where each comes from: the path below the source folder, or name and box of a list.
    groups : ndarray of shape (n,), dtype intp
        Windows from one picture, or from copies of it, have one number. For `split_held_out`.
    window : Size
        As given, or as proposed by `propose_window`.
    report : SourceReport
        What was found, used and skipped.
    digests : frozenset of bytes
        Of the pictures that windows were cut from, as by `pixel_digest`.
    n_copies : int
        How many of the windows, the last ones, are altered copies; they have names and groups of their crops.
    sizes : tuple of Size
        In pixels of the pictures, of what each crop was made of.
    turned : frozenset of int
        Which crops are of pictures that were turned upright by EXIF.
    regions : tuple of Region
        What copies of each crop can be made of, where that was asked for.
    """

    windows: NDArray[np.uint8]
    names: tuple[str, ...]
    groups: NDArray[np.intp]
    window: Size
    report: SourceReport
    digests: frozenset[bytes] = frozenset()
    n_copies: int = 0
    sizes: tuple[Size, ...] = ()
    turned: frozenset[int] = frozenset()
    regions: tuple[Region, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    @property
    def n_crops(self) -> int:
        """Windows that are no copies."""
        return len(self) - self.n_copies

    def without(self, names: Collection[str]) -> Positives:
        """Return the positives but for crops of these names, and their copies."""
        kept = np.array([i for i, name in enumerate(self.names) if name not in names], np.intp)
        crops = [i for i in range(len(self.sizes)) if self.names[i] not in names]
        return replace(
            self,
            windows=self.windows[kept],
            names=tuple(self.names[i] for i in kept),
            groups=self.groups[kept],
            n_copies=int(np.count_nonzero(kept >= self.n_crops)),
            sizes=tuple(self.sizes[i] for i in crops),
            turned=frozenset(new for new, old in enumerate(crops) if old in self.turned),
            regions=tuple(self.regions[i] for i in crops) if self.regions else (),
        )

    @property
    def fingerprint(self) -> str:
        """SHA-256 of window size and pixels, in hexadecimal; names do not count."""
        digest = hashlib.sha256(str(self.window).encode())
        digest.update(self.windows.data)
        return digest.hexdigest()


def load_positives(  # noqa: PLR0913  what, how, and who hears of it
    source: Source,
    window: Size | None = None,
    *,
    min_side: int | None = None,
    copies: CopyRule = NO_COPIES,
    n_threads: int | None = None,
    memory_budget: MemoryBudget | None = None,
    strict: bool = False,
    progress: Progress | None = None,
    label: str | None = None,
    at_least: int = MIN_POSITIVES,
    keep_regions: bool = False,
) -> Positives:
    """Load crops of the object, and bring them to one size.

    A crop or box of another shape than the window is grown to the window's shape around its centre: with the
    photo's pixels around a box and, beyond the border of a picture, by repeating the pixels at its edge. Then
    it is resized. Nothing is stretched (by more than half a pixel) and nothing is cut off.

    Skipped, each with its reason: pictures that cannot be read; crops with less contrast than any detector
    accepts, or so long and thin that they would fill less than a tenth of the window; all but the first of windows
    with the same pixels; boxes with less than 80 % of their area inside the picture (those with more are clipped
    to it).

    Parameters
    ----------
    source : str, path-like or sequence of ndarray
        A folder, searched with its subfolders, a list like OpenCV's `info.dat`, annotations in any format of
        `vjcascade.formats.annotations.reading`, or a `.vec`; or crops in memory, each an array that
        `vjcascade.imaging.to_gray` takes.
    window : Size, optional
        Training window; see `propose_window` for what is chosen if it is not given. For a `.vec`, the size of its
        samples.
    min_side : int, optional
        Crops whose shorter side has fewer pixels are skipped. Without it, all are used, enlarged if need be.
    copies : CopyRule
        How many altered copies of each crop are made; none by default.
    n_threads : int, optional
        Threads that decode; all processors if not given. The result does not depend on it.
    memory_budget : MemoryBudget, optional
        What decoding may take; most of the machine's memory if not given.
    strict : bool
        Raise if anything has to be skipped.
    progress : callable, optional
        Called as `progress(n_done, n_pictures)` after every picture.
    label : str, optional
        The kind of object, where annotations have several.
    at_least : int
        So many are needed.
    keep_regions : bool
        Whether the crops are kept with their surroundings, too, as `Positives.regions`.

    Returns
    -------
    Positives
        At least `at_least` windows.

    Raises
    ------
    SourceError
        If there is no source, too few positives of it can be used, a picture does not fit into memory, or `strict`
        finds fault.
    SettingsError
        If the window cannot be used.
    """
    min_side = max(min_side or 1, 1)
    window = None if window is None else checked_window(window)
    listing = list_pictures(source, "positives", label=label, window=window)
    notes = list(listing.notes)
    if window is None and listing.window is not None:
        window = listing.window
        notes.append(f"window {window}, as the samples look")
    if window is None:
        window, note = _propose(listing, min_side)
        notes.append(note)
    budget = memory_budget or MemoryBudget(checked_memory(None))
    n_threads = checked_threads(n_threads)
    # What is listed decides, since regions must be kept while pictures are open.
    n_each = copies.copies_of_each(sum(len(one.boxes or (None,)) for one in listing.pictures))
    cut = partial(
        _cut_crops, window=window, min_side=min_side, budget=budget, keep_region=keep_regions or n_each > 0
    )
    found = ordered_map(cut, fetched_ahead(listing.pictures), n_threads)
    crops, skipped = _distinct(chain.from_iterable(_with_progress(found, len(listing.pictures), progress)))

    notes += _notes_on_sizes(crops, window)
    notes += note_on_turned(len({crop.photo for crop in crops if crop.is_turned}))
    notes += _notes_on_scenes(listing)
    if MIN_POSITIVES <= len(crops) < FEW_POSITIVES:
        are_few = f"{pluralize(len(crops), 'positive')} {'is' if len(crops) == 1 else 'are'} few"
        notes.append(f"{are_few}: a good detector needs hundreds to thousands")
    report = SourceReport(
        kind="positives",
        source=name_of(source),
        unit=listing.unit,
        n_used=len(crops),
        skipped=(*listing.skipped, *skipped),
        clipped=tuple(Skipped(crop.label, f"used as {crop.box}") for crop in crops if crop.box != crop.given),
        notes=tuple(notes),
    )
    _check(report, at_least, strict=strict)
    regions = tuple(crop.region for crop in crops if crop.region is not None)
    positives = replace(_assemble(crops, window, report), regions=regions if keep_regions else ())
    return positives if n_each == 0 else _with_copies(positives, regions, n_each, copies, n_threads)


def propose_window(sizes: ArrayLike) -> Size:
    """Propose a training window from the sizes of the crops.

    It has the median ratio of width to height, and the area of 24x24 or, if that is smaller, the median area
    of the crops. Its shorter side is rounded first, to 8 pixels at least, then the longer side to fit the
    ratio.

    Parameters
    ----------
    sizes : array_like of shape (n, 2)
        Width and height of each crop, in pixels, > 0; n > 0.

    Returns
    -------
    Size
        The window.

    Raises
    ------
    SourceError
        If the median ratio is so far from 1 that no window of it has sides of 8 to 256 pixels.

    Examples
    --------
    >>> propose_window([(100, 40), (100, 40), (60, 60)])
    Size(width=38, height=15)
    """
    widths, heights = np.asarray(sizes, np.float64).T
    ratio = float(np.median(widths / heights))
    area = min(DEFAULT_WINDOW.width * DEFAULT_WINDOW.height, float(np.median(widths * heights)))
    longer_by = max(ratio, 1 / ratio)
    short = max(MIN_WINDOW_SIDE, round(math.sqrt(area / longer_by)))
    long = round(short * longer_by)
    if long > MAX_WINDOW_SIDE:
        raise SourceError(
            f"the ratio of width to height is {ratio:.3g} for the median crop: no window with sides of "
            f"{MIN_WINDOW_SIDE} to {MAX_WINDOW_SIDE} pixels has it; cut the crops closer to a square, or give a window"
        )
    return Size(long, short) if ratio > 1 else Size(short, long)


class _Refusal(NamedTuple):
    """Why a crop is not used."""

    reason: str
    cause: Cause


class _Crop(NamedTuple):
    """One positive: names for the model and for reports, the box asked for and used, and what came of it."""

    name: str
    label: str
    given: Box
    box: Box
    pixels: NDArray[np.uint8]
    photo: bytes
    is_turned: bool
    region: Region | None


def _propose(listing: Listing, min_side: int) -> tuple[Size, str]:
    found = chain.from_iterable(map(_sizes_of, listing.pictures))  # headers only: threads would slow it down
    sizes = np.array([size for size in found if min(size) >= min_side], np.float64)
    if len(sizes) == 0:  # nothing will be usable, and the report will say why
        return DEFAULT_WINDOW, f"window {DEFAULT_WINDOW} by default"
    window = propose_window(sizes)
    median = Size(*(round(side) for side in np.median(sizes, axis=0).tolist()))
    return window, f"window {window} chosen from the median crop {median}"


def _sizes_of(picture: Picture) -> list[Size]:
    if picture.pixels is not None:
        return [Size(*picture.pixels.shape[::-1])]
    if picture.boxes is not None:
        return [Size(box.width, box.height) for box in picture.boxes]
    try:
        return [image_size(picture.path)]
    except ImageError:
        return []


def _with_progress(found: Iterable[Item], n_pictures: int, progress: Progress | None) -> Iterator[Item]:
    """Pass items on, telling of the progress."""
    for n_done, item in enumerate(found, start=1):
        if progress is not None:
            progress(n_done, n_pictures)
        yield item


def _distinct(found: Iterable[_Crop | Skipped]) -> tuple[list[_Crop], list[Skipped]]:
    """Sort out the crops that are used: the first of those with the same pixels."""
    crops: dict[bytes, _Crop] = {}
    skipped: list[Skipped] = []
    for crop in found:
        if isinstance(crop, Skipped):
            skipped.append(crop)
        elif (twin := crops.setdefault(crop.pixels.tobytes(), crop)) is not crop:
            skipped.append(Skipped(crop.label, f"same pixels as {twin.label}", Cause.COPY))
    return list(crops.values()), skipped


def _cut_crops(
    picture: Picture, window: Size, min_side: int, budget: MemoryBudget, *, keep_region: bool
) -> list[_Crop | Skipped]:
    loaded = read_or_skip(picture, budget)
    if isinstance(loaded, Skipped):
        return [loaded]
    gray = loaded.gray
    photo = pixel_digest(gray)
    whole = Box(0, 0, gray.shape[1], gray.shape[0])
    crops: list[_Crop | Skipped] = []
    for given in (whole,) if picture.boxes is None else picture.boxes:
        name = picture.name if picture.boxes is None else f"{picture.name} {given}"
        cut = _cut_crop(gray, given, window, min_side)
        if isinstance(cut, _Refusal):
            crops.append(Skipped(picture.origin + name, *cut))
        else:
            region = Region.around(gray, cut[0], window) if keep_region else None
            crops.append(_Crop(name, picture.origin + name, given, *cut, photo, loaded.is_turned, region))
    return crops


def _cut_crop(
    gray: NDArray[np.uint8], given: Box, window: Size, min_side: int
) -> tuple[Box, NDArray[np.uint8]] | _Refusal:
    """Return the box inside the picture and the window made of it, or why it is not used."""
    picture = Size(gray.shape[1], gray.shape[0])
    if min(given.width, given.height) <= 0:
        return _Refusal("the box is empty", Cause.BOX)
    box = clip_box(given, picture)
    inside = 100 * (box.width * box.height) / (given.width * given.height)
    if inside < MIN_INSIDE:
        reason = f"{inside:.0f} % of the box is inside the {picture} picture; at least {MIN_INSIDE} % must be"
        return _Refusal(reason, Cause.BOX)
    if min(box.width, box.height) < min_side:
        reason = f"{box.width}x{box.height} is smaller than the minimum side of {min_side} pixels"
        return _Refusal(reason, Cause.SMALL)
    if growth(box, window) > MAX_GROWTH:
        reason = (
            f"{box.width}x{box.height} has an aspect ratio too far from the {window} window's: "
            f"it would fill less than 1/{MAX_GROWTH} of it"
        )
        return _Refusal(reason, Cause.SHAPE)
    pixels = cut_window(gray, box, window)
    if not has_contrast(pixels):
        deviation = pixels[1:-1, 1:-1].std()
        reason = (
            "too little contrast to be detected: the standard deviation of its grey levels "
            f"is {deviation:.1f} and must be above {1 / CONTRAST_FLOOR:.0f}"
        )
        return _Refusal(reason, Cause.FLAT if deviation < FLAT_DEVIATION else Cause.FAINT)
    return box, pixels


def _notes_on_sizes(crops: Sequence[_Crop], window: Size) -> list[str]:
    """Say how many crops were enlarged, and how many have another shape than the window."""
    notes = []
    small = [crop for crop in crops if crop.box.width < window.width or crop.box.height < window.height]
    if small:
        notes.append(
            f"{len(small)} of {len(crops)} positives are smaller than the {window} window on one side and were "
            f"enlarged, for example {_with_size(small[0])}"
        )
    shaped = [crop for crop in crops if grow_to_shape(crop.box, window) != crop.box]
    if shaped:
        worst = sorted(shaped, key=lambda crop: -growth(crop.box, window))[:3]
        notes.append(
            f"{len(shaped)} of {len(crops)} positives have another aspect ratio than the {window} window: each was "
            "padded around its centre (with the photo around a box, otherwise by repeating edge pixels), "
            f"not stretched or cropped; worst: {', '.join(map(_with_size, worst))}"
        )
    return notes


def _notes_on_scenes(listing: Listing) -> list[str]:
    """Warn of pictures that are named as `opencv_createsamples` names its scenes, which are no crops."""
    scenes = [
        one.path.name for one in listing.pictures if one.boxes is None and _SCENE.fullmatch(one.path.name)
    ]
    if not scenes:
        return []
    box = " ".join(str(int(number)) for number in scenes[0].split(".")[0].split("_")[1:])
    named = f"{pluralize(len(scenes), 'picture')} named as opencv_createsamples names scenes, with the object's box"
    return [
        f"{named}, but used whole as crops: if they are scenes, give a list with lines like {scenes[0]} 1 {box}"
    ]


def _with_size(crop: _Crop) -> str:
    return f"{crop.name} ({crop.box.width}x{crop.box.height})"


def _check(report: SourceReport, at_least: int, *, strict: bool) -> None:
    if strict:
        refuse_skipped(report)
    if report.n_used < at_least:
        problem = (
            f"{report.n_used} of {report.n_found} {report.units} in {report.source} can be used as positives"
        )
        are = "is" if at_least == 1 else "are"
        advice = f"at least {at_least} {are} needed: add crops of the object"
        raise SourceError("\n".join([f"{problem}, {advice}", *report.lines()]))


def _assemble(crops: Sequence[_Crop], window: Size, report: SourceReport) -> Positives:
    groups: dict[bytes, int] = {}
    return Positives(
        windows=np.stack([crop.pixels for crop in crops]),
        names=tuple(crop.name for crop in crops),
        groups=np.array([groups.setdefault(crop.photo, len(groups)) for crop in crops], np.intp),
        window=window,
        report=report,
        digests=frozenset(groups),
        sizes=tuple(Size(crop.box.width, crop.box.height) for crop in crops),
        turned=frozenset(i for i, crop in enumerate(crops) if crop.is_turned),
    )


def _with_copies(
    positives: Positives, regions: Sequence[Region], n_each: int, rule: CopyRule, n_threads: int
) -> Positives:
    """Add altered copies of each crop, and say so."""
    share = mirror_accuracy(positives.windows, rule.seed)
    may_mirror = share < MOST_ALIKE if rule.mirror == Mirror.AUTO else rule.mirror == Mirror.YES
    windows, crops = make_copies(
        regions, positives.window, n_each, may_mirror=may_mirror, seed=rule.seed, n_threads=n_threads
    )
    made = "a copy is" if n_each == 1 else f"{n_each} copies are"
    note = f"augmentation: {made} made of each, shifted, scaled and rotated a little"
    if may_mirror:
        note += ", every second one mirrored"
    if rule.mirror == Mirror.AUTO:
        why = "" if may_mirror else "; none is mirrored"
        note += (
            f"{why} ({share:.0%} of the crops can be distinguished from their mirror images; 50% is chance)"
        )
    return replace(
        positives,
        windows=np.concatenate([positives.windows, windows]),
        names=positives.names + tuple(positives.names[crop] for crop in crops),
        groups=np.concatenate([positives.groups, positives.groups[crops]]),
        report=replace(positives.report, notes=(*positives.report.notes, note)),
        n_copies=len(windows),
    )
