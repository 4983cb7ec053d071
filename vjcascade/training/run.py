"""From crops and photos to a model: what ``vjcascade train`` does, as one function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from vjcascade.cascade import Cascade, checked_window
from vjcascade.checks import checked_flag, checked_whole
from vjcascade.clusters import open_cluster
from vjcascade.errors import SettingsError, SourceError
from vjcascade.files import MODEL_NAME, real_path, remove_leftovers
from vjcascade.formats.annotations.reading import contains_boxes
from vjcascade.imaging import IMAGE_SUFFIXES
from vjcascade.messages import pluralize
from vjcascade.parallel import MemoryBudget, checked_memory, checked_threads
from vjcascade.storage import is_place, local_file, open_place, spelled
from vjcascade.training.checkpoint import Checkpoint, begin_run
from vjcascade.training.data.copies import CopyRule
from vjcascade.training.data.reading import Reader, Sources
from vjcascade.training.data.sources import Source, name_of
from vjcascade.training.events import Listener, Note, null_listener, tee
from vjcascade.training.history import HistoryWriter
from vjcascade.training.run_lock import only_run_in
from vjcascade.training.settings import TrainingSettings
from vjcascade.training.trainer import train_stages
from vjcascade.training.usage import resident_memory
from vjcascade.training.warm_start import BaseModel
from vjcascade.types import Size

if TYPE_CHECKING:
    from distributed import Client

    from vjcascade.evaluation import Scenes
    from vjcascade.training.validation import Validation

PHOTOS_SHARE = 0.25
"""Share of the memory that decoded photos may take; those that do not fit are decoded whenever they are searched."""

LEAST_TO_DECODE = 2**25
"""Bytes that decoding may take however little memory is allowed: usual pictures take less."""


def train(  # noqa: PLR0913  the door to all of training: each is a user's choice
    positives: Source,
    negatives: Source,
    output: str | PathLike[str] | None = None,
    settings: TrainingSettings | None = None,
    *,
    window: Size | tuple[int, int] | None = None,
    min_side: int | None = None,
    label: str | None = None,
    more_negatives: Sequence[Source] = (),
    continue_from: str | PathLike[str] | None = None,
    validate: str | PathLike[str] | Scenes | None = None,
    resume: bool = False,
    overwrite: bool = False,
    strict: bool = False,
    memory: int | str | None = None,
    n_threads: int | None = None,
    listener: Listener = null_listener,
    client: str | Client | None = None,
) -> Cascade:
    """Train a cascade from crops of the object and photos without it, on disk or in memory.

    The same pixels give the same stages, from whatever source.

    Parameters
    ----------
    positives : path, ndarray of shape (n, h, w) or sequence of ndarray
        A folder of crops of the object, a list of boxes in photos (``info.dat``), annotations in any format of
        `vjcascade.formats.annotations.reading`, or a ``.vec``. Or crops in memory: uint8 grey levels, or whatever
        else `vjcascade.imaging.to_gray` takes, of one size or of many.
    negatives : path or sequence of ndarray
        A folder of photos without the object, or a list of them (``bg.txt``; boxes, as in ``info.dat``, mark objects
        to ignore), or annotations; `positives` itself, if it tells boxes in photos. Or photos in memory, each of
        shape (h, w) or (h, w, 3).
    output : path, optional
        Folder for the model, ``cascade.xml``; created if missing. It is written after every stage. Beside it,
        events and pictures are kept for ``vjcascade report``. If not given, nothing is written, except that features
        that do not fit into memory are kept in a temporary file.
    settings : TrainingSettings, optional
        The defaults if not given; see `preset_settings`.
    window : Size or pair of int, optional
        Width and height of the training window in pixels; chosen from the crops if not given.
    min_side : int, optional
        Crops whose shorter side is smaller are not used.
    label : str, optional
        The kind of object, where annotations have several; of the scenes to validate with, too.
    more_negatives : sequence
        More sources, each like `negatives`. All of these are trained on; photos for validation are held out of
        `negatives` only.
    continue_from : path, optional
        A model to add stages to, trained here or elsewhere; `output` gets a copy that grows. `max_stages` counts its
        stages, too. Not needed again to resume.
    validate : path or Scenes, optional
        Labelled scenes as for `vjcascade.evaluation.read_scenes`, not seen by training: after each stage the
        cascade is measured on them. Training stops early when the best F1 has not improved for three stages. The best
        number of stages becomes the model's operating point; see `vjcascade.evaluation.OperatingPoint`.
    resume : bool
        Continue the model in `output`.
    overwrite : bool
        Replace the model in `output`.
    strict : bool
        Raise if any picture cannot be used.
    memory : int or str, optional
        Bytes that photos, windows and features may take, or a text such as ``"1GiB"``; see
        `vjcascade.parallel.checked_memory`. The model does not depend on it.
    n_threads : int, optional
        Threads; all processors if not given. The model does not depend on it.
    listener : Listener
        A function that gets events, such as `ProgressPrinter`, which prints them; see `vjcascade.training.events`.
    client : str or distributed.Client, optional
        A cluster of Dask whose workers search photos and features: a client, which stays open, the address of a
        scheduler, or ``"local:4"`` for four processes on this machine. Workers read photos from the same paths or
        addresses; what they cannot read is searched here. The model does not depend on it.

    Returns
    -------
    Cascade
        As saved.

    Raises
    ------
    SourceError
        If a source is not usable (no such folder, an array that is no picture, too few crops), `strict` finds fault, or
        scenes are also among the training pictures.
    SettingsError
        If settings, window, memory or threads cannot be used, or contradict each other or the model in `output`;
        or if another run is writing there.
    TrainingError
        If not even one stage can be trained.
    ClusterError
        If the cluster cannot be reached, or is lost; the stages before are saved.
    ModelError
        If the model to resume or to continue is damaged.
    OSError
        If a stage cannot be saved, as on a full disk. The stages before it are, and the run can be resumed.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> crops = rng.normal(np.where(np.arange(8) < 4, 160, 90), 40, (60, 8, 8)).clip(0, 255).astype(np.uint8)
    >>> photos = [rng.integers(0, 256, (60, 80), np.uint8) for _ in range(4)]
    >>> settings = TrainingSettings(max_stages=2, max_weak=4, n_negatives=100)
    >>> train(crops, photos, settings=settings, window=(8, 8)).n_stages
    2
    """
    settings = _checked_settings(settings)
    more_negatives = _checked_more(more_negatives)
    strict, resume, overwrite = (
        checked_flag(name, value)
        for name, value in (("strict", strict), ("resume", resume), ("overwrite", overwrite))
    )
    min_side = None if min_side is None else checked_whole("min_side", min_side, ge=1)
    window = None if window is None else checked_window(window)
    n_threads, memory_limit = checked_threads(n_threads), checked_memory(memory)
    refuse_one_for_both(positives, [negatives, *more_negatives])
    folder = _checked_folder(output, resume=resume, overwrite=overwrite)
    model = None if folder is None else folder / MODEL_NAME
    if continue_from is not None and not isinstance(continue_from, str | PathLike):
        raise SettingsError(f"continue_from {continue_from!r:.80} is not a model file: give a path")
    if not callable(listener):
        raise SettingsError(
            f"listener {listener!r:.80} is not a function of one event; use, for example, ProgressPrinter()"
        )
    base = (
        None if continue_from is None else BaseModel.load(local_file(Path(continue_from)), settings.features)
    )
    if base is not None:
        _refuse_too_few_stages(base, settings)
    scenes = None if validate is None else _checked_scenes(validate, label)
    photos_limit = int(PHOTOS_SHARE * memory_limit)
    budget = MemoryBudget(max(memory_limit - photos_limit - (resident_memory() or 0), LEAST_TO_DECODE))
    reader = Reader(n_threads, strict, listener, budget, label)
    with ExitStack() as stack:
        cluster = stack.enter_context(open_cluster(client))
        if folder is not None:
            stack.enter_context(only_run_in(folder))
            remove_leftovers(folder)
        if resume and model is not None and not model.exists():
            listener(Note(f"there is no model to continue in {folder}: training starts from the beginning"))
        window = _known_window(window, base, model if resume else None)
        crops = reader.positives(positives, window, min_side, CopyRule.of(settings))
        photos = reader.photos(negatives, crops, photos_limit)
        more = reader.more_photos(more_negatives, photos, crops, photos_limit)
        sources = Sources(crops, photos, more)
        validation = None if scenes is None else _validation(scenes, sources, n_threads, budget, listener)
        fingerprints = sources.fingerprints() | (validation.fingerprints() if validation else {})
        if base is not None:
            base = base.tried_on(fingerprints.get("scenes_sha256"))
        start = crops.window, settings, fingerprints
        if folder is None:
            state, tell = begin_run(*start, base), listener
        else:
            state = Checkpoint.open(folder, *start, base=base, resume=resume, overwrite=overwrite)
            history = stack.enter_context(HistoryWriter(state.path, lambda text: listener(Note(text))))
            tell = tee(history, listener)
        if n_stages := state.cascade.n_stages:
            start_from = continue_from if base and n_stages == state.n_continued else model
            listener(Note(f"continuing from {start_from}, {pluralize(n_stages, 'stage')} so far"))
        if base is not None and (other := _other_booster(base, settings)):
            listener(Note(f"  note: {other}"))
        return train_stages(
            sources.split(settings),
            settings,
            state,
            validation=validation,
            sources=_named(positives, negatives, more_negatives, continue_from, scenes),
            memory_limit=memory_limit,
            n_threads=n_threads,
            listener=tell,
            cluster=cluster,
        )


train_from_sources = train
"""The name that `train` had before 0.2."""


def _checked_settings(settings: TrainingSettings | None) -> TrainingSettings:
    if settings is None:
        return TrainingSettings()
    if not isinstance(settings, TrainingSettings):
        raise SettingsError(
            f'settings {settings!r:.80} are not TrainingSettings: `preset_settings("quick")` makes those of a preset, '
            "`read_settings(path)` those of a file"
        )
    return settings


def _checked_more(more_negatives: Sequence[Source] | None) -> Sequence[Source]:
    if more_negatives is not None and (
        isinstance(more_negatives, str | bytes | PathLike) or not isinstance(more_negatives, Sequence)
    ):
        raise SettingsError(f"more_negatives {more_negatives!r:.80}: put even one source into a list")
    return () if more_negatives is None else more_negatives


def _checked_folder(output: str | PathLike[str] | None, *, resume: bool, overwrite: bool) -> Path | None:
    """Return the folder for the model, if it is to be kept in one."""
    if output is None:
        if resume or overwrite:
            raise SettingsError("resume and overwrite are about the model in an output folder: give one")
        return None
    if isinstance(output, TrainingSettings):
        raise SettingsError("settings are given as the output folder: write settings=...")
    if not isinstance(output, str | PathLike) or not str(output):
        raise SettingsError(f'output {output!r} is not a folder: give a path, such as "model"')
    folder = Path(output)
    if folder.suffix.lower() == ".xml" and not folder.is_dir():
        raise SettingsError(
            f"output {folder}: this is the name of a file, and a folder is needed; with {folder.with_suffix('')}, the "
            f"model will be {folder.with_suffix('') / MODEL_NAME}"
        )
    Checkpoint.check_folder(folder, resume=resume, overwrite=overwrite)
    return folder


def _checked_scenes(validate: str | PathLike[str] | Scenes, label: str | None) -> Scenes:
    """Return the scenes, read before anything that takes long."""
    from vjcascade.evaluation.scenes import Scenes, read_scenes

    if isinstance(validate, Scenes):
        return validate
    if not isinstance(validate, str | PathLike):
        raise SettingsError(
            f"validate {validate!r:.80} is neither a path nor Scenes: give a list of labelled scenes, or what "
            "`vjcascade.evaluation.read_scenes` returns"
        )
    return read_scenes(validate, category=label, category_optional=True)


def _validation(
    scenes: Scenes, sources: Sources, n_threads: int, budget: MemoryBudget, listener: Listener
) -> Validation:
    """Return the scenes, ready to be searched, none of which training sees."""
    from vjcascade.training.validation import Validation

    validation = Validation(scenes, n_threads, budget, listener)
    validation.refuse_pictures_of(sources.positives, [sources.photos, sources.more_photos])
    n_objects = pluralize(int(scenes.n_objects.sum()), "object")
    listener(
        Note(
            f"scenes: {scenes.source} ({scenes.format}), {pluralize(len(scenes), 'picture')} with {n_objects}"
        )
    )
    for note in scenes.notes:
        listener(Note(f"  note: {note}"))
    return validation


def _named(
    positives: Source,
    negatives: Source,
    more_negatives: Sequence[Source],
    continue_from: str | PathLike[str] | None,
    scenes: Scenes | None,
) -> dict[str, str | list[str]]:
    """Return the paths as given, for `RunBegun`."""
    named: dict[str, str | list[str]] = {"positives": name_of(positives), "negatives": name_of(negatives)}
    if more_negatives:
        named["more_negatives"] = [name_of(one) for one in more_negatives]
    if continue_from is not None:
        named["continue_from"] = str(continue_from)
    if scenes is not None:
        named["validate"] = scenes.source
    return named


def refuse_one_for_both(positives: Source, negatives: Sequence[Source]) -> None:
    """Refuse what is given for both classes.

    Parameters
    ----------
    positives : path or sequence of ndarray
        Crops.
    negatives : sequence
        Sources of photos without the object.

    Raises
    ------
    SourceError
        If the first is among the others.
    """
    for one in negatives:
        if isinstance(one, str | PathLike) and isinstance(positives, str | PathLike):
            if is_place(positives) or is_place(one):
                _refuse_one_place(positives, one)
                continue
            _refuse_one_folder(Path(positives), Path(one))
        elif one is positives:
            raise SourceError(_FOR_BOTH.format(name_of(one)))


_FOR_BOTH = "{} is given for positives and negatives: photos must not show the object"


def _refuse_one_place(positives: str | PathLike[str], negatives: str | PathLike[str]) -> None:
    """Refuse one archive or address for both, unless it tells boxes: what is outside of them may be negatives."""
    crops, photos = spelled(Path(positives)), spelled(Path(negatives))
    if photos == crops and not open_place(positives).others(IMAGE_SUFFIXES):
        raise SourceError(_FOR_BOTH.format(crops))


def _refuse_one_folder(positives: Path, negatives: Path) -> None:
    crops, photos = real_path(positives), real_path(negatives)
    if photos.is_relative_to(crops) and crops.exists() and contains_boxes(crops):
        return  # what is outside the boxes may be negatives
    if photos == crops:
        raise SourceError(_FOR_BOTH.format(positives))
    if photos.is_relative_to(crops) and crops.is_dir():
        raise SourceError(
            f"the negatives in {negatives} are inside the folder of the positives, {positives}, and would be crops as "
            "well: give the folder that holds the crops alone"
        )


def _refuse_too_few_stages(base: BaseModel, settings: TrainingSettings) -> None:
    n_there = base.cascade.n_stages
    if n_there >= settings.max_stages:
        raise SettingsError(
            f"{base.origin['model']} has {pluralize(n_there, 'stage')} already, and max_stages {settings.max_stages} "
            f"counts them: raise it, for example to {n_there + 5}"
        )


def _other_booster(base: BaseModel, settings: TrainingSettings) -> str:
    """Say that new stages are trained by another booster than those that are continued; empty if not, or not known."""
    before = base.origin["before"].get("settings")
    old = before.get("booster") if isinstance(before, Mapping) else None
    if old in (None, settings.booster):
        return ""
    return f"its stages were trained with the booster {old}, the new ones are trained with {settings.booster}"


def _known_window(window: Size | None, base: BaseModel | None, resumed: Path | None) -> Size | None:
    """Return the window to train with, if it is not to be proposed from the crops."""
    if base is None:
        return Cascade.load(resumed).window if window is None and resumed and resumed.exists() else window
    if window not in (None, base.cascade.window):
        raise SettingsError(
            f"window {window} differs from the window of the model to continue, {base.cascade.window}: leave it out"
        )
    return base.cascade.window
