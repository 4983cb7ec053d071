"""The settings of a training run, checked once, and the presets."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from vjcascade.boosters import make_booster
from vjcascade.boosters.costs import Costs, parse_costs
from vjcascade.errors import SettingsError
from vjcascade.features import HaarMode
from vjcascade.messages import suggest
from vjcascade.types import FeatureType

Choice = TypeVar("Choice", bound=StrEnum)

MIN_NEGATIVES = 20
"""With fewer negatives a stage cannot be trained: training ends."""

MAX_DEPTH = 4
"""Of weak classifiers; deeper trees have more leaves than boosting on some thousand windows can fill."""


class Preset(StrEnum):
    """How much work a training run puts in; see `preset_settings`."""

    QUICK = "quick"
    NORMAL = "normal"
    THOROUGH = "thorough"


@dataclass(frozen=True)
class TrainingSettings:
    """What a training run is asked to do.

    Attributes
    ----------
    booster : str
        Name in the registry.
    costs : Costs
        What a missed positive and a false alarm cost; anything that `vjcascade.boosters.costs.parse_costs` takes.
    features : FeatureType
        haar, or lbp: a pool of a twentieth, trained sooner and in less memory, tested in whole numbers; less accurate.
    mode : HaarMode
        Kinds of Haar features in the pool; without meaning for lbp.
    hit_rate : float
        Share of positives that each stage must pass, in (0, 1].
    false_alarm_rate : float
        Share of negatives that a stage may pass, in (0, 1).
    max_stages : int
        Stages at most.
    max_weak : int
        Weak classifiers in a stage at most.
    max_depth : int
        Depth of each weak classifier, 1 to 4: 1 is a stump.
    target_false_alarm_rate : float
        Training ends once the whole cascade's estimated false-alarm rate per window is at most this.
    n_negatives : int or None
        Negatives for each stage, the false alarms of the stage before included; None for twice the positives, at
        least 1,000 and at most half of `max_samples`.
    max_samples : int
        Windows in a stage at most; positives beyond half of it, or beyond what the negatives leave, are left out.
    held_out : float
        Share of positives and photos kept from training to measure with, in [0, 0.5].
        Thresholds are tuned on the positives held out, so hit rates measured on these are slightly optimistic.
    max_windows : int
        Windows that mining for one stage looks at, at most.
    hardest_negatives : bool
        Of the windows that mining finds, prefer those that pass the last stage by most. It looks at more windows then;
        false-alarm rates that are measured on training windows come out too high.
    baseline : bool
        Also train plain AdaBoost with an a-posteriori threshold on each stage's windows, to compare.
    seed : int
        Of all random choices.

    Raises
    ------
    SettingsError
        If a value is of the wrong kind or out of range, or two contradict each other.

    Examples
    --------
    >>> TrainingSettings(costs="4:1", hit_rate=0.99).costs
    Costs(positive=4.0, negative=1.0)
    """

    booster: str = "cost-generalized"
    costs: Costs = dataclasses.field(default=Costs(2.0, 1.0))
    features: FeatureType = FeatureType.HAAR
    mode: HaarMode = HaarMode.BASIC
    hit_rate: float = 0.995
    false_alarm_rate: float = 0.4
    max_stages: int = 15
    max_weak: int = 200
    max_depth: int = 1
    target_false_alarm_rate: float = 1e-6
    n_negatives: int | None = None
    max_samples: int = 12_000
    held_out: float = 0.2
    max_windows: int = 2_000_000_000
    hardest_negatives: bool = False
    baseline: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        for name, convert in _KINDS.items():
            object.__setattr__(self, name, convert(name, getattr(self, name)))
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise SettingsError(f"{name} {value} is too small: at least {least} is needed")
        for name in ("hit_rate", "false_alarm_rate", "target_false_alarm_rate"):
            value = getattr(self, name)
            if not 0 < value <= 1:
                raise SettingsError(f"{name} {value} is not in (0, 1]")
        if self.false_alarm_rate == 1:
            raise SettingsError(
                f"false_alarm_rate {self.false_alarm_rate} is not below 1: a stage must reject some"
            )
        if not 0 <= self.held_out <= 0.5:
            raise SettingsError(f"held_out {self.held_out} is not in [0, 0.5]")
        if self.max_depth > MAX_DEPTH:
            raise SettingsError(f"max_depth {self.max_depth} is too large: at most {MAX_DEPTH} is possible")
        if self.max_positives < MIN_NEGATIVES:
            raise SettingsError(
                f"n_negatives {self.n_negatives} leave no room for positives in max_samples {self.max_samples}: "
                "lower n_negatives or raise max_samples"
            )
        make_booster(self.booster, self.costs)

    @property
    def max_positives(self) -> int:
        """Positives that a stage has room for: half of `max_samples`, or what `n_negatives` leave of it."""
        return min(self.max_samples // 2, self.max_samples - (self.n_negatives or 0))

    def negatives_for(self, n_positives: int) -> int:
        """Return how many negatives each stage gets beside `n_positives`.

        Examples
        --------
        >>> settings = TrainingSettings()
        >>> settings.negatives_for(50), settings.negatives_for(2500), settings.negatives_for(6000)
        (1000, 5000, 6000)
        """
        if self.n_negatives is not None:
            return self.n_negatives
        return max(min(2 * n_positives, self.max_samples // 2), min(1000, self.max_samples // 2))

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON values, of which `TrainingSettings` can be made again."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}


def _plain(value: Any) -> Any:
    if isinstance(value, Costs):
        return [value.positive, value.negative]
    return str(value).lower() if isinstance(value, StrEnum) else value


def _count(name: str, value: Any) -> int:
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise SettingsError(f"{name} {value!r} is not a whole number")


def _count_or_none(name: str, value: Any) -> int | None:
    return None if value is None else _count(name, value)


def _number(name: str, value: Any) -> float:
    try:
        if not isinstance(value, bool) and isinstance(value, Real):
            return float(value)
    except OverflowError:
        pass
    raise SettingsError(f"{name} {value!r} is not a number")


def _switch(name: str, value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise SettingsError(f"{name} {value!r} is neither True nor False")


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise SettingsError(f"{name} {value!r} is not a name")


def _choice(name: str, value: Any, choices: type[Choice]) -> Choice:
    try:
        return choices(value)
    except ValueError:
        raise SettingsError(
            f"there is no {name} {value!r}; {suggest(str(value), map(str, choices))}"
        ) from None


def _feature_type(name: str, value: Any) -> FeatureType:
    try:
        return FeatureType(str(value).upper())
    except ValueError:
        known = [kind.lower() for kind in FeatureType]
        raise SettingsError(f"there are no {name} {value!r}; {suggest(str(value), known)}") from None


_KINDS: dict[str, Callable[[str, Any], Any]] = {
    "booster": _text,
    "features": _feature_type,
    "mode": lambda name, value: _choice(name, value, HaarMode),
    **dict.fromkeys(("baseline", "hardest_negatives"), _switch),
    "costs": lambda _, value: parse_costs(value),
    **dict.fromkeys(("hit_rate", "false_alarm_rate", "target_false_alarm_rate", "held_out"), _number),
    **dict.fromkeys(("max_stages", "max_weak", "max_depth", "max_samples", "max_windows", "seed"), _count),
    "n_negatives": _count_or_none,
}
"""How each field is brought to its type."""

_LEAST = {
    "max_stages": 1,
    "max_weak": 1,
    "max_depth": 1,
    "n_negatives": MIN_NEGATIVES,
    "max_samples": 2 * MIN_NEGATIVES,
    "max_windows": 1,
    "seed": 0,
}

_PRESETS: dict[Preset, dict[str, Any]] = {
    Preset.QUICK: {
        "hit_rate": 0.99,
        "false_alarm_rate": 0.3,
        "max_stages": 8,
        "max_weak": 40,
        "max_samples": 4_000,
        "target_false_alarm_rate": 1e-5,
        "max_windows": 100_000_000,
    },
    Preset.NORMAL: {},
    Preset.THOROUGH: {
        "mode": HaarMode.ALL,
        "hit_rate": 0.998,
        "false_alarm_rate": 0.5,
        "max_stages": 25,
        "max_weak": 400,
        "max_samples": 16_000,
        "target_false_alarm_rate": 2e-7,
        "max_windows": 10_000_000_000,
    },
}


def preset_settings(preset: Preset, **changes: Any) -> TrainingSettings:
    """Return the settings of a preset, some of them changed.

    Parameters
    ----------
    preset : Preset
        QUICK for a quick first try, NORMAL for a model to use, THOROUGH with tilted features
        and more of everything.
    **changes
        Fields of `TrainingSettings`; None keeps the preset's value.

    Returns
    -------
    TrainingSettings
        With everything else as in the preset.

    Raises
    ------
    SettingsError
        If there is no such preset (near names are told), or as `TrainingSettings`.

    Examples
    --------
    >>> preset_settings(Preset.QUICK, seed=3).max_stages
    8
    """
    given = {name: value for name, value in changes.items() if value is not None}
    if "mode" in given and str(given.get("features", "")).lower() == "lbp":
        raise SettingsError(
            f"mode {given['mode']} chooses among Haar features, and features are lbp: leave one of the two out"
        )
    return TrainingSettings(**{**_PRESETS[_choice("preset", preset, Preset)], **given})
