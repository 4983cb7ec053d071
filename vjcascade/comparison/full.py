"""Every booster trains a cascade of its own, with its own negatives, and all are run over the same scenes."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from vjcascade.cascade import Cascade
from vjcascade.checks import checked_whole
from vjcascade.clusters import Cluster, open_cluster
from vjcascade.comparison.design import MAX_SEEDS
from vjcascade.comparison.full_results import FullComparison, FullEntry, Outcome
from vjcascade.comparison.scenes import MIN_NEIGHBORS, Found, search_scenes
from vjcascade.errors import SettingsError, SourceError, TrainingError
from vjcascade.evaluation.scenes import Scenes
from vjcascade.files import MODEL_NAME, real_path, remove_leftovers, write_atomic
from vjcascade.parallel import checked_memory, checked_threads
from vjcascade.training.checkpoint import RETAINED_NAME, Checkpoint
from vjcascade.training.data.reading import Sources
from vjcascade.training.events import (
    Ended,
    Event,
    Listener,
    Note,
    Progress,
    StageBegun,
    StageDone,
    null_listener,
    tee,
)
from vjcascade.training.history import HistoryWriter
from vjcascade.training.records import read_records
from vjcascade.training.run_lock import only_run_in
from vjcascade.training.settings import TrainingSettings
from vjcascade.training.trainer import train_stages

FOLDER_NAME = "full"

STATE_NAME = "run.json"
"""Beside a model: how long its stages took, and why its training ended once it has."""

FOUND_NAME = "scenes.json"
"""Beside a model: what it found in the scenes."""


def compare_full(  # noqa: PLR0913  what, how, where, and who hears of it
    sources: Sources,
    scenes: Scenes,
    output: str | PathLike[str],
    entries: Sequence[FullEntry],
    settings: TrainingSettings | None = None,
    *,
    n_seeds: int = 1,
    resume: bool = False,
    overwrite: bool = False,
    memory: int | str | None = None,
    n_threads: int | None = None,
    client: Any = None,
    listener: Listener = null_listener,
) -> FullComparison:
    """Train a cascade with every booster, and compare them on full scenes.

    All get the same positives and photos, of which the same are held out, the same targets and the same limits; each
    mines its own negatives. Every stage gets its threshold after boosting, for the hit rate asked for, whatever the
    booster.

    Parameters
    ----------
    sources : Sources
        Positives and photos, read.
    scenes : Scenes
        What to test on; none of it must be among the sources.
    output : path
        Every cascade gets a folder in ``full`` in this folder.
    entries : sequence of FullEntry
        Who trains: see `full_entries`.
    settings : TrainingSettings, optional
        The defaults if not given. Booster, costs and seed are those of the cascade; plain AdaBoost is not trained
        beside every stage.
    n_seeds : int
        Cascades of each entry: with the settings' seed, the next one, and so on.
    resume : bool
        Keep finished cascades, and train the rest.
    overwrite : bool
        Start again.
    memory : int or str, optional
        Bytes that training may take; see `vjcascade.parallel.checked_memory`.
    n_threads : int, optional
        Threads; all processors if not given. No result but times and memory depends on it.
    client : distributed.Client or str, optional
        A cluster of Dask for training, as of `vjcascade.train`. No result but times and memory depends on it.
    listener : Listener
        Gets a `Note` as each cascade is begun, then its events.

    Returns
    -------
    FullComparison
        Of all.

    Raises
    ------
    SourceError
        If the list of scenes is that of the positives or of the photos, or a scene is one of the photos.
    SettingsError
        If nobody is to train, or someone twice; if the output folder lies in one of the sources; if there are
        cascades already and neither `resume` nor `overwrite` is set, or they were trained otherwise (every difference
        is named).
    TrainingError
        If no cascade at all can be trained.
    ModelError
        If a cascade that is there is damaged.
    ImageError
        If a scene can no longer be read.
    ClusterError
        If the cluster cannot be reached, or is lost. What was finished before is kept.
    OSError
        If something cannot be saved. What was saved before can be resumed.

    Examples
    --------
    >>> from vjcascade.evaluation import read_scenes  # doctest: +SKIP
    >>> entries = full_entries([Contender("adaboost"), Contender("cost-generalized")], ["2:1"])  # doctest: +SKIP
    >>> compare_full(Sources("crops", "photos"), read_scenes("scenes.txt"), "whole", entries)  # doctest: +SKIP
    """
    settings = replace(settings or TrainingSettings(), baseline=False)
    n_threads, memory_limit = checked_threads(n_threads), checked_memory(memory)
    _check(entries, n_seeds)
    _refuse_known(scenes, sources)
    folder = Path(output) / FOLDER_NAME
    _refuse_inside(Path(output), sources)
    trials = list(_trials(entries, settings, n_seeds, folder))
    for trial in trials:
        Checkpoint.check_folder(trial.folder, resume=resume, overwrite=overwrite)
    with only_run_in(folder), open_cluster(client) as cluster:
        for trial in trials:
            if overwrite:
                trial.forget()
            trial.checkpoint(sources)  # refuses what was trained otherwise before any work
        outcomes = {}
        for number, trial in enumerate(trials):
            named = f"cascade {number + 1} of {len(trials)}, {trial.name}"
            listener(Note(named))
            relayed = _relay(listener, named)
            ended = trial.train(sources, memory_limit, n_threads, cluster, relayed)
            outcomes[divmod(number, n_seeds)] = trial.outcome(ended, scenes, n_threads, relayed)
    if all(outcome.found is None for outcome in outcomes.values()):
        raise TrainingError(f"{trials[0].name}: {outcomes[0, 0].ended}, nor with any other booster")
    seeds = tuple(settings.seed + k for k in range(n_seeds))
    metadata = {
        "settings": _shared(settings),
        "data": {"window": str(sources.positives.window), **sources.fingerprints()},
        "scenes": scenes.as_dict(),
    }
    return FullComparison(tuple(entries), seeds, scenes.n_objects, outcomes, metadata)


@dataclass(frozen=True)
class _Trial:
    """A cascade to train, or there already."""

    entry: FullEntry
    settings: TrainingSettings
    folder: Path

    @property
    def name(self) -> str:
        return f"{self.entry.name}, seed {self.settings.seed}"

    def forget(self) -> None:
        """Remove the model and what was kept of it."""
        for name in (MODEL_NAME, STATE_NAME, FOUND_NAME, RETAINED_NAME.format("*")):
            for path in self.folder.glob(name):
                path.unlink()

    def checkpoint(self, sources: Sources) -> Checkpoint:
        """Return the state on disk, which must be one that training with the settings passes through."""
        there = Checkpoint.open(
            self.folder, sources.positives.window, self.settings, sources.fingerprints(), resume=True
        )
        if there.cascade.n_stages:
            _refuse_less(there.path, there.cascade.metadata["settings"], self.settings.as_dict())
        return there

    def train(
        self,
        sources: Sources,
        memory_limit: int,
        n_threads: int,
        cluster: Cluster | None,
        listener: Listener,
    ) -> str:
        """Train the cascade, or the rest of it; return why training ended."""
        state = _State.open(self.folder / STATE_NAME, self.settings)
        if state.ended and (self.folder / MODEL_NAME).exists():
            return state.ended
        with only_run_in(self.folder):
            remove_leftovers(self.folder)
            checkpoint = self.checkpoint(sources)
            with HistoryWriter(checkpoint.path, lambda text: listener(Note(text))) as history:
                try:
                    train_stages(
                        sources.split(self.settings),
                        self.settings,
                        checkpoint,
                        sources=_named(sources),
                        memory_limit=memory_limit,
                        n_threads=n_threads,
                        cluster=cluster,
                        listener=tee(state, history, listener),
                    )
                except TrainingError as error:
                    if not state.has_begun or checkpoint.cascade.n_stages:
                        raise
                    return str(error)  # this booster learns nothing that helps; others may
        return state.ended

    def outcome(self, ended: str, scenes: Scenes, n_threads: int, listener: Listener) -> Outcome:
        """Measure the cascade, if there is one."""
        if not (self.folder / MODEL_NAME).exists():
            return Outcome(None, ended)
        cascade = Cascade.load(self.folder / MODEL_NAME)
        last = read_records(cascade.metadata)[-1]
        state = _State.open(self.folder / STATE_NAME, self.settings)
        return Outcome(
            found=self._found(cascade, scenes, n_threads, listener),
            ended=ended,
            n_stages=cascade.n_stages,
            n_weak=cascade.n_trees,
            held_out_hit_rate=last.overall_held_out_hit_rate,
            false_alarm_rate=last.overall_false_alarm_rate,
            seconds=state.total("seconds", cascade.n_stages),
            processor_seconds=state.total("processor_seconds", cascade.n_stages),
            memory=state.memory,
        )

    def _found(self, cascade: Cascade, scenes: Scenes, n_threads: int, listener: Listener) -> Found:
        """Return what the cascade finds, from disk if it is there."""
        path = self.folder / FOUND_NAME
        origin = {
            "v": 1,
            "model_sha256": hashlib.sha256((self.folder / MODEL_NAME).read_bytes()).hexdigest(),
            "scenes_sha256": scenes.fingerprint,
            "min_neighbors": MIN_NEIGHBORS,
        }
        kept = _read(path)
        if all(kept.get(name) == value for name, value in origin.items()):
            return Found.from_dict(kept["found"])
        found = search_scenes(
            cascade,
            scenes,
            n_threads,
            lambda done, total: listener(Progress("searching scenes", done, total)),
        )
        _write(path, {**origin, "found": found.as_dict()})
        return found


@dataclass
class _State:
    """A listener that keeps on disk what the model does not tell of its training."""

    path: Path
    settings: Mapping[str, Any]
    stages: dict[str, dict[str, Any]] = field(default_factory=dict)
    ended: str = ""
    has_begun: bool = False
    _began: float = 0.0

    @classmethod
    def open(cls, path: Path, settings: TrainingSettings) -> _State:
        """Return what is there; with other settings, it did not end."""
        saved, wanted = _read(path), settings.as_dict()
        same = saved.get("settings") == wanted
        return cls(path, wanted, saved.get("stages", {}), saved.get("ended", "") if same else "")

    @property
    def memory(self) -> int | None:
        return max((int(stage["memory"]) for stage in self.stages.values() if stage["memory"]), default=None)

    def total(self, what: str, n_stages: int) -> float | None:
        """Return the sum over all stages, if those of all are known."""
        names = [str(stage) for stage in range(1, n_stages + 1)]
        if not all(name in self.stages for name in names):
            return None
        return round(sum(float(self.stages[name][what]) for name in names), 3)

    def __call__(self, event: Event) -> None:
        if isinstance(event, StageBegun):
            self.has_begun, self._began = True, time.process_time()
        elif isinstance(event, StageDone):
            self.stages[str(event.record.stage)] = {
                "seconds": round(event.seconds, 3),
                "processor_seconds": round(time.process_time() - self._began, 3),
                "memory": event.memory,
            }
            self._save()
        elif isinstance(event, Ended):
            self.ended = event.text
            self._save()

    def _save(self) -> None:
        _write(self.path, {"settings": self.settings, "stages": self.stages, "ended": self.ended})


def _trials(
    entries: Sequence[FullEntry], settings: TrainingSettings, n_seeds: int, folder: Path
) -> Iterator[_Trial]:
    for entry in entries:
        for seed in range(settings.seed, settings.seed + n_seeds):
            own = replace(settings, booster=entry.contender.booster, costs=entry.costs, seed=seed)
            yield _Trial(entry, own, folder / f"{entry.slug}-seed{seed}")


def _check(entries: Sequence[FullEntry], n_seeds: int) -> None:
    names = [entry.slug for entry in entries]
    if not names:
        raise SettingsError("there is no booster to train a cascade with: name at least one")
    twice = next((entry for entry in entries if names.count(entry.slug) > 1), None)
    if twice is not None:
        raise SettingsError(
            f"{twice.name} would train a cascade twice: leave one out, or give it another copy"
        )
    checked_whole("n_seeds", n_seeds, ge=1, le=MAX_SEEDS)


def _refuse_known(scenes: Scenes, sources: Sources) -> None:
    for source in _named(sources).values():
        if real_path(source) == real_path(scenes.source):
            raise SourceError(
                f"{scenes.source} is given for training and for testing: test on other pictures"
            )
    trained = {real_path(photo.path) for photo in sources.photos.photos if isinstance(photo.path, Path)}
    known = [scene.path for scene in scenes.scenes if real_path(scene.path) in trained]
    if known:
        raise SourceError(
            f"scenes: {known[0]} is among the photos without the object to train on, {len(known)} of {len(scenes)} "
            "scenes are: test on other pictures"
        )


def _refuse_inside(output: Path, sources: Sources) -> None:
    """Refuse a folder whose pictures would be read to train on when it is resumed."""
    for source in _named(sources).values():
        if real_path(output).is_relative_to(real_path(source)):
            raise SettingsError(
                f"the output folder {output} is inside {source}: pictures of the training would be used as data; "
                "choose another output folder"
            )


def _relay(listener: Listener, named: str) -> Listener:
    """Return a listener that tells of which cascade it is."""

    def listen(event: Event) -> None:
        listener(replace(event, part=f"{named}: {event.part}") if isinstance(event, Progress) else event)

    return listen


def _refuse_less(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse limits under which the model would not have come about; more of the same is welcome."""
    compared = (
        ("max_stages", now["max_stages"] < before["max_stages"]),
        ("target_false_alarm_rate", now["target_false_alarm_rate"] > before["target_false_alarm_rate"]),
        ("max_windows", now["max_windows"] != before["max_windows"]),
    )
    less = [f"{name}: {before[name]} in the model, {now[name]} now" for name, is_less in compared if is_less]
    if less:
        raise SettingsError(
            f"{path} was trained with other limits than the others would be; {'; '.join(less)}. Restore it, "
            "overwrite it, or choose another output folder"
        )


def _named(sources: Sources) -> dict[str, str]:
    """Return the paths as given, as far as they are known."""
    return {"positives": sources.positives.report.source, "negatives": sources.photos.report.source}


def _shared(settings: TrainingSettings) -> dict[str, Any]:
    own = {"booster", "costs", "seed", "baseline"}
    return {name: value for name, value in settings.as_dict().items() if name not in own}


def _read(path: Path) -> dict[str, Any]:
    """Return what was kept, or nothing."""
    with suppress(OSError, ValueError):
        values = json.loads(path.read_bytes())
        if isinstance(values, dict):
            return values
    return {}


def _write(path: Path, values: Mapping[str, Any]) -> None:
    write_atomic(path, json.dumps(values).encode())
