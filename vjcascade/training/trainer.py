"""The training loop: stage after stage of finding negatives, boosting and saving."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.detection.scanner import evaluate_windows
from vjcascade.errors import TrainingError
from vjcascade.features.binning import spread_places
from vjcascade.features.families import FAMILIES
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.messages import pluralize
from vjcascade.parallel import checked_memory, checked_threads
from vjcascade.training.checkpoint import Checkpoint
from vjcascade.training.data.backgrounds import BackgroundImages
from vjcascade.training.data.positives import Positives
from vjcascade.training.data.training_data import TrainingData
from vjcascade.training.events import (
    Ended,
    Listener,
    MiningDone,
    Note,
    RunBegun,
    StageBegun,
    StageDone,
    StageRecord,
    Work,
    ignore,
)
from vjcascade.training.memory_plan import MemoryEstimate, MemoryPlan
from vjcascade.training.mining.negatives import Negatives, NegativesSearch, expected_pass_rate, why_too_few
from vjcascade.training.mining.retained_negatives import RetainedNegatives
from vjcascade.training.settings import TrainingSettings
from vjcascade.training.stage import StageResult, StageWindows, train_stage
from vjcascade.training.usage import Stopwatch, resident_memory


def train_stages(  # noqa: PLR0913  data, settings, and where and how it runs
    positives: Positives,
    photos: BackgroundImages,
    settings: TrainingSettings,
    checkpoint: Checkpoint,
    *,
    more_photos: BackgroundImages | None = None,
    sources: Mapping[str, str | Sequence[str]] | None = None,
    memory_limit: int | None = None,
    n_threads: int | None = None,
    listener: Listener = ignore,
) -> Cascade:
    """Train a cascade, saving it after every stage.

    Parameters
    ----------
    positives : Positives
        The object, in windows.
    photos : BackgroundImages
        Photos without it.
    settings : TrainingSettings
        Targets, booster, limits.
    checkpoint : Checkpoint
        Where stages are saved, and where a run that was interrupted or that continues a model goes on.
    more_photos : BackgroundImages, optional
        Photos without the object that are not to be held out.
    sources : mapping, optional
        Where all this comes from, for the listener; see `vjcascade.training.events.RunBegun`.
    memory_limit : int, optional
        Bytes that the process may take; see `vjcascade.parallel.checked_memory` for the default. Features that do
        not fit are kept on disk, beside the model.
        The result does not depend on it.
    n_threads : int, optional
        Threads; all processors if not given. The result does not depend on it.
    listener : Listener
        Gets events; see `vjcascade.training.events`. The first is `RunBegun`, the last `Ended`.

    Returns
    -------
    Cascade
        With fewer stages than asked for if negatives run out or the target is met before; at least one that
        this run has trained.

    Raises
    ------
    TrainingError
        If not even one stage can be trained.
    SettingsError
        If a stage would need more memory or disk than there is.
    OSError
        If a stage cannot be saved; the stages before it are.
    """
    data = TrainingData.split(positives, photos, settings, more_photos)
    limit = checked_memory(None) if memory_limit is None else memory_limit
    n_threads = checked_threads(n_threads)
    room = _room(checkpoint, data, settings, limit, n_threads)
    run = _Run(data, settings, checkpoint, room, n_threads, listener)
    checkpoint.begin()
    cascade = checkpoint.cascade
    listener(replace(_run_begun(data, settings, checkpoint, run.n_threads), sources=sources or {}))
    listener(Note(data.note(settings)))
    if folder := room.bins.folder:
        listener(Note(f"features do not fit into memory: they are kept in a file without a name in {folder}"))
    while not (finished := _why_finished(checkpoint, settings)):
        trained = run.next_stage(cascade)
        if isinstance(trained, str):
            if cascade.n_stages == checkpoint.n_continued:
                raise TrainingError(f"no stage could be trained: {trained}")
            listener(Ended(f"training ended early with {pluralize(cascade.n_stages, 'stage')}: {trained}"))
            return cascade
        cascade = trained
    listener(Ended(f"training ended with {pluralize(cascade.n_stages, 'stage')}: {finished}"))
    return cascade


class _Run:
    """What stays the same from stage to stage, and the bins that are kept."""

    def __init__(
        self,
        data: TrainingData,
        settings: TrainingSettings,
        checkpoint: Checkpoint,
        room: MemoryPlan,
        n_threads: int,
        listener: Listener,
    ) -> None:
        self._data = data
        self._settings = settings
        self._checkpoint = checkpoint
        self.n_threads = n_threads
        self._listener = listener
        self._search = NegativesSearch(data.photos, data.held_out_photos, settings, n_threads, listener)
        family = FAMILIES[settings.features]
        self._pool = family.enumerate(checkpoint.cascade.window, settings.mode)
        few = data.positives[spread_places(len(data.positives))]
        integrals = WindowIntegrals.of(few, tilted=family.has_tilted(self._pool))
        self._store = family.bin_store(self._pool, integrals, n_threads, room.bins)
        self._histograms = room.histograms

    def next_stage(self, cascade: Cascade) -> Cascade | str:
        """Train and save the next stage; return the longer cascade, or why there can be none."""
        began, clock = time.perf_counter(), Stopwatch()
        number = cascade.n_stages + 1
        self._listener(StageBegun(number))
        found = self._windows(cascade, clock)
        if isinstance(found, str):
            return found
        windows, negatives = found
        result = train_stage(
            windows,
            self._pool,
            self._settings,
            Work(
                f"stage {number}: boosting",
                self.n_threads,
                self._listener,
                number,
                clock,
                self._store,
                self._histograms,
            ),
        )
        if result is None or result.tuned.false_alarm_rate == 1:
            return "positives and the remaining negatives cannot be told apart"
        longer = cascade.with_stage(result.stage)
        record = self._record(longer, windows, negatives, result)
        longer = self._checkpoint.save(longer, record, self._left(longer, windows))
        self._listener(
            StageDone(
                record,
                self._settings.max_stages,
                time.perf_counter() - began,
                parts=clock.seconds,
                memory=clock.memory,
                pass_rate=negatives.pass_rate,
                false_alarms=result.false_alarms,
            )
        )
        if record.n_weak == 1 and record.tuned.false_alarm_rate == 0:
            self._listener(
                Note(
                    f"stage {number}: one weak classifier separates everything; the negatives may be too easy: "
                    "give photos like those that the detector will see"
                )
            )
        return longer

    def _windows(self, cascade: Cascade, clock: Stopwatch) -> tuple[StageWindows, Negatives] | str:
        """Return what the next stage is trained on, or why there is not enough."""
        with clock.part("survivors"):
            positives = self._survivors(cascade, self._data.positives)
            held_out_positives = self._survivors(cascade, self._data.held_out_positives)
        if len(positives) == 0:
            return "no positive passes the stages so far"
        n_wanted = self._settings.negatives_for(len(self._data.positives))
        pass_rate = expected_pass_rate(self._checkpoint.records, cascade.n_stages)
        retained = self._checkpoint.retained
        self._listener(Note(self._search.forecast(cascade, n_wanted, len(retained.training), pass_rate)))
        with clock.part("mining"):
            negatives = self._search.find(cascade, n_wanted, retained.training, pass_rate)
        if why := why_too_few(cascade, negatives):
            return why
        self._listener(
            MiningDone(cascade.n_stages + 1, len(negatives), negatives.mined.n_searched, negatives.pass_rate)
        )
        with clock.part("mining"):
            held_out = self._search.find(
                cascade, len(negatives) // 2, retained.held_out, pass_rate, held_out=True
            )
        return StageWindows(positives, negatives.windows, held_out_positives, held_out.windows), negatives

    def _survivors(self, cascade: Cascade, windows: NDArray[np.uint8]) -> NDArray[np.uint8]:
        passed, _ = evaluate_windows(cascade, windows, self.n_threads)
        survivors: NDArray[np.uint8] = windows[passed == cascade.n_stages]
        return survivors

    def _left(self, longer: Cascade, windows: StageWindows) -> RetainedNegatives:
        """Return the false alarms of the newest stage."""
        return RetainedNegatives(
            self._survivors(longer, windows.negatives), self._survivors(longer, windows.held_out_negatives)
        )

    def _record(
        self, longer: Cascade, windows: StageWindows, negatives: Negatives, result: StageResult
    ) -> StageRecord:
        training = len(self._survivors(longer, self._data.positives)) / len(self._data.positives)
        n_held_out = len(self._data.held_out_positives)
        held_out = (
            len(self._survivors(longer, self._data.held_out_positives)) / n_held_out if n_held_out else None
        )
        on_held_out = result.false_alarm_rate_on == "held-out"
        n_measured = len(windows.held_out_negatives if on_held_out else windows.negatives)
        return StageRecord(
            stage=longer.n_stages,
            n_weak=result.stage.n_trees,
            natural=result.natural,
            tuned=result.tuned,
            baseline=result.baseline,
            hit_rate_on=result.hit_rate_on,
            false_alarm_rate_on=result.false_alarm_rate_on,
            n_positives=len(windows.positives),
            n_negatives=len(windows.negatives),
            n_held_out_positives=len(windows.held_out_positives),
            n_held_out_negatives=len(windows.held_out_negatives),
            windows_searched=negatives.mined.n_searched,
            overall_hit_rate=training if result.hit_rate_on == "training" or held_out is None else held_out,
            overall_false_alarm_rate=negatives.pass_rate * max(result.tuned.false_alarm_rate, 1 / n_measured),
            overall_held_out_hit_rate=held_out,
            ended_by=result.ended_by,
        )


def _why_finished(checkpoint: Checkpoint, settings: TrainingSettings) -> str:
    """Return why there is nothing more to train, or nothing.

    What a model that is continued had reached does not count: more stages of it are wanted.
    """
    if checkpoint.cascade.n_stages > checkpoint.n_continued:
        reached = checkpoint.records[-1].overall_false_alarm_rate
        if reached <= settings.target_false_alarm_rate:
            target = settings.target_false_alarm_rate
            return f"the estimated false-alarm rate {reached:.1e} per window meets the target {target:.1e}"
    return "the most asked for" if checkpoint.cascade.n_stages >= settings.max_stages else ""


def _room(
    checkpoint: Checkpoint, data: TrainingData, settings: TrainingSettings, memory_limit: int, n_threads: int
) -> MemoryPlan:
    """Return where a stage keeps its features, so that it fits into what is left of the memory."""
    window, family = checkpoint.cascade.window, FAMILIES[settings.features]
    n_negatives = settings.negatives_for(len(data.positives))
    n_windows = len(data.positives) + len(data.held_out_positives) + n_negatives + n_negatives // 2
    needs = MemoryEstimate.of(
        window,
        family.count(window, settings.mode),
        n_windows,
        tilted=family.needs_tilted(settings.mode),
        n_threads=n_threads,
    )
    return needs.room(memory_limit - (resident_memory() or 0), checkpoint.path.parent)


def _run_begun(
    data: TrainingData, settings: TrainingSettings, checkpoint: Checkpoint, n_threads: int
) -> RunBegun:
    counts = {**data.counts(), "threads": n_threads}
    mean = np.rint(data.positives.mean(axis=0)).astype(np.uint8) if len(data.positives) else None
    window = str(checkpoint.cascade.window)
    return RunBegun(window, settings.as_dict(), counts, tuple(checkpoint.records), mean)
