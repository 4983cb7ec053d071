"""Scenes: pictures with true boxes to test on, read from whatever annotations there are."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import ImageError, SourceError
from vjcascade.files import real_path
from vjcascade.formats.annotations.opencv_lists import OPENCV_LIST
from vjcascade.formats.annotations.pictures import AnnotatedPicture, Annotations, Coordinates, Fault
from vjcascade.formats.annotations.reading import read_annotations, reader_of
from vjcascade.formats.annotations.stored import local_annotations
from vjcascade.imaging import find_images, image_size
from vjcascade.messages import near_file, pluralize
from vjcascade.storage import is_place, open_place, spelled
from vjcascade.types import Size

MAX_FAULTS = 10
"""More wrong lines are not named."""

SPLITS = ("val", "valid", "test")
"""The parts of a data set of YOLO that scenes are taken from, the first that it has: nobody trains on them."""

ADVICE = (
    "give a list of scenes, one NAME COUNT X Y WIDTH HEIGHT ... in a line, a CSV whose first line names the columns "
    "(file,x,y,w,h), annotations in the JSON of COCO, VIA or LabelMe, a data set of YOLO, or a folder of Pascal VOC's "
    "XML files"
)


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture, and where the objects in it are.

    Attributes
    ----------
    path : Path
        Of the picture.
    boxes : ndarray of shape (n, 4), dtype float64
        `x, y, w, h` in its pixels; n may be 0.
    ignored : ndarray of shape (m, 4), dtype float64
        Regions that count neither as objects nor as false alarms.
    size : Size
        Of the picture.

    Examples
    --------
    >>> from vjcascade.types import Size
    >>> scene = Scene(Path("a.png"), np.array([[5.0, 5, 24, 24]]), np.empty((0, 4)), Size(100, 80))
    >>> len(scene.boxes)
    1
    """

    path: Path
    boxes: NDArray[np.float64]
    ignored: NDArray[np.float64]
    size: Size


@dataclass(frozen=True, eq=False)
class Scenes:
    """Pictures to test on.

    Attributes
    ----------
    source : str
        The file or folder, as given.
    scenes : tuple of Scene
        In its order; there is at least one object in them.
    format : str
        The format of the source, such as "COCO JSON".
    notes : tuple of str
        What the reader had to assume.

    Examples
    --------
    >>> from vjcascade.types import Size
    >>> scene = Scene(Path("a.png"), np.array([[5.0, 5, 24, 24]]), np.empty((0, 4)), Size(100, 80))
    >>> Scenes("scenes.txt", (scene,)).n_objects.tolist()
    [1]
    """

    source: str
    scenes: tuple[Scene, ...]
    format: str = OPENCV_LIST
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.scenes)

    @property
    def n_objects(self) -> NDArray[np.int64]:
        """Objects in each scene, shape (n_scenes,)."""
        return np.array([len(scene.boxes) for scene in self.scenes], np.int64)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all files and boxes, in hexadecimal digits; the same whatever format they were read from."""
        digest = hashlib.sha256()
        for scene in self.scenes:
            digest.update(hashlib.sha256(scene.path.read_bytes()).digest())
            digest.update(hashlib.sha256(_box_bytes(scene.boxes)).digest())
            if len(scene.ignored):
                digest.update(hashlib.sha256(b"ignored" + _box_bytes(scene.ignored)).digest())
        return digest.hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Return what they are, as plain JSON values."""
        return {
            "source": self.source,
            "scenes": len(self),
            "objects": int(self.n_objects.sum()),
            "sha256": self.fingerprint,
        }


def read_scenes(
    source: str | PathLike[str],
    *,
    pictures: str | PathLike[str] | None = None,
    category: str | None = None,
    all_pictures: bool = False,
    category_optional: bool = False,
    cut: bool = True,
) -> Scenes:
    r"""Read labelled scenes; the format is recognised by the content of the file, not by its name.

    Parameters
    ----------
    source : path
        One of

        * a list like OpenCV's `info.dat`: ``NAME COUNT X Y WIDTH HEIGHT ...``; COUNT may be 0
        * a CSV whose first line names the columns: ``file,x,y,w,h`` or ``filename,xmin,ymin,xmax,ymax``. A picture
          without objects has a line with nothing behind its name. ``class`` and ``ignore`` may be there, too
        * COCO's JSON. Images without annotations have no objects; `iscrowd` marks regions to ignore
        * a folder of Pascal VOC's XML, or one such file; `difficult` marks regions to ignore
        * any other format of `vjcascade.formats.annotations.reading`; of the parts of a `data.yaml`, `val` or `test`

        Names of pictures are relative to the folder of the file. Or an archive or address with one of these and its
        pictures; see `vjcascade.storage`.
    pictures : path, optional
        A folder to look for the pictures in first.
    category : str, optional
        The kind of object, needed where the annotations have several. Pictures of others only have no objects.
    all_pictures : bool
        Whether all pictures in the folder `pictures`, or else in that of the source, are scenes: those that are not
        named have no objects then. Otherwise they are not searched.
    category_optional : bool
        Whether `category` is left aside where the annotations name no kinds at all.
    cut : bool
        Whether boxes that reach beyond their picture are cut to it, as the boxes of detectors are.

    Returns
    -------
    Scenes
        In the order of the source; further pictures come last, in the order of their names.

    Raises
    ------
    SourceError
        If the source cannot be read, anything in it is wrong (a test on some of the scenes would not be the one that
        was asked for), a picture is missing, unreadable or named twice, a box is empty or lies outside of its
        picture, or there is no box at all.

    Examples
    --------
    >>> from vjcascade.imaging import write_image
    >>> write_image("street.png", np.zeros((40, 60), np.uint8))
    >>> _ = Path("boxes.csv").write_text("file,x,y,w,h\nstreet.png,3,4,24.5,24.5")
    >>> scenes = read_scenes("boxes.csv")
    >>> scenes.format, scenes.scenes[0].boxes.tolist()
    ('CSV', [[3.0, 4.0, 24.5, 24.5]])
    """
    path = _local(source)
    folder = None if pictures is None else Path(pictures)
    read = _read(path, folder, category, is_optional=category_optional)
    scenes = _opened(read, cut=cut)
    if all_pictures:
        scenes += _unnamed(folder or (path if path.is_dir() else path.parent), scenes)
    if not any(len(scene.boxes) for scene in scenes):
        raise SourceError(f"scenes: {path} ({read.format}) has no boxes: there is nothing to find; {ADVICE}")
    return Scenes(spelled(str(source)), scenes, read.format, read.notes)


def _local(source: str | PathLike[str]) -> Path:
    """Return the scenes as they are, or a copy of those in an archive or at an address."""
    if not is_place(source):
        return Path(source)
    place = open_place(source)
    copy = local_annotations(place)
    if copy is None:
        raise SourceError(
            f"scenes: {place.name} has no boxes: put the pictures and their boxes into it; {ADVICE}"
        )
    return copy


def _read(path: Path, pictures: Path | None, category: str | None, *, is_optional: bool) -> Annotations:
    """Read annotations in the format that they are in."""
    first = () if pictures is None else (pictures,)
    if not path.exists():
        near = near_file(path)
        hint = f"did you mean {near}?" if near else ADVICE
        raise SourceError(f"scenes: {path.absolute()} does not exist; {hint}")
    if reader_of(path) is None:
        lists = sorted(one for one in path.iterdir() if one.suffix in {".txt", ".csv", ".json", ".dat"})
        hint = f"did you mean {lists[0]}?" if lists else ADVICE
        raise SourceError(f"scenes: {path} is a folder without boxes; {hint}")
    read = read_annotations(path, pictures=first, splits=SPLITS)
    if is_optional and not read.used_labels:
        return read
    if read.format == OPENCV_LIST:
        if category is None:
            return read
        raise SourceError(f"scenes: {path} was read as an OpenCV list, which has no categories; leave it out")
    return read.of_label(category)


def _opened(read: Annotations, *, cut: bool) -> tuple[Scene, ...]:
    """Return the scenes of annotations that are right throughout."""
    faults = list(read.faults)
    scenes: dict[Path, Scene] = {}
    for picture in read.pictures:
        path = real_path(picture.path)
        if path in scenes:
            where = "line" if read.format == OPENCV_LIST else "name"
            faults.append(
                Fault(picture.place, f"{picture.name} is named twice: write all its boxes into one {where}")
            )
            continue
        try:
            scenes[path] = _scene(picture, cut=cut)
        except ImageError as error:
            reason = str(error).removeprefix(f"{picture.path}: ")
            faults.append(Fault(picture.place, f"{picture.name}: {reason}"))
    if faults:
        raise SourceError(_complaint(read, faults))
    return tuple(scenes.values())


def _complaint(read: Annotations, faults: Sequence[Fault]) -> str:
    """Return what is wrong with annotations, the first `MAX_FAULTS` of it."""
    parts = "line" if read.unit == "line" else "annotation"
    taken_for = "" if read.format == OPENCV_LIST else f" ({read.format})"
    shown = sorted(faults)[:MAX_FAULTS]
    label = ":" if read.unit == "line" else f": {read.unit} "
    lines = [
        f"  {read.path.name}{label}{fault.place}: {fault.reason}" if fault.place else f"  {fault.reason}"
        for fault in shown
    ]
    lines += [f"  ... and {len(faults) - MAX_FAULTS} more"] if len(faults) > MAX_FAULTS else []
    problem = f"{pluralize(len(faults), parts)} of {read.path}{taken_for} cannot be used; fix or remove them"
    return "\n".join([f"scenes: {problem}:", *lines])


def _scene(picture: AnnotatedPicture, *, cut: bool) -> Scene:
    """Return the scene of a picture.

    Raises
    ------
    ImageError
        If it cannot be read, or a box is empty or lies outside.
    """
    size = image_size(picture.path)
    boxes, ignored = (_boxes(given, size, cut=cut) for given in (picture.boxes, picture.ignored))
    return Scene(picture.path, boxes, ignored, size)


def _boxes(boxes: Sequence[Coordinates], size: Size, *, cut: bool) -> NDArray[np.float64]:
    """Return boxes as an array, none of them empty or outside of the picture."""
    given = np.array(boxes, np.float64).reshape(-1, 4)
    starts = given[:, :2].clip(0)
    sides = np.minimum(given[:, :2] + given[:, 2:], size) - starts
    wrong = (sides <= 0).any(axis=1)
    if wrong.any():
        box = " ".join(f"{number:g}" for number in boxes[int(wrong.argmax())])
        raise ImageError(f"the box {box} is empty or lies outside the picture of {size} pixels")
    return np.concatenate([starts, sides], axis=1) if cut else given


def _unnamed(folder: Path, scenes: Sequence[Scene]) -> tuple[Scene, ...]:
    """Return the pictures of a folder that are not among the scenes, as scenes without objects."""
    named = {real_path(scene.path) for scene in scenes}
    none = np.empty((0, 4))
    try:
        found = find_images(folder).paths
        return tuple(
            Scene(path, none, none, image_size(path)) for path in found if real_path(path) not in named
        )
    except (OSError, ImageError) as error:
        raise SourceError(f"scenes: not all pictures of {folder} can be read: {error}") from error


def _box_bytes(boxes: NDArray[np.float64]) -> bytes:
    """Return the bytes of boxes; whole numbers are written as they were before there were fractions."""
    is_whole = (boxes == np.floor(boxes)).all()
    return boxes.astype("<i4" if is_whole else "<f8").tobytes()
