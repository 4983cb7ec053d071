"""False alarms that are retained from one stage to the next, and how they are kept beside the model.

Negatives of a stage that pass it, once it is trained, are what the cascade still gets wrong. They are negatives of the
next stage as well, and only the missing ones are mined. That saves much of the search, which takes longer as fewer
windows pass, and no hard negative is lost. They cannot be found again from the model alone, so a run saves them with
every stage. In the same file it keeps a digest of the stages, so that a model that was changed by hand is noticed.
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
from vjcascade.files import MODEL_NAME
from vjcascade.types import Size

_PARTS = ("training", "held_out")

OTHER_STAGES = (
    "{} cannot be resumed: it is not the model that this run saved, its stages were changed since. Restore the one "
    "that was saved, or overwrite it; to train on from this one, give it as continue_from, with another output folder"
)


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

    def packed(self, stages_digest: str) -> bytes:
        """Return the bytes of a file for `load`.

        Parameters
        ----------
        stages_digest : str
            Of the cascade that they belong to.

        Returns
        -------
        bytes
            An archive of arrays; the same ones give the same bytes.
        """
        packed = io.BytesIO()
        np.savez(
            packed, training=self.training, held_out=self.held_out, stages_sha256=np.array(stages_digest)
        )
        return packed.getvalue()

    @classmethod
    def load(cls, path: Path, digest: str, stages_digest: str) -> Self:
        """Read what `packed` returned.

        Parameters
        ----------
        path : Path
            The file.
        digest : str
            What it must hold.
        stages_digest : str
            Of the cascade in the same folder; files of earlier versions do not tell it.

        Returns
        -------
        RetainedNegatives
            With this digest.

        Raises
        ------
        SettingsError
            If there is no such file, or it holds anything else, or belongs to other stages.
        """
        advice = "copy it back, or continue the model in another folder"
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                retained = cls(*(arrays[name] for name in _PARTS))
                is_of_stages = str(arrays.get("stages_sha256", stages_digest)) == stages_digest
        except OSError as error:
            raise SettingsError(
                f"{path} is needed to resume, and cannot be read ({error.strerror}): {advice}"
            ) from None
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile):
            raise SettingsError(f"{path} is needed to resume, and is damaged: {advice}") from None
        if not is_of_stages:
            raise SettingsError(OTHER_STAGES.format(path.with_name(MODEL_NAME)))
        if retained.digest != digest:
            raise SettingsError(f"{path} is needed to resume, and is not the file of this model: {advice}")
        return retained
