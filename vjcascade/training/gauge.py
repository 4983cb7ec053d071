"""What the models of a run reach beyond its own windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from vjcascade.cascade import Cascade
from vjcascade.training.checkpoint import RunState
from vjcascade.training.data.training_data import TrainingData
from vjcascade.training.events import Listener, Note, ProgressReporter, StageRecord
from vjcascade.training.gains import BaseFigures, say_scenes, say_trade, scene_figures
from vjcascade.training.mining.retained_negatives import RetainedNegatives
from vjcascade.training.survivors import Survivors
from vjcascade.training.usage import Stopwatch

if TYPE_CHECKING:
    from vjcascade.training.validation import Validation


class Gauge:
    """Measures a run's models beyond its own windows: in scenes, and beside the model that is continued.

    Parameters
    ----------
    data : TrainingData
        Of the run.
    state : RunState
        Gets what the model reaches that is continued.
    validation : Validation or None
        Scenes, if any are given.
    n_threads : int
        Results do not depend on it.
    listener : Listener
        Gets progress and notes.
    """

    def __init__(
        self,
        data: TrainingData,
        state: RunState,
        validation: Validation | None,
        n_threads: int,
        listener: Listener,
    ) -> None:
        self._data, self._state, self._validation = data, state, validation
        self._n_threads, self._listener = n_threads, listener
        self._has_told = False

    def measure_base(self) -> None:
        """Measure the model that is continued, unless that was done before the run was interrupted."""
        state, n_stages = self._state, self._state.n_continued
        if not n_stages or state.base_figures is not None:
            return
        base = state.cascade.first_stages(n_stages)
        records = [one for one in state.records if one.stage <= n_stages]
        scenes = []
        if self._validation is not None:
            for n in sorted({state.n_used, n_stages}):
                rate = _recorded_rate([one for one in records if one.stage <= n])
                progress = ProgressReporter(f"measuring the first {n} stages on the scenes", self._listener)
                scenes.append(self._validation.figures(base.first_stages(n), rate, progress))
        survivors = Survivors(self._data, base, RetainedNegatives.none(base.window), self._n_threads)
        held_out = survivors.held_out_hit_rate
        state.base_figures = BaseFigures(
            n_stages,
            survivors.hit_rate if held_out is None else held_out,
            scenes=[one for one in scenes if one is not None],
            false_alarms=self._false_alarms(base, _recorded_rate(records)),
        )

    def take_rate(self, pass_rate: float) -> None:
        """Take note of the share of windows that passed the stages so far, if these are the model continued."""
        base = self._state.base_figures
        if base is not None and self._state.cascade.n_stages == base.n_stages:
            self._state.base_figures = msgspec.structs.replace(base, false_alarm_rate=pass_rate)

    def with_scenes(self, record: StageRecord, cascade: Cascade, clock: Stopwatch) -> StageRecord:
        """Return the record of a stage with what the cascade finds in the scenes.

        Parameters
        ----------
        record : StageRecord
            Of the newest stage.
        cascade : Cascade
            All stages so far.
        clock : Stopwatch
            Takes the time.

        Returns
        -------
        StageRecord
            The same if there are no scenes, or too many of their windows pass.
        """
        if self._validation is None:
            return record
        progress = ProgressReporter(f"stage {record.stage}: measuring on the scenes", self._listener)
        with clock.part("scenes"):
            figures = self._validation.figures(cascade, record.overall_false_alarm_rate, progress)
        if figures is None and not self._has_told:
            self._has_told = True
            self._listener(
                Note(
                    "too many windows of the scenes still pass: recall will be measured from a later stage on"
                )
            )
        return msgspec.structs.replace(record, scenes=figures)

    def with_outcome(self, text: str) -> str:
        """Return the end of a run in words, with what its stages have gained."""
        records, base = self._state.records, self._state.base_figures
        tried = scene_figures(records, base)
        texts = [text]
        if self._validation is not None:
            texts.append(say_scenes(tried, self._state.cascade.n_stages))
        further = self._data.further_photos
        alarms = None
        if further is not None and records:
            alarms = self._false_alarms(self._state.cascade, records[-1].overall_false_alarm_rate)
        if base is not None and records and records[-1].stage > base.n_stages:
            texts.append(say_trade(base, records[-1], tried, alarms))
        elif alarms is not None:
            texts.append(f"windows of the additional photos, now trained on, that pass: {alarms:,}")
        return ". ".join(one[:1].upper() + one[1:] if i else one for i, one in enumerate(texts))

    def _false_alarms(self, cascade: Cascade, pass_rate: float) -> int | None:
        """Return how many windows of the further photos pass, if there are such photos."""
        if self._data.further_photos is None:
            return None
        from vjcascade.training.validation import count_false_alarms

        progress = ProgressReporter("searching the additional photos for false alarms", self._listener)
        return count_false_alarms(cascade, self._data.further_photos, pass_rate, self._n_threads, progress)


def _recorded_rate(records: Sequence[StageRecord]) -> float:
    """Return the share of windows that should pass the last of these stages; 0, which is always tried, without any."""
    return records[-1].overall_false_alarm_rate if records else 0.0
