"""From two sources to a model: what ``vjcascade train`` does, as one function."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from vjcascade.cascade import Cascade, checked_window
from vjcascade.errors import SourceError
from vjcascade.parallel import checked_threads
from vjcascade.training.backgrounds import open_backgrounds
from vjcascade.training.checkpoint import Checkpoint
from vjcascade.training.events import Listener, Note, Progress, ignore
from vjcascade.training.positives import load_positives
from vjcascade.training.settings import TrainingSettings
from vjcascade.training.trainer import train
from vjcascade.types import Size
from vjcascade.words import counted


def train_from_sources(  # noqa: PLR0913  the door to all of training: each is a user's choice
    positives: str | PathLike[str],
    negatives: str | PathLike[str],
    output: str | PathLike[str],
    settings: TrainingSettings | None = None,
    *,
    window: Size | tuple[int, int] | None = None,
    min_side: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
    strict: bool = False,
    n_threads: int | None = None,
    listener: Listener = ignore,
) -> Cascade:
    """Train a cascade from a source of crops and a source of photos.

    Parameters
    ----------
    positives : path
        A folder of crops of the object, or a list of boxes in photos (``info.dat``).
    negatives : path
        A folder of photos without the object, or a list of them (``bg.txt``).
    output : path
        Folder for the model, ``cascade.xml``; made if need be. It is written after every stage.
    settings : TrainingSettings, optional
        The defaults if not given; see `preset_settings`.
    window : Size or pair of int, optional
        Width and height of the training window in pixels; proposed from the crops if not given.
    min_side : int, optional
        Crops whose shorter side is smaller are not used.
    resume : bool
        Go on with the model in `output`.
    overwrite : bool
        Replace the model in `output`.
    strict : bool
        Raise if any file cannot be used.
    n_threads : int, optional
        Threads; all processors if not given. The model does not depend on it.
    listener : Listener
        Gets events; see `vjcascade.training.events`.

    Returns
    -------
    Cascade
        As saved.

    Raises
    ------
    SourceError
        If a source is not usable, or `strict` finds fault.
    SettingsError
        If settings, window or threads cannot be used, or contradict each other or the model in `output`; or if
        not even one stage can be trained.
    ModelError
        If the model to `resume` is damaged.
    """
    settings = settings or TrainingSettings()
    window = None if window is None else checked_window(window)
    n_threads = checked_threads(n_threads)
    if Path(positives).resolve() == Path(negatives).resolve():
        raise SourceError(
            f"{positives} is given for positives and negatives: photos must not show the object"
        )
    folder = Path(output)
    Checkpoint.check_folder(folder, resume=resume, overwrite=overwrite)
    crops = load_positives(
        Path(positives),
        window,
        min_side=min_side,
        n_threads=n_threads,
        strict=strict,
        progress=lambda done, total: listener(Progress("reading positives", done, total)),
    )
    _tell(listener, crops.report.lines())
    photos = open_backgrounds(
        Path(negatives),
        crops.window,
        n_threads=n_threads,
        strict=strict,
        progress=lambda done, total: listener(Progress("reading negatives", done, total)),
    )
    _tell(listener, photos.report.lines())
    data = {
        "positives": len(crops),
        "positives_sha256": crops.fingerprint,
        "photos": len(photos),
        "photos_sha256": photos.fingerprint,
    }
    checkpoint = Checkpoint.open(folder, crops.window, settings, data, resume=resume, overwrite=overwrite)
    if checkpoint.cascade.n_stages:
        listener(
            Note(f"going on with {checkpoint.path}, {counted(checkpoint.cascade.n_stages, 'stage')} so far")
        )
    return train(crops, photos, settings, checkpoint, n_threads=n_threads, listener=listener)


def _tell(listener: Listener, lines: list[str]) -> None:
    for line in lines:
        listener(Note(line))
