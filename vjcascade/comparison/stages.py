"""Compare boosters on the stages of a cascade: what ``vjcascade compare stages`` does, as one function."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

from vjcascade.cascade import Cascade, checked_window
from vjcascade.clusters import open_cluster
from vjcascade.comparison.design import Design
from vjcascade.comparison.results import Comparison
from vjcascade.comparison.run_cache import RunCache
from vjcascade.comparison.runner import compare, origin_of
from vjcascade.comparison.stage_datasets import Split, StagePlan, make_stage_datasets, reference_cascade
from vjcascade.errors import SettingsError
from vjcascade.files import remove_leftovers
from vjcascade.messages import pluralize
from vjcascade.parallel import checked_threads
from vjcascade.training.data.reading import Reader, Sources
from vjcascade.training.events import Event, Listener, Note, Progress, null_listener, versions
from vjcascade.training.run import refuse_one_for_both
from vjcascade.training.run_lock import only_run_in
from vjcascade.types import Size

PHOTOS_MEMORY = 2**30
"""Bytes of decoded photos that are kept."""

REFERENCE_FOLDER = "reference"
"""Where the cascade is kept that decides what reaches a stage."""


def compare_stages(  # noqa: PLR0913  the door to all of it: each is a user's choice
    positives: str | PathLike[str],
    negatives: str | PathLike[str],
    output: str | PathLike[str],
    design: Design,
    plan: StagePlan,
    *,
    window: Size | tuple[int, int] | None = None,
    label: str | None = None,
    reference: str | PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    n_threads: int | None = None,
    client: Any = None,
    listener: Listener = null_listener,
) -> Comparison:
    """Compare boosters stage by stage, on windows of a user's pictures.

    Parameters
    ----------
    positives, negatives : path
        As for `vjcascade.training.run`.
    output : path
        Folder for finished runs and the reference cascade; made if need be.
    design : Design
        Who is compared, and how.
    plan : StagePlan
        Which stages, and how large.
    window : Size or pair of int, optional
        Training window in pixels; chosen from the crops if not given.
    label : str, optional
        The kind of object, where annotations have several.
    reference : path, optional
        A model whose stages decide what reaches the next; trained if not given.
    resume : bool
        Continue the comparison in `output`: finished runs are kept.
    overwrite : bool
        Forget it.
    n_threads : int, optional
        Threads; all processors if not given. No result but the seconds depends on it.
    client : distributed.Client or str, optional
        A cluster of Dask whose workers do the runs; see `vjcascade.train`. No result but the seconds depends on it.
    listener : Listener
        Gets notes and progress; see `vjcascade.training.events`.

    Returns
    -------
    Comparison
        Complete.

    Raises
    ------
    SourceError
        If a source is not usable.
    SettingsError
        If settings cannot be used or contradict each other or what is in `output`, or if there are too few samples.
    ModelError
        If the reference is damaged.
    ClusterError
        If the cluster cannot be reached, or is lost. What was finished before is kept.
    OSError
        If something cannot be saved. What was finished before is.

    Examples
    --------
    >>> design = Design(  # doctest: +SKIP
    ...     boosters=("adaboost", "cost-generalized"), costs=(1, 10), rules=("natural", "hit-rate")
    ... )
    >>> compare_stages("crops", "photos", "comparison", design, StagePlan(n_stages=2))  # doctest: +SKIP
    """
    n_threads, folder = checked_threads(n_threads), Path(output)
    refuse_one_for_both(positives, [negatives])
    RunCache.check_folder(folder, resume=resume, overwrite=overwrite)
    model = None if reference is None else Cascade.load(reference)
    window = checked_window(window) if window is not None else None if model is None else model.window
    _refuse_misfits(plan, model, window)
    if plan.n_draws and design.n_seeds > plan.n_draws:
        raise SettingsError(
            f"n_seeds {design.n_seeds} is more than n_draws {plan.n_draws}: each seed needs a draw"
        )
    reader = Reader(n_threads, strict=False, listener=listener, label=label)
    with only_run_in(folder), open_cluster(client) as cluster:
        for place in (folder, folder / REFERENCE_FOLDER):
            remove_leftovers(place)
        crops = reader.positives(positives, window, None)
        photos = reader.photos(negatives, crops, PHOTOS_MEMORY)
        sources = Sources(crops, photos, photos.subset([]))
        data = {
            **sources.fingerprints(),
            **_plain(plan),
            "window": str(crops.window),
            **_named(reference),
        }
        cache = RunCache.open(folder, origin_of(design, data), resume=resume, overwrite=overwrite)
        parts = Split.of(crops, len(photos), plan, has_reference=model is not None)
        if model is None:
            model = reference_cascade(
                parts.reference_crops(crops),
                parts.reference_photos(photos),
                plan,
                folder / REFERENCE_FOLDER,
                overwrite=overwrite,
                n_threads=n_threads,
                listener=_quietly(listener),
            )
        metadata = {
            "sources": {"positives": str(positives), "negatives": str(negatives)},
            "data": {"n_stages": plan.n_stages, **data},
            "reference": {"stages": model.n_stages, "weak classifiers": model.n_trees},
            "versions": versions(),
        }
        stages = make_stage_datasets(crops, photos, model, plan, parts, n_threads, listener)
        return compare(
            "stages",
            stages,
            plan.n_stages,
            design,
            cache,
            metadata=metadata,
            n_threads=n_threads,
            cluster=cluster,
            listener=listener,
        )


def _refuse_misfits(plan: StagePlan, model: Cascade | None, window: Size | None) -> None:
    if model is None:
        return
    if window != model.window:
        raise SettingsError(
            f"window {window} differs from the window of the reference, {model.window}: leave it out"
        )
    if plan.n_stages > model.n_stages + 1:
        raise SettingsError(
            f"n_stages {plan.n_stages} is more than the reference allows: with its "
            f"{pluralize(model.n_stages, 'stage')}, at most {model.n_stages + 1}"
        )


def _plain(plan: StagePlan) -> dict[str, Any]:
    """Return what the windows of every stage depend on: more stages leave the first ones as they are."""
    values: Mapping[str, Any] = asdict(plan)
    plain = {name: value if isinstance(value, int | None) else str(value) for name, value in values.items()}
    del plain["n_stages"]
    return plain


def _named(reference: str | PathLike[str] | None) -> dict[str, str | None]:
    if reference is None:
        return {"reference": None}
    path = Path(reference)
    return {"reference": path.name, "reference_sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def _quietly(listener: Listener) -> Listener:
    """Return a listener that passes on progress and notes only: the stages of the reference are no results."""

    def listen(event: Event) -> None:
        if isinstance(event, Progress):
            listener(Progress(f"reference cascade, {event.part}", event.done, event.total, event.detail))
        elif isinstance(event, Note):
            listener(Note(f"reference cascade: {event.text}"))

    return listen
