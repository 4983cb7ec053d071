"""False alarms that are retained from one stage to the next, and how they are kept beside the model.

Negatives of a stage that pass it, once it is trained, are what the cascade still gets wrong. They are negatives of the
next stage as well, and only the missing ones are mined. That saves much of the search, which takes longer as fewer
windows pass, and no hard negative is lost. They cannot be found again from the model alone, so a run saves them with
every stage.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.errors import SettingsError
from vjcascade.files import write_atomic
from vjcascade.types import Size

_PARTS = ("training", "held_out")


@dataclass(frozen=True, eq=False)
class RetainedNegatives:
    """Negatives of the last stage that pass it.

    Attributes
    ----------
    training, held_out : ndarray of shape (n, h, w), dtype uint8
        To train on and to measure on; may be empty.

    Examples
    --------
    >>> nothing = RetainedNegatives.none(Size(24, 20))
    >>> nothing.training.shape, len(nothing.digest)
    ((0, 20, 24), 64)
    """

    training: NDArray[np.uint8]
    held_out: NDArray[np.uint8]

    @classmethod
    def none(cls, window: Size) -> Self:
        """Return what a first stage gets: nothing."""
        empty = np.empty((0, window.height, window.width), np.uint8)
        return cls(empty, empty)

    @property
    def is_empty(self) -> bool:
        """Whether the last stage left no false alarm."""
        return not (len(self.training) or len(self.held_out))

    @property
    def digest(self) -> str:
        """SHA-256 of all shapes and pixels, in hexadecimal."""
        digest = hashlib.sha256()
        for name in _PARTS:
            windows = getattr(self, name)
            digest.update(str(windows.shape).encode())
            digest.update(np.ascontiguousarray(windows).data)
        return digest.hexdigest()

    def save(self, path: Path) -> None:
        """Write a file, atomically.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        packed = io.BytesIO()
        np.savez(packed, training=self.training, held_out=self.held_out)
        write_atomic(path, packed.getvalue())

    @classmethod
    def load(cls, path: Path, digest: str) -> Self:
        """Read what `save` wrote.

        Parameters
        ----------
        path : Path
            The file.
        digest : str
            What it must hold.

        Returns
        -------
        RetainedNegatives
            With this digest.

        Raises
        ------
        SettingsError
            If there is no such file, or it holds anything else.
        """
        advice = "copy it back, or continue the model in another folder"
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                retained = cls(*(arrays[name] for name in _PARTS))
        except OSError as error:
            raise SettingsError(
                f"{path} is needed to resume, and cannot be read ({error.strerror}): {advice}"
            ) from None
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile):
            raise SettingsError(f"{path} is needed to resume, and is damaged: {advice}") from None
        if retained.digest != digest:
            raise SettingsError(f"{path} is needed to resume, and is not the file of this model: {advice}")
        return retained
