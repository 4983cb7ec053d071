"""Which model a search is for: the one that is named, or the one that comes with vjcascade."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vjcascade.files import MODEL_NAME
from vjcascade.imaging import IMAGE_SUFFIXES
from vjcascade.video import is_video

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


def _is_model(path: Path) -> bool:
    suffix = path.suffix.lower()
    if suffix in _SUFFIXES:
        return True
    if suffix in IMAGE_SUFFIXES or is_video(path) or path.is_dir():
        return False
    if not path.is_file():
        return not path.exists()  # a camera's device file, a pipe
    with path.open("rb") as file:
        return file.read(512).lstrip(_BLANKS).startswith(_STARTS)
