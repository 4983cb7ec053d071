"""What a detector is pointed at: picture files, video files, a camera."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import ImageError, SettingsError
from vjcascade.imaging import IMAGE_SUFFIXES, find_images, read_image
from vjcascade.messages import is_url
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
    path : Path or None
        The file.
    camera : int
        The camera's number.
    every : int
        Of a video file, one frame out of so many is searched.
    """

    path: Path | None
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
        return self.path is None or is_video(self.path)

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
        frames = camera_frames(self.camera) if self.path is None else read_frames(self.path, every=self.every)
        with closing(frames):
            for frame in frames:
                yield Shot(self.name, frame.image, frame.index, frame.seconds, frame.n_frames)


def refuse_addresses(words: Sequence[Path]) -> None:
    """Refuse addresses of the web, which are no files.

    Raises
    ------
    SettingsError
        If there is one.
    """
    for path in filter(is_url, words):
        raise SettingsError(
            f"{path.as_posix().replace(':/', '://', 1)}: this is an address, and only files, folders and cameras "
            "can be searched; download the file and give its name"
        )


def find_inputs(sources: Sequence[Path], every: int = 1) -> list[Input]:
    """Return the files named, and for each folder the pictures in it and its subfolders, sorted, without drawn copies.

    Of video files, one frame out of `every` is to be searched.

    Raises
    ------
    ImageError
        If there is no picture in a folder.
    OSError
        If a folder cannot be read.
    """
    found: list[Input] = []
    for source in sources:
        paths = _pictures_in(source) if source.is_dir() else [source]
        found += [Input(path, every=every) for path in paths]
    return found


def _pictures_in(folder: Path) -> list[Path]:
    found, notes = find_images(folder)
    for note in notes:
        sys.stderr.write(f"{folder}: {note}\n")
    if not found:
        suffixes = ", *".join(sorted(IMAGE_SUFFIXES))
        raise ImageError(f"{folder}: there is no picture in this folder; looked for files named *{suffixes}")
    return found
