"""What a detector is pointed at: picture files, video files, a camera."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import ImageError
from vjcascade.imaging import IMAGE_SUFFIXES, find_images, read_image
from vjcascade.storage import File, StoredFile, is_place, open_place
from vjcascade.video import camera_frames, is_video, read_frames


class Shot(NamedTuple):
    """A picture, or a frame of a video.

    Attributes
    ----------
    name : str
        File or camera.
    image : ndarray of shape (h, w) or (h, w, 3), dtype uint8
        Grey or RGB.
    frame : int or None
        0 for the first frame; None for a picture.
    seconds : float
        Time of the frame.
    n_frames : int
        Frames in the video, by its own account; 0 if unknown.
    """

    name: str
    image: NDArray[np.uint8]
    frame: int | None = None
    seconds: float = 0.0
    n_frames: int = 0


@dataclass(frozen=True)
class Input:
    """A picture file, a video file, or, where there is no path, a camera.

    Attributes
    ----------
    path : Path, StoredFile or None
        The file.
    camera : int
        The camera's number.
    every : int
        Of a video file, one frame out of so many is searched.
    """

    path: File | None
    camera: int = 0
    every: int = 1

    @property
    def name(self) -> str:
        """The file as it was named, or "camera 0"."""
        return f"camera {self.camera}" if self.path is None else str(self.path)

    @property
    def short_name(self) -> str:
        """The file without its folder, or "camera 0"."""
        return self.name if self.path is None else self.path.name

    @property
    def is_moving(self) -> bool:
        """Whether it has frames."""
        return self.path is None or is_video(self.path.name)

    @property
    def local_path(self) -> Path | None:
        """The file, if it is one in a folder."""
        return self.path if isinstance(self.path, Path) else None

    def fetched(self) -> Input:
        """Return the input with the content of its file, if it is in an archive or at an address."""
        return replace(self, path=self.path.fetched()) if isinstance(self.path, StoredFile) else self

    def shots(self) -> Generator[Shot]:
        """Yield the picture, or the frames one after the other; the newest each time if it is a camera.

        Raises
        ------
        ImageError
            If the file cannot be read.
        DeviceError
            If the camera cannot.
        """
        if self.path is not None and not self.is_moving:
            yield Shot(self.name, read_image(self.path))
            return
        path = self.local_path
        frames = camera_frames(self.camera) if path is None else read_frames(path, every=self.every)
        with closing(frames):
            for frame in frames:
                yield Shot(self.name, frame.image, frame.index, frame.seconds, frame.n_frames)


def find_inputs(sources: Sequence[Path], every: int = 1) -> list[Input]:
    """Return the files named, and for each folder, archive or address the pictures in it.

    Those of folders are sorted, with those of subfolders and without drawn copies.

    Of video files, one frame out of `every` is to be searched.

    Raises
    ------
    ImageError
        If there is no picture in a folder.
    SourceError, StorageError
        If an archive or an address cannot be read.
    OSError
        If a folder cannot be read.
    """
    found: list[Input] = []
    for source in sources:
        paths = _pictures_at(source) if is_place(source) else _pictures_in(source)
        found += [Input(path, every=every) for path in paths]
    return found


def _pictures_at(source: Path) -> Sequence[File]:
    place = open_place(source)
    if place.is_single and is_video(place.files[0].name):
        return [place.local_copy()]
    found = list(place.files) if place.is_single else place.pictures(IMAGE_SUFFIXES)
    if not found:
        suffixes = ", *".join(sorted(IMAGE_SUFFIXES))
        raise ImageError(f"{place.name}: there is no picture in it; looked for files named *{suffixes}")
    return found


def _pictures_in(folder: Path) -> Sequence[File]:
    if not folder.is_dir():
        return [folder]
    found, notes = find_images(folder)
    for note in notes:
        sys.stderr.write(f"{folder}: {note}\n")
    if not found:
        suffixes = ", *".join(sorted(IMAGE_SUFFIXES))
        raise ImageError(f"{folder}: there is no picture in this folder; looked for files named *{suffixes}")
    return found
