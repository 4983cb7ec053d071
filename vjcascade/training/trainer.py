"""The training loop: sources, then stage after stage of mining, boosting and saving."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.detection.scanner import evaluate_windows
from vjcascade.errors import SettingsError
from vjcascade.features import count_features, enumerate_features
from vjcascade.parallel import checked_threads, physical_memory
from vjcascade.training.backgrounds import Backgrounds
from vjcascade.training.checkpoint import Checkpoint
from vjcascade.training.events import Ended, Listener, Note, StageDone, StageRecord, Work, ignore
from vjcascade.training.mining import Mined, count_windows, mine_negatives
from vjcascade.training.positives import Positives
from vjcascade.training.settings import MIN_NEGATIVES, TrainingSettings
from vjcascade.training.split import split_held_out
from vjcascade.training.stage import StageResult, StageWindows, train_stage
from vjcascade.types import Size
from vjcascade.words import counted

BYTES_A_FEATURE = 160
"""What a feature takes besides its bins: rectangles, corners, and copies of them while the pool is made."""

USABLE_MEMORY = 0.8
"""Share of the machine's memory that the features may take."""

MIN_PHOTOS_TO_SPLIT = 10
"""Fewer photos all serve training; nothing is held out."""


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Positives and photos, split once for the whole run.

    Attributes
    ----------
    positives, held_out_positives : ndarray of shape (n, h, w), dtype uint8
        Windows.
    photos, held_out_photos : Backgrounds
        Photos without objects.
    """

    positives: NDArray[np.uint8]
    held_out_positives: NDArray[np.uint8]
    photos: Backgrounds
    held_out_photos: Backgrounds

    @classmethod
    def split(cls, positives: Positives, photos: Backgrounds, settings: TrainingSettings) -> TrainingData:
        """Hold out a part of both, by rule and seed; thin the positives if there are too many.

        Parameters
        ----------
        positives : Positives
            Windows of the object.
        photos : Backgrounds
            Photos without it.
        settings : TrainingSettings
            Say which part, and how many at most.

        Returns
        -------
        TrainingData
            Both kinds, in two parts without a window or photo in common.
        """
        train, held_out = split_held_out(positives.groups, fraction=settings.held_out, seed=settings.seed)
        most = settings.max_positives
        if len(train) > most:
            train = np.sort(np.random.default_rng(settings.seed).permutation(train)[:most])
        train_photos, held_out_photos = split_held_out(
            np.arange(len(photos)),
            fraction=settings.held_out,
            min_samples=MIN_PHOTOS_TO_SPLIT,
            seed=settings.seed,
        )
        return cls(
            positives.windows[train],
            positives.windows[held_out],
            photos.subset(train_photos),
            photos.subset(held_out_photos),
        )


def train(
    positives: Positives,
    photos: Backgrounds,
    settings: TrainingSettings,
    checkpoint: Checkpoint,
    *,
    n_threads: int | None = None,
    listener: Listener = ignore,
) -> Cascade:
    """Train a cascade, saving it after every stage.

    Parameters
    ----------
    positives : Positives
        The object, in windows.
    photos : Backgrounds
        Photos without it.
    settings : TrainingSettings
        Targets, booster, limits.
    checkpoint : Checkpoint
        Where stages are saved, and where a run that was interrupted goes on.
    n_threads : int, optional
        Threads; all processors if not given. The result does not depend on it.
    listener : Listener
        Gets events: `Note`, `Progress`, `StageDone`, at last `Ended`.

    Returns
    -------
    Cascade
        With fewer stages than asked for if negatives run out or the target is met before; at least one.

    Raises
    ------
    SettingsError
        If not even the first stage can be trained, or it would need more memory than the machine has.
    """
    data = TrainingData.split(positives, photos, settings)
    _refuse_too_much(checkpoint.cascade.window, data, settings)
    run = _Run(data, settings, checkpoint, checked_threads(n_threads), listener)
    cascade = checkpoint.cascade
    listener(Note(_data_note(data, settings)))
    while not (finished := _why_finished(checkpoint, settings)):
        trained = run.next_stage(cascade)
        if isinstance(trained, str):
            if cascade.n_stages == 0:
                raise SettingsError(f"no stage could be trained: {trained}")
            listener(Ended(f"training ended early with {counted(cascade.n_stages, 'stage')}: {trained}"))
            return cascade
        cascade = trained
    listener(Ended(f"training ended with {counted(cascade.n_stages, 'stage')}: {finished}"))
    return cascade


class _Run:
    """What stays the same from stage to stage."""

    def __init__(
        self,
        data: TrainingData,
        settings: TrainingSettings,
        checkpoint: Checkpoint,
        n_threads: int,
        listener: Listener,
    ) -> None:
        self._data = data
        self._settings = settings
        self._checkpoint = checkpoint
        self._n_threads = n_threads
        self._listener = listener
        self._n_windows = count_windows(data.photos, checkpoint.cascade.window)
        self._pool = enumerate_features(checkpoint.cascade.window, settings.mode)

    def next_stage(self, cascade: Cascade) -> Cascade | str:
        """Train and save the next stage; return the longer cascade, or why there can be none."""
        began = time.perf_counter()
        number = cascade.n_stages + 1
        positives = self._survivors(cascade, self._data.positives)
        held_out_positives = self._survivors(cascade, self._data.held_out_positives)
        if len(positives) == 0:
            return "no positive passes the stages so far"
        n_wanted = self._settings.negatives_for(len(self._data.positives))
        self._listener(Note(self._forecast(number, n_wanted)))
        mined = self._mine(cascade, self._data.photos, n_wanted)
        if len(mined.windows) < MIN_NEGATIVES:
            return _why_no_negatives(cascade, mined)
        held_out = self._mine_held_out(cascade, mined)
        windows = StageWindows(positives, mined.windows, held_out_positives, held_out.windows)
        result = train_stage(
            windows,
            self._pool,
            self._settings,
            Work(f"stage {number}: boosting", self._n_threads, self._listener),
        )
        if result is None or result.tuned.false_alarm_rate == 1:
            return "positives and the remaining negatives cannot be told apart"
        longer = cascade.with_stage(result.stage)
        record = self._record(longer, windows, mined, result)
        longer = self._checkpoint.save(longer, record)
        self._listener(StageDone(record, self._settings.max_stages, time.perf_counter() - began))
        if record.n_weak == 1 and record.tuned.false_alarm_rate == 0:
            self._listener(
                Note(
                    f"stage {number}: one weak classifier separates everything; the negatives may be too easy: "
                    "give photos like those that the detector will see"
                )
            )
        return longer

    def _survivors(self, cascade: Cascade, windows: NDArray[np.uint8]) -> NDArray[np.uint8]:
        passed, _ = evaluate_windows(cascade, windows, self._n_threads)
        survivors: NDArray[np.uint8] = windows[passed == cascade.n_stages]
        return survivors

    def _expected_pass_rate(self) -> float:
        """Return the share of windows that should pass the stages so far."""
        records = self._checkpoint.records
        return max(records[-1].overall_false_alarm_rate, 1e-12) if records else 1.0

    def _forecast(self, number: int, n_wanted: int) -> str:
        """Say how many windows have to be searched for the stage's negatives, and whether there are so many."""
        pass_rate = self._expected_pass_rate()
        needed, n_windows = n_wanted / pass_rate, min(self._n_windows, self._settings.max_windows)
        text = (
            f"stage {number}: {n_wanted:,} negatives are expected among {needed:,.0f} windows, and up to {n_windows:,} "
            "can be searched"
        )
        return text if needed <= n_windows else f"{text}: fewer will be found"

    def _mine(
        self, cascade: Cascade, photos: Backgrounds, n_wanted: int, *, kind: str = "negatives"
    ) -> Mined:
        number = cascade.n_stages + 1
        return mine_negatives(
            photos,
            cascade,
            n_wanted,
            expected_pass_rate=self._expected_pass_rate(),
            max_windows=self._settings.max_windows,
            seed=[self._settings.seed, number, kind == "negatives"],
            work=Work(f"stage {number}: mining {kind}", self._n_threads, self._listener),
        )

    def _mine_held_out(self, cascade: Cascade, mined: Mined) -> Mined:
        n_wanted = len(mined.windows) // 2
        if len(self._data.held_out_photos) == 0:
            return Mined(mined.windows[:0], 0, 0, exhausted=True)
        return self._mine(cascade, self._data.held_out_photos, n_wanted, kind="held-out negatives")

    def _record(
        self, longer: Cascade, windows: StageWindows, mined: Mined, result: StageResult
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
            windows_searched=mined.n_searched,
            overall_hit_rate=training if result.hit_rate_on == "training" or held_out is None else held_out,
            overall_false_alarm_rate=mined.pass_rate * max(result.tuned.false_alarm_rate, 1 / n_measured),
            overall_held_out_hit_rate=held_out,
            ended_by=result.ended_by,
        )


def _why_finished(checkpoint: Checkpoint, settings: TrainingSettings) -> str:
    """Return why there is nothing more to train, or nothing."""
    if checkpoint.records:
        reached = checkpoint.records[-1].overall_false_alarm_rate
        if reached <= settings.target_false_alarm_rate:
            target = settings.target_false_alarm_rate
            return f"the estimated false-alarm rate {reached:.1e} per window meets the target {target:.1e}"
    return "the most asked for" if checkpoint.cascade.n_stages >= settings.max_stages else ""


def _refuse_too_much(window: Size, data: TrainingData, settings: TrainingSettings) -> None:
    """Raise `SettingsError` if a stage needs more memory than the machine has."""
    n_features = count_features(window, settings.mode)
    n_windows = len(data.positives) + settings.negatives_for(len(data.positives))
    needed = n_features * (n_windows + BYTES_A_FEATURE)
    if needed > USABLE_MEMORY * physical_memory():
        raise SettingsError(
            f"a {window} window has {n_features:,} {settings.mode} features; with {n_windows:,} windows a stage they "
            f"need {needed / 2**30:.1f} GiB, but this machine has {physical_memory() / 2**30:.1f}. "
            "Take a smaller window (24x24 is usual) or fewer windows (max_samples)"
        )


def _data_note(data: TrainingData, settings: TrainingSettings) -> str:
    n_positives, n_photos = len(data.held_out_positives), len(data.held_out_photos)
    held_out = (
        f"held out to measure with: {counted(n_positives, 'positive')} and {counted(n_photos, 'photo')}"
    )
    if n_positives == 0:
        held_out += "; hit rates are measured on training windows"
    n_negatives = settings.negatives_for(len(data.positives))
    return f"training on {len(data.positives):,} positives and {n_negatives:,} negatives a stage; {held_out}"


def _why_no_negatives(cascade: Cascade, mined: Mined) -> str:
    found = (
        "no negative window passes"
        if not len(mined.windows)
        else f"only {counted(len(mined.windows), 'negative window')} can be found that pass"
    )
    looked = f"{mined.n_searched:,} windows were looked at"
    if cascade.n_stages == 0:
        passing, advice = "the contrast floor of 10 grey levels", "Give photos with more contrast"
    else:
        passing, advice = "the stages so far", "For more stages, add background photos"
    if not mined.exhausted:
        return f"{found} {passing}; {looked}, the limit for a stage. Raise max_windows"
    return f"{found} {passing}; {looked}, all there are. {advice}"
