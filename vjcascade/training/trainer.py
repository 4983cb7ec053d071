"""The training loop: stage after stage of finding negatives, boosting and saving."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from vjcascade.cascade import Cascade
from vjcascade.clusters import Cluster
from vjcascade.errors import TrainingError
from vjcascade.features.families import FAMILIES
from vjcascade.messages import few_names, pluralize
from vjcascade.parallel import checked_memory, checked_threads
from vjcascade.training.checkpoint import RunState
from vjcascade.training.data.training_data import TrainingData
from vjcascade.training.events import (
    Ended,
    Listener,
    Note,
    RunBegun,
    StageBegun,
    StageDone,
    StageRecord,
    null_listener,
)
from vjcascade.training.gains import why_no_longer_gains
from vjcascade.training.gauge import Gauge
from vjcascade.training.memory_plan import MemoryEstimate, MemoryPlan
from vjcascade.training.mining.negatives import Negatives, NegativesSearch, search_memory
from vjcascade.training.settings import TrainingSettings
from vjcascade.training.stage import MIN_TO_TUNE_ON, StageResult, StageTrainer, StageWindows
from vjcascade.training.survivors import Survivors
from vjcascade.training.usage import Stopwatch, resident_memory

if TYPE_CHECKING:
    from vjcascade.training.validation import Validation

MAX_HIT_RATE_SHORTFALL = 0.4
"""A stage that loses so much more of the held-out positives than it may is not added: it makes the detector worse."""

MIN_LOST = 3
"""Fewer held-out positives lost may be chance."""

MIN_RATE_GAP = 0.02
"""By so much, at least, a stage's hit rate is above its false-alarm rate."""

MAX_CHANCE = 0.01
"""A stage is not added if its rates may differ by chance with a larger probability."""

MIN_CROPS_TO_JUDGE = 10
"""Stages are judged by so many held-out crops, apart from their copies; of fewer, one is too large a share."""

_WHY_NOT = (
    "Possible reasons: the object is visible in the photos (look through them, or give boxes around it); the crops "
    "are too few, or too different from each other or from the scenes; or object and background look alike"
)

_TOO_EASY = (
    "one weak classifier separates all windows; the negatives may be too easy: add photos from the places where the "
    "detector will run"
)


MISSED_TARGET = 1.1
"""Times the target of false alarms: a stage that passes more is reported."""


def train_stages(  # noqa: PLR0913  where all of a run comes together
    data: TrainingData,
    settings: TrainingSettings,
    state: RunState,
    *,
    validation: Validation | None = None,
    sources: Mapping[str, str | Sequence[str]] | None = None,
    memory_limit: int | None = None,
    n_threads: int | None = None,
    listener: Listener = null_listener,
    cluster: Cluster | None = None,
) -> Cascade:
    """Train a cascade, saving it after every stage.

    Parameters
    ----------
    data : TrainingData
        Positives, and photos without the object.
    settings : TrainingSettings
        Targets, booster, limits.
    state : RunState
        Where the run begins or goes on; it takes every stage. A `Checkpoint` saves it to disk.
    validation : Validation, optional
        Scenes that every stage is tried on; training ends when stages no longer gain there, and the model's operating
        point names the best.
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
    cluster : Cluster, optional
        Whose workers search photos and features; the result does not depend on it.

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
    n_threads = checked_threads(n_threads)
    photo_memory = max(search_memory(data.photos), search_memory(data.held_out_photos))
    estimate = _memory_estimate(state, data, settings, photo_memory, n_threads)
    if cluster is not None:
        estimate = estimate.without_features()
    plan = estimate.plan(checked_memory(memory_limit), state.scratch_folder, taken=resident_memory() or 0)
    pool = FAMILIES[settings.features].enumerate(state.cascade.window, settings.mode)
    trainer = StageTrainer(
        pool,
        data.positives,
        settings,
        memory_plan=plan,
        n_threads=n_threads,
        listener=listener,
        cluster=cluster,
    )
    search = NegativesSearch(
        data.photos,
        data.held_out_photos,
        settings,
        plan.threads_that_search(photo_memory, n_threads),
        listener,
        cluster,
    )
    own_records = (record for record in state.records if record.stage > state.n_continued)
    before = [name for record in own_records for name in record.outliers]
    survivors = Survivors(data, state.cascade, state.retained, n_threads, before)
    gauge = Gauge(data, state, validation, n_threads, listener)
    gauge.measure_base()
    state.begin()
    listener(_run_begun(data, settings, state, sources or {}, validation, n_threads))
    for text in _first_notes(data, settings, before, plan):
        listener(Note(text))
    n_negatives = settings.negatives_for(len(data.positives))
    while not (finished := _why_finished(state, settings)):
        cascade, clock = state.cascade, Stopwatch()
        number = cascade.n_stages + 1
        listener(StageBegun(number))
        try:
            with clock.part("survivors"):
                positives, held_out_positives = survivors.positive_windows()
            with clock.part("mining"):
                negatives, held_out = search.next_stage(
                    cascade, state.records, survivors.retained, n_negatives
                )
            windows = StageWindows(
                positives,
                negatives.windows,
                held_out_positives,
                held_out.windows,
                survivors.stayed,
                survivors.tuning_crops,
                survivors.max_outliers(settings.hit_rate),
            )
            result = _checked(trainer.train(windows, number, clock), windows, settings)
            survivors.update(windows, result.passed)
            _check_by_crops(survivors, negatives.pass_rate * result.tuned.false_alarm_rate)
        except TrainingError as error:
            if cascade.n_stages == state.n_continued:
                raise TrainingError(f"no stage could be trained: {error}") from None
            text = f"training ended early with {pluralize(cascade.n_stages, 'stage')}: {error}"
            listener(Ended(gauge.with_outcome(text)))
            return cascade
        longer = cascade.with_stage(result.stage)
        outliers = survivors.exclude(result.outliers)
        record = _record(number, windows, negatives, result, survivors, outliers)
        record = gauge.with_scenes(record, longer, clock)
        gauge.take_rate(negatives.pass_rate)
        state.save(longer, record, survivors.retained)
        listener(_stage_done(record, settings, clock, negatives, result))
        for text in _remarks(record, settings):
            listener(Note(f"stage {number}: {text}"))
    n_stages = pluralize(state.cascade.n_stages, "stage")
    listener(Ended(gauge.with_outcome(f"training ended with {n_stages}: {finished}")))
    return state.cascade


def _first_notes(
    data: TrainingData, settings: TrainingSettings, outliers: Sequence[str], plan: MemoryPlan
) -> Iterator[str]:
    """Say what is trained on, and how."""
    yield data.note(settings)
    if outliers:
        yield f"thresholds are not tuned on {few_names(outliers)}, as in the stages before"
    if folder := plan.bins.folder:
        yield f"features do not fit into memory: they are kept in an unnamed temporary file in {folder}"


def _remarks(record: StageRecord, settings: TrainingSettings) -> Iterator[str]:
    """Say what is odd about a stage."""
    false_alarm_rate = record.tuned.false_alarm_rate
    if record.n_weak == 1 and false_alarm_rate == 0:
        yield _TOO_EASY
    if record.outliers:
        yield (
            f"{record.ended_by}; without, {false_alarm_rate:.1%} do. Objects like {few_names(record.outliers)} may be "
            "missed from here on: add crops like these, or remove these if they are no good examples, and train again"
        )
    if false_alarm_rate > MISSED_TARGET * settings.false_alarm_rate:
        yield (
            f"{false_alarm_rate:.1%} of the negatives still pass, and {settings.false_alarm_rate:.1%} is the target "
            f"({record.ended_by}): such stages cost time and reject little; more crops, or more features, may separate "
            "objects from such backgrounds"
        )


def _checked(result: StageResult | None, windows: StageWindows, settings: TrainingSettings) -> StageResult:
    """Return the stage, or raise if it would make the cascade worse: a good model is not ruined by one more stage."""
    if result is None or result.tuned.false_alarm_rate == 1:
        raise TrainingError("positives and the remaining negatives cannot be separated")
    hits, false_alarms = result.tuned.hit_rate, result.tuned.false_alarm_rate
    n_measured = len(windows.held_out_positives) if result.hit_rate_on == "held-out" else 0
    # Of very few, hardly any stage could show that it is better than chance.
    is_chance = n_measured >= MIN_TO_TUNE_ON and _may_be_chance(hits, false_alarms, n_measured)
    if hits < false_alarms + MIN_RATE_GAP or is_chance:
        raise TrainingError(
            f"the next stage would pass {hits:.1%} of the positives and {false_alarms:.1%} of the negatives, so it is "
            f"not added. {_WHY_NOT}"
        )
    n_held_out, n_passed = len(windows.held_out_positives), len(result.passed.held_out_positives)
    if (
        n_held_out - n_passed >= MIN_LOST
        and n_passed < (settings.hit_rate - MAX_HIT_RATE_SHORTFALL) * n_held_out
    ):
        raise TrainingError(
            f"the next stage would pass {n_passed} of {n_held_out} held-out positives ({n_passed / n_held_out:.1%}; "
            f"the target is {settings.hit_rate:.1%}), so it is not added. {_WHY_NOT}"
        )
    return result


def _check_by_crops(survivors: Survivors, false_alarm_rate: float) -> None:
    """Raise if the stages so far, with the new one, may pass held-out crops by chance.

    Copies are drawn anew from crops and may come out smoother: that alone tells them from photos, but not the crops.
    """
    n_crops, n_passed = survivors.held_out_crops
    if n_crops >= MIN_CROPS_TO_JUDGE and _may_be_chance(n_passed / n_crops, false_alarm_rate, n_crops):
        raise TrainingError(
            f"with the next stage, {n_passed} of {n_crops} held-out crops and {false_alarm_rate:.1%} of all windows "
            f"would pass, so it is not added. {_WHY_NOT}"
        )


def _may_be_chance(hit_rate: float, false_alarm_rate: float, n_positives: int) -> bool:
    """Tell whether what passes positives and negatives alike would miss as few of so many positives."""
    from scipy.special import bdtr  # type: ignore[import-untyped]

    n_missed = round((1 - hit_rate) * n_positives)
    return bool(bdtr(n_missed, n_positives, 1 - false_alarm_rate) > MAX_CHANCE)


def _stage_done(
    record: StageRecord,
    settings: TrainingSettings,
    clock: Stopwatch,
    negatives: Negatives,
    result: StageResult,
) -> StageDone:
    return StageDone(
        record,
        settings.max_stages,
        clock.elapsed,
        parts=clock.seconds,
        memory=clock.memory,
        pass_rate=negatives.pass_rate,
        false_alarms=result.false_alarms,
        missed=result.missed,
    )


def _record(
    number: int,
    windows: StageWindows,
    negatives: Negatives,
    result: StageResult,
    survivors: Survivors,
    outliers: tuple[str, ...],
) -> StageRecord:
    held_out, on_training = survivors.held_out_hit_rate, result.hit_rate_on == "training"
    measured = windows.negatives if result.false_alarm_rate_on == "training" else windows.held_out_negatives
    return StageRecord(
        stage=number,
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
        overall_hit_rate=survivors.hit_rate if on_training or held_out is None else held_out,
        overall_false_alarm_rate=negatives.pass_rate * max(result.tuned.false_alarm_rate, 1 / len(measured)),
        overall_held_out_hit_rate=held_out,
        ended_by=result.ended_by,
        outliers=outliers,
    )


def _why_finished(state: RunState, settings: TrainingSettings) -> str:
    """Return why there is nothing more to train, or nothing.

    What a model that is continued had reached does not count: more stages of it are wanted.
    """
    if state.cascade.n_stages > state.n_continued:
        reached = state.records[-1].overall_false_alarm_rate
        if reached <= settings.target_false_alarm_rate:
            target = settings.target_false_alarm_rate
            return f"the estimated false-alarm rate {reached:.1e} per window meets the target {target:.1e}"
        no_longer_gains = why_no_longer_gains(state.records, state.base_figures, state.n_continued)
        if no_longer_gains:
            return no_longer_gains
    return "the maximum number of stages is reached" if state.cascade.n_stages >= settings.max_stages else ""


def _memory_estimate(
    state: RunState, data: TrainingData, settings: TrainingSettings, photo_memory: int, n_threads: int
) -> MemoryEstimate:
    """Return what a stage takes, and the search for its negatives."""
    window, family = state.cascade.window, FAMILIES[settings.features]
    n_negatives = settings.negatives_for(len(data.positives))
    return MemoryEstimate.of(
        window,
        family.count(window, settings.mode),
        len(data.positives) + len(data.held_out_positives) + n_negatives + n_negatives // 2,
        tilted=family.needs_tilted(settings.mode),
        photo_memory=photo_memory,
        n_threads=n_threads,
    )


def _run_begun(
    data: TrainingData,
    settings: TrainingSettings,
    state: RunState,
    sources: Mapping[str, str | Sequence[str]],
    validation: Validation | None,
    n_threads: int,
) -> RunBegun:
    return RunBegun(
        window=str(state.cascade.window),
        settings=settings.as_dict(),
        counts={**data.counts(), **(validation.counts() if validation else {}), "threads": n_threads},
        records=tuple(state.records),
        mean_positive=np.rint(data.positives.mean(axis=0)).astype(np.uint8) if len(data.positives) else None,
        sources=sources,
    )
