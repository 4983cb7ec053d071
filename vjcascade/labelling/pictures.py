"""Pictures that pages show: scaled copies of photos and crops, prepared in the order in which they will be needed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import CascadeError
from vjcascade.imaging import as_jpeg, read_reduced
from vjcascade.labelling.photos import Photos, readable_size
from vjcascade.types import Size

SIDES = (320, 640, 1024, 1600, 2560, 4096)
"""Longer sides of copies in pixels: the page requests the smallest one that is sharp enough."""

CUT_SIDE = 200
"""Longer side of crops in pixels, if the photo has as many."""

MEMORY = 2**28
"""Bytes of pictures that are cached."""


@dataclass(frozen=True)
class Copy:
    """A copy of a whole photo.

    Attributes
    ----------
    name : str
        Of the photo.
    side : int
        One of `SIDES`.
    """

    name: str
    side: int

    @classmethod
    def of_side(cls, name: str, side: float) -> Copy:
        """Return the smallest copy whose longer side has at least so many pixels, or else the largest copy.

        Examples
        --------
        >>> Copy.of_side("a.png", 900)
        Copy(name='a.png', side=1024)
        """
        return cls(name, next((one for one in SIDES if one >= side), SIDES[-1]))


@dataclass(frozen=True)
class Cut:
    """A crop of a photo.

    Attributes
    ----------
    name : str
        Of the photo.
    box : tuple of int
        `x, y, w, h` in pixels of the photo.
    """

    name: str
    box: tuple[int, int, int, int]

    def needs(self, size: Size) -> int:
        """Return the longer side of the copy, of a photo of this size, from which the crop has `CUT_SIDE` pixels.

        Examples
        --------
        >>> Cut("a.png", (0, 0, 400, 100)).needs(Size(4000, 3000))
        2000
        """
        return round(max(size) * min(CUT_SIDE / max(self.box[2:]), 1.0))

    def out_of(self, image: NDArray[np.uint8], size: Size) -> NDArray[np.uint8]:
        """Return the crop, given a copy of the photo at any scale and the photo's size."""
        x, y, width, height = self.box
        scale = image.shape[1] / size.width
        left, top = round(x * scale), round(y * scale)
        right, bottom = max(round((x + width) * scale), left + 1), max(round((y + height) * scale), top + 1)
        step = max(max(right - left, bottom - top) // CUT_SIDE, 1)
        return np.ascontiguousarray(image[top:bottom:step, left:right:step])


class Pictures:
    """Copies and crops as JPEG files, in a cache that drops those unused for longest.

    Parameters
    ----------
    photos : Photos
        The photos.
    memory : int
        Size of the cache in bytes.

    Examples
    --------
    >>> from pathlib import Path
    >>> from vjcascade.imaging import write_image
    >>> write_image("a.png", np.zeros((30, 40), np.uint8))
    >>> pictures = Pictures(Photos.below(Path()))
    >>> pictures.get(Copy("a.png", 320))[6:10]
    b'JFIF'
    >>> pictures.close()
    """

    def __init__(self, photos: Photos, memory: int = MEMORY) -> None:
        self._photos = photos
        self._memory = memory
        self._kept: OrderedDict[Copy | Cut, bytes] = OrderedDict()
        self._n_bytes = 0
        self._lock = threading.Lock()
        self._making: dict[str, threading.Lock] = {}
        self._expected: Iterator[Copy] = iter(())
        self._changed = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._make_ahead, name="pictures", daemon=True)
        self._thread.start()

    def get(self, wish: Copy) -> bytes:
        """Return a copy, or the next larger one if that is in the cache.

        Parameters
        ----------
        wish : Copy
            Which one.

        Returns
        -------
        bytes
            A JPEG file.

        Raises
        ------
        SettingsError
            If there is no such photo.
        ImageError
            If it cannot be read.
        """
        path = self._photos.path(wish.name)
        larger = Copy.of_side(wish.name, wish.side + 1)
        picture = self._known(wish, larger)
        if picture is not None:
            return picture
        with self._lock:
            making = self._making.setdefault(wish.name, threading.Lock())
        with making:  # of two requests for one photo, the second finds what the first has made
            picture = self._known(wish, larger)
            if picture is None:
                picture = as_jpeg(read_reduced(path, wish.side))
                self._keep(wish, picture)
        return picture

    def expect(self, wishes: Iterable[Copy]) -> None:
        """Prepare copies in the background, instead of those of an earlier call.

        Parameters
        ----------
        wishes : iterable of Copy
            In the order in which they will be shown; iterated while they are made.
        """
        with self._changed:
            self._expected = iter(wishes)
            self._changed.notify()

    def cuts(self, wishes: Sequence[Cut]) -> list[bytes]:
        """Return crops, from the cache or made now; each photo is decoded once for all of its crops.

        Parameters
        ----------
        wishes : sequence of Cut
            Which ones.

        Returns
        -------
        list of bytes
            JPEG files; empty ones where the photo cannot be read.
        """
        made = {one: known for one in wishes if (known := self._known(one)) is not None}
        missing = sorted({one for one in wishes if one not in made}, key=attrgetter("name"))
        for name, group in groupby(missing, attrgetter("name")):
            of_photo = list(group)
            with suppress(CascadeError, OSError):  # the page reports it in place of the crop
                size = self._photos.size(name)
                image = read_reduced(self._photos.path(name), max(one.needs(size) for one in of_photo))
                for one in of_photo:
                    made[one] = as_jpeg(one.out_of(image, size))
                    self._keep(one, made[one])
        return [made.get(one, b"") for one in wishes]

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join()

    def _known(self, *wishes: Copy | Cut) -> bytes | None:
        """Return the first of these pictures that is in the cache."""
        with self._lock:
            for one in wishes:
                if one in self._kept:
                    self._kept.move_to_end(one)
                    return self._kept[one]
        return None

    def _keep(self, wish: Copy | Cut, made: bytes) -> None:
        with self._lock:
            self._n_bytes += len(made) - len(self._kept.pop(wish, b""))
            self._kept[wish] = made
            while self._n_bytes > self._memory and len(self._kept) > 1:
                self._n_bytes -= len(self._kept.popitem(last=False)[1])

    def _make_ahead(self) -> None:
        while (wish := self._next()) is not None:
            with suppress(CascadeError, OSError):  # the page reports it in place of the photo
                self.get(wish)

    def _next(self) -> Copy | None:
        """Wait for the next copy to make; None once this is closed."""
        with self._changed:
            while not self._is_closed:
                wish = next(self._expected, None)
                if wish is not None:
                    return wish
                self._changed.wait()
            return None


def copies_inside(photos: Photos, names: Iterable[str], room: Size) -> Iterator[Copy]:
    """Yield the copies needed to show photos in an area of the screen; photos that cannot be read are skipped.

    Parameters
    ----------
    photos : Photos
        The photos.
    names : iterable of str
        Which of them, in their order.
    room : Size
        The area in pixels.

    Yields
    ------
    Copy
        At least as large as the photo is shown, if there is such a copy.
    """
    for name in names:
        size = readable_size(photos, name)
        if size is not None:
            yield Copy.of_side(name, max(size) * min(room.width / size.width, room.height / size.height))
