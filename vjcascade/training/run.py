"""From two sources to a model: what ``vjcascade train`` does, as one function."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from vjcascade.cascade import Cascade, checked_window
from vjcascade.errors import SettingsError, SourceError
from vjcascade.files import MODEL_NAME, real_path, remove_leftovers
from vjcascade.messages import pluralize
from vjcascade.parallel import checked_memory, checked_threads
from vjcascade.training.checkpoint import Checkpoint
from vjcascade.training.data.reading import Reader, Sources
from vjcascade.training.events import Listener, Note, both, ignore
from vjcascade.training.history import HistoryWriter
from vjcascade.training.run_lock import only_run_in
from vjcascade.training.settings import TrainingSettings
from vjcascade.training.trainer import train_stages
from vjcascade.training.warm_start import BaseModel
from vjcascade.types import Size

PHOTOS_SHARE = 0.25
"""Share of the memory that decoded photos may take; those that do not fit are decoded whenever they are searched."""


def train(  # noqa: PLR0913  the door to all of training: each is a user's choice
    positives: str | PathLike[str],
    negatives: str | PathLike[str],
    output: str | PathLike[str],
    settings: TrainingSettings | None = None,
    *,
    window: Size | tuple[int, int] | None = None,
    min_side: int | None = None,
    more_negatives: Sequence[str | PathLike[str]] = (),
    continue_from: str | PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    strict: bool = False,
    memory: int | str | None = None,
    n_threads: int | None = None,
    listener: Listener = ignore,
) -> Cascade:
    """Train a cascade from a source of crops and a source of photos.

    Parameters
    ----------
    positives : path
        A folder of crops of the object, or a list of boxes in photos (``info.dat``).
    negatives : path
        A folder of photos without the object, or a list of them (``bg.txt``; boxes, as in ``info.dat``, mark objects
        to ignore).
    output : path
        Folder for the model, ``cascade.xml``; made if need be. It is written after every stage. Beside it,
        events and pictures are kept for ``vjcascade report``.
    settings : TrainingSettings, optional
        The defaults if not given; see `preset_settings`.
    window : Size or pair of int, optional
        Width and height of the training window in pixels; proposed from the crops if not given.
    min_side : int, optional
        Crops whose shorter side is smaller are not used.
    more_negatives : sequence of path
        Further folders or lists of photos. All of these serve training; photos to measure with are held out of
        `negatives` only.
    continue_from : path, optional
        A model to add stages to, trained here or by others; `output` gets a copy that grows. `max_stages` counts its
        stages, too. A run that is resumed knows it.
    resume : bool
        Go on with the model in `output`.
    overwrite : bool
        Replace the model in `output`.
    strict : bool
        Raise if any file cannot be used.
    memory : int or str, optional
        Bytes that photos, windows and features may take, or a text such as ``"1GiB"``; see
        `vjcascade.parallel.checked_memory`. The model does not depend on it.
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
        If settings, window, memory or threads cannot be used, or contradict each other or the model in `output`;
        or if another run is writing there.
    TrainingError
        If not even one stage can be trained.
    ModelError
        If the model to resume or to continue is damaged.
    OSError
        If a stage cannot be saved, as on a full disk. The stages before it are, and the run can be resumed.
    """
    settings = settings or TrainingSettings()
    window = None if window is None else checked_window(window)
    n_threads, memory_limit = checked_threads(n_threads), checked_memory(memory)
    refuse_one_for_both(positives, [negatives, *more_negatives])
    folder = Path(output)
    Checkpoint.check_folder(folder, resume=resume, overwrite=overwrite)
    base = None if continue_from is None else BaseModel.load(Path(continue_from), settings.features)
    if base is not None:
        _refuse_too_few_stages(base, settings)
    with only_run_in(folder):
        remove_leftovers(folder)
        window = _known_window(window, base, folder / MODEL_NAME if resume else None)
        reader = Reader(n_threads, strict, listener)
        crops = reader.positives(positives, window, min_side)
        photos_limit = int(PHOTOS_SHARE * memory_limit)
        photos = reader.photos(negatives, crops, photos_limit)
        more = reader.more_photos(more_negatives, photos, crops, photos_limit)
        sources = Sources(crops, photos, more)
        checkpoint = Checkpoint.open(
            folder,
            crops.window,
            settings,
            sources.fingerprints(),
            base=base,
            resume=resume,
            overwrite=overwrite,
        )
        if checkpoint.cascade.n_stages:
            n_stages = checkpoint.cascade.n_stages
            start = continue_from if base and n_stages == checkpoint.n_continued else checkpoint.path
            listener(Note(f"going on with {start}, {pluralize(n_stages, 'stage')} so far"))
        with HistoryWriter(checkpoint.path, lambda text: listener(Note(text))) as history:
            return train_stages(
                crops,
                photos,
                settings,
                checkpoint,
                more_photos=more,
                sources=_named(positives, negatives, more_negatives, continue_from),
                memory_limit=memory_limit,
                n_threads=n_threads,
                listener=both(history, listener),
            )


train_from_sources = train
"""The name that `train` had before 0.2."""


def _named(
    positives: str | PathLike[str],
    negatives: str | PathLike[str],
    more_negatives: Sequence[str | PathLike[str]],
    continue_from: str | PathLike[str] | None,
) -> dict[str, str | list[str]]:
    """Return the paths as given, for `RunBegun`."""
    named: dict[str, str | list[str]] = {"positives": str(positives), "negatives": str(negatives)}
    if more_negatives:
        named["more_negatives"] = [str(one) for one in more_negatives]
    if continue_from is not None:
        named["continue_from"] = str(continue_from)
    return named


def refuse_one_for_both(positives: str | PathLike[str], negatives: Sequence[str | PathLike[str]]) -> None:
    """Refuse what is given for both classes.

    Parameters
    ----------
    positives : path
        Crops.
    negatives : sequence of path
        Photos without the object.

    Raises
    ------
    SourceError
        If the first is among the others.
    """
    crops = real_path(positives)
    for one in negatives:
        photos = real_path(one)
        if photos == crops:
            raise SourceError(
                f"{positives} is given for positives and negatives: photos must not show the object"
            )
        if photos.is_relative_to(crops) and crops.is_dir():
            raise SourceError(
                f"the negatives in {one} lie inside the folder of the positives, {positives}, and would be crops as "
                "well: give the folder that holds the crops alone"
            )


def _refuse_too_few_stages(base: BaseModel, settings: TrainingSettings) -> None:
    n_there = base.cascade.n_stages
    if n_there >= settings.max_stages:
        raise SettingsError(
            f"{base.origin['model']} has {pluralize(n_there, 'stage')} already, and max_stages {settings.max_stages} "
            "counts them: raise it"
        )


def _known_window(window: Size | None, base: BaseModel | None, resumed: Path | None) -> Size | None:
    """Return the window to train with, if it is not to be proposed from the crops."""
    if base is None:
        return Cascade.load(resumed).window if window is None and resumed and resumed.exists() else window
    if window not in (None, base.cascade.window):
        raise SettingsError(
            f"window {window} is not that of the model to continue, {base.cascade.window}: leave it out"
        )
    return base.cascade.window
