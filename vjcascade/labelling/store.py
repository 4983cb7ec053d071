"""The boxes of photos: in memory, and in a file that is written before a change is confirmed.

A photo is in the file once it was changed. Images of the file that are not among the photos are kept as they are.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from vjcascade.errors import SettingsError
from vjcascade.files import write_atomic
from vjcascade.formats.annotations.pictures import (
    AnnotatedObject,
    AnnotatedPicture,
    Annotations,
    Coordinates,
    checked_box,
)
from vjcascade.formats.annotations.writing import relative_name
from vjcascade.labelling.changes import (
    BoxFlag,
    Change,
    DeleteBox,
    MarkDone,
    PutBox,
    RejectPlace,
    Use,
    UsePhoto,
    rounded_place,
)
from vjcascade.labelling.labels_file import Box, Labels, LabelsFile
from vjcascade.labelling.photos import Photos, readable_size
from vjcascade.types import Size

SHARE_TO_VALIDATE = 0.25
"""Share of validation photos; chosen by a hash of their names, so that it does not depend on their order."""

MIN_SIDE = 1.0
"""Smallest side of a box in pixels."""


class Store:
    """The boxes of photos, in memory and on disk; safe to share between threads.

    Parameters
    ----------
    photos : Photos
        The photos.
    path : Path
        The file; it need not exist.

    Attributes
    ----------
    path : Path
        The file.

    Raises
    ------
    SettingsError
        If the file was written by another program, or is damaged.
    SourceError
        If it cannot be read.

    Examples
    --------
    >>> from vjcascade.imaging import write_image
    >>> import numpy as np
    >>> write_image("a.png", np.zeros((30, 40), np.uint8))
    >>> store = Store(Photos.below(Path()), Path("labels.json"))
    >>> store.apply([PutBox("a.png", 7, (3, 4, 12, 12), "face")])
    ['a.png']
    >>> Store(Photos.below(Path()), Path("labels.json")).labels("a.png").boxes[7].box
    (3.0, 4.0, 12.0, 12.0)
    """

    def __init__(self, photos: Photos, path: Path) -> None:
        self.path = path
        self._photos = photos
        self._labels: dict[str, Labels] = {}
        self._names_of_labels: list[str] = []
        self._file = LabelsFile()
        self._lock = threading.RLock()
        self._writing = threading.Lock()
        self._revision = self._written = 0
        if path.exists():
            self._labels, self._names_of_labels = self._file.read(path)

    def __len__(self) -> int:
        return sum(len(one.boxes) for one in self._labels.values())

    @property
    def names_of_labels(self) -> list[str]:
        """The kinds of objects."""
        with self._lock:
            return list(self._names_of_labels)

    @property
    def revision(self) -> int:
        """Increases with every change."""
        return self._revision

    def labels(self, name: str) -> Labels:
        """Return a photo's boxes and state; do not modify them.

        Raises
        ------
        SettingsError
            If there is no photo of this name.
        ImageError
            If it cannot be read.
        """
        with self._lock:
            known = self._labels.get(name)
        return known or Labels(self._photos.size(name), usual_use(name))

    def summary(self) -> dict[str, tuple[bool, int]]:
        """Return whether each photo in the file is done, and its number of boxes, by name."""
        with self._lock:
            return {name: (one.done, len(one.boxes)) for name, one in self._labels.items()}

    def done(self) -> list[tuple[str, Labels]]:
        """Return the photos that are done, by name; do not modify them."""
        with self._lock:
            return [(name, one) for name, one in self._labels.items() if one.done]

    def add_label(self, name: str) -> None:
        """Add a kind of object, also if there is no box of it yet."""
        with self._lock:
            if name not in self._names_of_labels:
                self._names_of_labels.append(name)

    def apply(self, changes: Sequence[Change]) -> list[str]:
        """Apply changes, all or none, and return once they are on disk.

        Parameters
        ----------
        changes : sequence of Change
            Applied in this order.

        Returns
        -------
        list of str
            Names of the photos that have changed.

        Raises
        ------
        SettingsError
            If a photo is unknown or a box lies outside of it; nothing is changed.
        ImageError
            If a photo cannot be read; nothing is changed.
        OSError
            If the file cannot be written. The changes are kept in memory, and written by the next call.
        """
        steps = [(one.photo, self._photos.size(one.photo), self._step(one)) for one in changes]
        changed: dict[str, None] = {}
        with self._lock:
            for name, size, step in steps:
                labels = self._labels.get(name) or Labels(size, usual_use(name))
                if step(labels):
                    self._labels[name] = labels
                    self._revision += 1
                    labels.revision = self._revision
                    changed[name] = None
        self.save()
        return list(changed)

    def save(self) -> None:
        """Return once all changes so far are on disk.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        wanted = self._revision
        with self._writing:  # changes made meanwhile wait here, and are written together
            if self._written >= wanted:
                return
            with self._lock:
                revision = self._revision
                content = self._file.encoded(self._labels, self._names_of_labels)
            write_atomic(self.path, content)
            self._written = revision

    def import_boxes(self, annotations: Annotations, unlabelled: str = "object") -> int:
        """Import boxes for photos that are not in the file yet.

        Parameters
        ----------
        annotations : Annotations
            As read; all its pictures count as done.
        unlabelled : str
            Label of objects that have none.

        Returns
        -------
        int
            Number of photos whose boxes were imported.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        n_taken = 0
        with self._lock:
            number = max((id_ for one in self._labels.values() for id_ in one.boxes), default=0)
            for picture in annotations.pictures:
                name = relative_name(picture.path, self._photos.folder)
                size = readable_size(self._photos, name) if name in self._photos else None
                if size is None or name in self._labels:
                    continue
                labels = Labels(size, usual_use(name), done=True)
                for one in picture.objects:
                    box = _inside(checked_box(one.box), size)
                    if box is not None:
                        number += 1
                        label = one.label or unlabelled
                        flag: BoxFlag = "crowd" if one.flag == "crowd" else "ignore" if one.flag else ""
                        labels.boxes[number] = Box(number, box, label, flag, one.score)
                        self.add_label(label)
                self._labels[name] = labels
                n_taken += 1
                self._revision += 1
                labels.revision = self._revision
        self.save()
        return n_taken

    def pictures(
        self, *, use: Use | None = None, is_wanted: Callable[[Labels], bool] = lambda labels: labels.done
    ) -> list[AnnotatedPicture]:
        """Return photos with their boxes, for export or training.

        Parameters
        ----------
        use : str, optional
            Only photos for this use; all if not given.
        is_wanted : callable, optional
            Selects photos; if not given, those that are done.

        Returns
        -------
        list of AnnotatedPicture
            In the order of the photos.
        """
        with self._lock:
            known = {name: self._labels[name] for name in self._photos if name in self._labels}
            chosen = [
                (name, labels, list(labels.boxes.values()))
                for name, labels in known.items()
                if is_wanted(labels) and use in {None, labels.use}
            ]
        return [
            AnnotatedPicture(place, name, self._photos.path(name), _objects(boxes), labels.size)
            for place, (name, labels, boxes) in enumerate(chosen, start=1)
        ]

    def _step(self, change: Change) -> Callable[[Labels], bool]:
        """Return a function that applies a change and returns whether it had an effect; check its box first."""
        match change:
            case PutBox():
                box = self._place(change.photo, change.box)
                put = Box(change.id, box, change.label, change.flag, change.score)
                return lambda labels: self._put(labels, put)
            case DeleteBox(id=number):
                return lambda labels: labels.boxes.pop(number, None) is not None
            case RejectPlace(rejected=rejected):
                place = self._place(change.photo, change.box)
                return lambda labels: _reject(labels.false_alarms, place, rejected=rejected)
            case MarkDone(done=done):
                return lambda labels: _set(labels, "done", done)
            case UsePhoto(use=use):
                return lambda labels: _set(labels, "use", use)

    def _put(self, labels: Labels, box: Box) -> bool:
        if labels.boxes.get(box.id) == box:
            return False
        labels.boxes[box.id] = box
        self.add_label(box.label)
        return True

    def _place(self, name: str, box: Coordinates) -> Coordinates:
        place = _inside(box, self._photos.size(name))
        if place is None:
            shown = " ".join(f"{number:g}" for number in box)
            raise SettingsError(f"{name}: the box {shown} is empty or outside of the photo; draw it again")
        return place


def usual_use(name: str) -> Use:
    """Return what a photo is used for by default, from a hash of its name.

    Examples
    --------
    >>> [usual_use(f"{number}.jpg") for number in range(4)]
    ['validate', 'train', 'train', 'train']
    """
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest()
    return "validate" if int.from_bytes(digest[:4]) < SHARE_TO_VALIDATE * 2**32 else "train"


def _objects(boxes: Iterable[Box]) -> tuple[AnnotatedObject, ...]:
    return tuple(AnnotatedObject(one.box, one.label, one.flag) for one in boxes)


def _inside(box: Coordinates, size: Size) -> Coordinates | None:
    """Return the part of a box inside the photo, rounded; None if a side is shorter than `MIN_SIDE`."""
    x, y = max(box[0], 0.0), max(box[1], 0.0)
    right, bottom = min(box[0] + box[2], size.width), min(box[1] + box[3], size.height)
    place = rounded_place((x, y, right - x, bottom - y))
    return None if min(place[2:]) < MIN_SIDE else place


def _reject(places: list[Coordinates], place: Coordinates, *, rejected: bool) -> bool:
    if (place in places) == rejected:
        return False
    if rejected:
        places.append(place)
    else:
        places.remove(place)
    return True


def _set(labels: Labels, name: str, value: object) -> bool:
    is_new: bool = getattr(labels, name) != value
    setattr(labels, name, value)
    return is_new
