"""Which model is meant: the one that is named, or the one that comes with vjcascade; and how it was tuned."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vjcascade.errors import ModelError
from vjcascade.files import MODEL_NAME
from vjcascade.imaging import IMAGE_SUFFIXES
from vjcascade.storage import is_place, local_file
from vjcascade.video import is_video

if TYPE_CHECKING:
    from vjcascade.cascade import Cascade
    from vjcascade.evaluation import OperatingPoint

SHIPPED = "frontalface"
"""The model that comes with vjcascade."""

_SUFFIXES = frozenset({".xml", ".yml", ".yaml", ".json", ".gz"})
_STARTS = (b"<", b"{", b"%YAML", b"\x1f\x8b")
_BLANKS = b"\xef\xbb\xbf \t\r\n"


def split_model(words: Sequence[Path]) -> tuple[Path | None, Sequence[Path]]:
    """Tell the model from the pictures, videos and folders after it.

    The first word is a model if its suffix or, failing that, its content says so; a file that is not there is one,
    too, unless its suffix is that of a picture or video. The folder of a training run stands for its model.

    Parameters
    ----------
    words : sequence of Path
        As on the command line.

    Returns
    -------
    model : Path or None
        None if the first word is to be searched.
    sources : sequence of Path
        What is to be searched.
    """
    if not words:
        return None, words
    in_folder = words[0] / MODEL_NAME
    if in_folder.is_file():
        return in_folder, words[1:]
    return (words[0], words[1:]) if _is_model(words[0]) else (None, words)


def shipped_model() -> Path:
    """Return the model that comes with vjcascade.

    Raises
    ------
    ModelNotFoundError
        If it is not where it should be.
    """
    from vjcascade.compat.data import find

    return find(SHIPPED)


def named_model(word: Path) -> Path:
    """Return the file of a model that is named: by its path, by the folder of its run, or as those on this machine are.

    Parameters
    ----------
    word : Path
        As on the command line, such as `frontalface`, `haarcascade_eye` or `s3://bucket/cascade.xml`.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ModelNotFoundError
        If there is none.
    """
    from vjcascade.compat.data import find

    word = local_file(word)
    try:
        if (word / MODEL_NAME).is_file():
            return word / MODEL_NAME
        is_bare = word.name == str(word) and not word.suffix and not word.exists()
    except OSError:  # a name that is too long, for example: whoever opens it says so
        return word
    return find(word) if is_bare else word


def tuned_point(model: Path, cascade: Cascade) -> OperatingPoint | None:
    """Return the operating point in a model's metadata; None where it was not tuned.

    Parameters
    ----------
    model : Path
        The file, for messages.
    cascade : Cascade
        Read from it.

    Returns
    -------
    OperatingPoint or None
        As `vjcascade tune` has put it there.

    Raises
    ------
    ModelError
        If it is damaged.
    """
    from vjcascade.cascade import OPERATING_POINT

    if cascade.metadata.get(OPERATING_POINT) is None:
        return None
    from vjcascade.evaluation.operating_point import OperatingPoint

    try:
        return OperatingPoint.of(cascade)
    except ModelError as error:
        raise ModelError(f"{model}: {error}; --untuned ignores it") from None


def _is_model(path: Path) -> bool:
    suffix = path.suffix.lower()
    if suffix in _SUFFIXES:
        return True
    if is_place(path):
        return False
    if suffix in IMAGE_SUFFIXES or is_video(path) or path.is_dir():
        return False
    if not path.is_file():
        return not path.exists()  # a camera's device file, a pipe
    with path.open("rb") as file:
        return file.read(512).lstrip(_BLANKS).startswith(_STARTS)
