"""What a training run tells while it works; the command line renders it, tests listen to it."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from vjcascade import __version__
from vjcascade.evaluation.goals import Figures

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Share = Annotated[float, Meta(ge=0, le=1)]
Finite = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
Seconds = Annotated[float, Meta(ge=0, le=sys.float_info.max)]


class Rates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hit and false-alarm rate of a stage at one threshold.

    A threshold tuned on the windows that its hit rate is measured on makes that rate a little too good.

    Attributes
    ----------
    threshold : float
        On the stage's score.
    hit_rate, false_alarm_rate : float
        In [0, 1].

    Examples
    --------
    >>> Rates(-1.5, hit_rate=0.995, false_alarm_rate=0.4).hit_rate
    0.995
    """

    threshold: Finite
    hit_rate: Share
    false_alarm_rate: Share


class SceneFigures(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model finds in labelled scenes; a detection is a hit if its intersection over union with a box is 0.5.

    Attributes
    ----------
    n_stages : int
        First stages of the model that were tried.
    n_scenes, n_objects : int
        What there is to find.
    n_hits, n_false_alarms : int
        With the default settings of a detector.
    best_hits, best_false_alarms : int
        With `min_neighbors` 1 and the bound on ranking scores that gives the best F1.
    min_ranking_score : float
        This bound.

    Raises
    ------
    ValueError
        If more is found than there is.
    """

    n_stages: Count
    n_scenes: Count
    n_objects: Count
    n_hits: Count
    n_false_alarms: Count
    best_hits: Count
    best_false_alarms: Count
    min_ranking_score: Annotated[float, Meta(ge=0, le=1e9)]

    def __post_init__(self) -> None:
        if max(self.n_hits, self.best_hits) > self.n_objects:
            raise ValueError(f"more hits than the {self.n_objects} objects of the scenes")

    @property
    def usual(self) -> Figures:
        """Recall, precision and so on with the default settings of a detector."""
        return Figures(self.n_scenes, self.n_objects, self.n_hits, self.n_false_alarms)

    @property
    def best(self) -> Figures:
        """The same where F1 is best."""
        return Figures(self.n_scenes, self.n_objects, self.best_hits, self.best_false_alarms)


class StageRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Everything measured about one finished stage.

    A stage's threshold is tuned on the held-out positives (on the training ones where none are held out), so the
    hit rates of stage and cascade are slightly optimistic.

    Attributes
    ----------
    stage : int
        Counted from 1.
    n_weak : int
        Weak classifiers.
    natural, tuned : Rates
        At threshold 0, where the costs alone decide, and at the threshold tuned for the hit rate, which the
        stage uses.
    baseline : Rates or None
        Plain AdaBoost with an a-posteriori threshold for the same hit rate, with as many weak classifiers
        on the same windows.
    hit_rate_on, false_alarm_rate_on : str
        "held-out" or "training": which windows each rate of the three above was measured on.
    n_positives, n_negatives, n_held_out_positives, n_held_out_negatives : int
        Windows.
    windows_searched : int
        Windows that mining for this stage looked at, in the photos for training.
    overall_hit_rate : float
        Share of all positives (of the kind `hit_rate_on` says) that pass the cascade so far.
    overall_false_alarm_rate : float
        Estimate for the cascade so far: the share of windows that reached this stage in mining, times
        its false-alarm rate (one false alarm is assumed where none was seen).
    overall_held_out_hit_rate : float or None
        Share of held-out positives that pass the cascade so far, if there are any.
    ended_by : str
        Why the stage stopped growing.
    scenes : SceneFigures or None
        What the cascade so far finds in the scenes that the run was given to validate with, if they were tried.
    outliers : tuple of str
        Names of held-out crops that thresholds are not tuned on, from this stage on: because of them, it would have
        missed its target of false alarms.

    Examples
    --------
    >>> from vjcascade import Cascade
    >>> from vjcascade.compat import data
    >>> stages = Cascade.load(data.find("car")).metadata["stages"]
    >>> record = msgspec.convert(stages[0], StageRecord)
    >>> record.stage, record.n_weak
    (1, 5)
    """

    stage: Count
    n_weak: Count
    natural: Rates
    tuned: Rates
    baseline: Rates | None
    hit_rate_on: str
    false_alarm_rate_on: str
    n_positives: Count
    n_negatives: Count
    n_held_out_positives: Count
    n_held_out_negatives: Count
    windows_searched: Count
    overall_hit_rate: Share
    overall_false_alarm_rate: Annotated[float, Meta(gt=0, le=1)]
    overall_held_out_hit_rate: Share | None
    ended_by: str
    scenes: SceneFigures | None = None
    outliers: tuple[str, ...] = ()

    @property
    def hit_rate_so_far(self) -> float:
        """Hit rate of the cascade so far: of the held-out positives, or of those trained on if none are held out."""
        held_out = self.overall_held_out_hit_rate
        return self.overall_hit_rate if held_out is None else held_out

    def as_dict(self) -> dict[str, Any]:
        """Return the record as plain JSON values."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


@dataclass(frozen=True)
class Note:
    """A plain sentence for the user.

    Attributes
    ----------
    text : str
        The sentence.

    Examples
    --------
    >>> Note("2 pictures are left out").text
    '2 pictures are left out'
    """

    text: str


@dataclass(frozen=True)
class Progress:
    """How far a part of the work is.

    Attributes
    ----------
    part : str
        What is being done, for example "stage 3: mining negatives".
    done, total : int
        In the part's own unit; `total` may be an upper bound.
    detail : str
        What to show beside it.
    pass_rate : float or None
        In mining: share of the windows looked at so far that pass the stages so far.

    Examples
    --------
    >>> Progress("mining", done=3, total=10).total
    10
    """

    part: str
    done: int
    total: int
    detail: str = ""
    pass_rate: float | None = None


def versions() -> dict[str, str]:
    """Return the versions of this package, of Python and of what computes, by name.

    Examples
    --------
    >>> "numpy" in versions()
    True
    """
    found = {"vjcascade": __version__, "python": platform.python_version(), "numpy": np.__version__}
    with suppress(PackageNotFoundError):  # installed in a way that leaves no record
        found["numba"] = version("numba")
    return found


@dataclass(frozen=True, eq=False)
class RunBegun:
    """Training begins, or goes on.

    Attributes
    ----------
    window : str
        Training window, as "24x24".
    settings : mapping
        All settings, as plain JSON values.
    counts : mapping
        Positives and photos, those to train on and those held out; threads; scenes, if any are given to validate with.
    records : tuple of StageRecord
        Stages that are there already.
    mean_positive : ndarray of shape (h, w), dtype uint8, or None
        The mean of the positives to train on.
    sources : mapping
        Paths as given, by parameter of `train`: of "positives" and "negatives"; if they were given, a
        sequence of those of "more_negatives", that of the model to "continue_from", and that of the scenes to
        "validate" with.
    versions : mapping
        Of the programs, by name.

    Examples
    --------
    >>> RunBegun("24x24", settings={}, counts={"positives": 50}).window
    '24x24'
    """

    window: str
    settings: Mapping[str, Any]
    counts: Mapping[str, Count]
    records: tuple[StageRecord, ...] = ()
    mean_positive: NDArray[np.uint8] | None = None
    sources: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=versions)


@dataclass(frozen=True)
class StageBegun:
    """A stage begins.

    Attributes
    ----------
    stage : int
        Counted from 1.

    Examples
    --------
    >>> StageBegun(1).stage
    1
    """

    stage: int


@dataclass(frozen=True)
class MiningDone:
    """The negatives that a stage is trained on are there.

    Attributes
    ----------
    stage : int
        Counted from 1.
    n_negatives : int
        Windows.
    n_searched : int
        Windows looked at.
    pass_rate : float
        Share of these that pass the stages so far.

    Examples
    --------
    >>> MiningDone(2, n_negatives=1000, n_searched=500_000, pass_rate=0.002).n_searched
    500000
    """

    stage: Count
    n_negatives: Count
    n_searched: Count
    pass_rate: Share


@dataclass(frozen=True)
class RoundDone:
    """A stage has one weak classifier more.

    Attributes
    ----------
    stage : int
        Counted from 1.
    n_weak : int
        Weak classifiers so far.
    tuned, natural : Rates
        As in `StageRecord`, were the stage to end here.

    Examples
    --------
    >>> rates = Rates(0.0, 0.99, 0.5)
    >>> RoundDone(1, 3, tuned=rates, natural=rates).n_weak
    3
    """

    stage: Count
    n_weak: Count
    tuned: Rates
    natural: Rates


@dataclass(frozen=True, eq=False)
class StageDone:
    """A stage is trained and saved.

    Attributes
    ----------
    record : StageRecord
        What it reached.
    n_stages : int
        Stages that the cascade may have in the end.
    seconds : float
        How long it took.
    parts : mapping
        Seconds of its parts, by name.
    memory : int or None
        The most resident bytes that were seen when one of the parts ended.
    pass_rate : float or None
        Share of the windows looked at in mining that passed the stages before it.
    false_alarms : ndarray of shape (n, h, w), dtype uint8, or None
        The training negatives that score best, the best first.
    missed : ndarray of shape (n, h, w), dtype uint8, or None
        The positives that the stage rejects, the worst first.

    Examples
    --------
    >>> from vjcascade import Cascade
    >>> from vjcascade.compat import data
    >>> record = msgspec.convert(Cascade.load(data.find("car")).metadata["stages"][0], StageRecord)
    >>> StageDone(record, n_stages=1, seconds=2.5).record.n_weak
    5
    """

    record: StageRecord
    n_stages: Count
    seconds: Seconds
    parts: Mapping[str, Seconds] = field(default_factory=dict)
    memory: Count | None = None
    pass_rate: Share | None = None
    false_alarms: NDArray[np.uint8] | None = None
    missed: NDArray[np.uint8] | None = None


@dataclass(frozen=True)
class Ended:
    """Training is over.

    Attributes
    ----------
    text : str
        Why, in a sentence.

    Examples
    --------
    >>> Ended("all stages are trained").text
    'all stages are trained'
    """

    text: str


Event = Note | Progress | RunBegun | StageBegun | MiningDone | RoundDone | StageDone | Ended
Listener = Callable[[Event], None]


def null_listener(event: Event) -> None:
    """Listen to nothing."""
    del event


def tee(*listeners: Listener) -> Listener:
    """Return a listener that passes each event on to several, in this order."""

    def listen(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return listen


@dataclass(frozen=True)
class ProgressReporter:
    """Tells a listener how far a part of the work is.

    Attributes
    ----------
    part : str
        Its name in `Progress` events.
    listener : Listener
        Gets them.

    Examples
    --------
    >>> ProgressReporter("mining", lambda event: print(event.part, event.done, event.total)).report(3, 10)
    mining 3 10
    """

    part: str
    listener: Listener = null_listener

    def report(self, done: int, total: int, detail: str = "", pass_rate: float | None = None) -> None:
        """Tell how far it is.

        Parameters
        ----------
        done, total : int
            As in `Progress`.
        detail : str
            What to show beside it.
        pass_rate : float, optional
            As in `Progress`.
        """
        self.listener(Progress(self.part, done, total, detail, pass_rate))
