"""The settings of a training run, checked once, and the presets."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal, TypedDict, Unpack

from msgspec import Meta

from vjcascade.boosters import make_booster
from vjcascade.boosters.costs import Costs, CostsLike, parse_costs
from vjcascade.checks import check_fields, checked_choice
from vjcascade.errors import SettingsError
from vjcascade.features import HaarMode
from vjcascade.types import FeatureType

MIN_NEGATIVES = 20
"""With fewer negatives a stage cannot be trained: training ends."""

MAX_COUNT = 1_000_000
"""Of stages, and of weak classifiers in a stage: no model is so large."""

MAX_COPIES_ASKED = 100
"""Of each crop."""

MAX_DEPTH = 4
"""Of weak classifiers; deeper trees have more leaves than boosting on a few thousand windows can fill."""


class Preset(StrEnum):
    """How much work a training run puts in; see `preset_settings`.

    Examples
    --------
    >>> preset_settings(Preset.QUICK).max_stages
    8
    """

    QUICK = "quick"
    NORMAL = "normal"
    THOROUGH = "thorough"


class Mirror(StrEnum):
    """Whether copies of crops are mirrored.

    Examples
    --------
    >>> TrainingSettings(mirror=Mirror.NO).as_dict()["mirror"]
    'no'
    """

    AUTO = "auto"
    YES = "yes"
    NO = "no"


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of a training run.

    Attributes
    ----------
    booster : str
        Name in the registry.
    costs : Costs
        Costs of a missed positive and of a false alarm; anything that `vjcascade.boosters.costs.parse_costs` takes.
    features : FeatureType
        haar, or lbp: a twentieth of the features, so training is faster and needs less memory; less accurate.
    mode : HaarMode
        Kinds of Haar features in the pool; ignored for lbp.
    copies : int or None
        Augmentation: altered copies of each crop, shifted, scaled and rotated a little; None for as many as bring crops
        and copies to about 3,200, at most 15 of each.
    mirror : Mirror
        Whether every second copy is mirrored: auto does so unless crops can be distinguished from their mirror images.
    hit_rate : float
        Share of positives that each stage must pass, in (0, 1]; all but one of the held-out ones if they are too few
        for it.
    false_alarm_rate : float
        Share of negatives that a stage may pass, in (0, 1).
    max_stages : int
        Maximum number of stages.
    max_weak : int
        Maximum number of weak classifiers in a stage.
    max_depth : int
        Depth of each weak classifier, 1 to 4: 1 is a stump.
    target_false_alarm_rate : float
        Training ends once the whole cascade's estimated false-alarm rate per window is at most this.
    n_negatives : int or None
        Negatives for each stage, the false alarms of the stage before included; None for twice the positives, at
        least 1,000 and at most half of `max_samples`.
    max_samples : int
        Maximum number of windows in a stage; positives beyond half of it, or beyond what the negatives leave, are
        left out.
    held_out : float
        Share of positives and photos held out as a validation set, in [0, 0.5].
        Thresholds are tuned on its positives, so hit rates measured on them are slightly optimistic.
    max_windows : int
        Maximum number of windows that mining scans for one stage.
    hardest_negatives : bool
        Of the windows that mining finds, prefer those that pass the last stage by the largest margin. It scans more;
        false-alarm rates that are measured on training windows come out too high.
    baseline : bool
        Also train plain AdaBoost with its threshold set afterwards on each stage's windows, for comparison.
    seed : int
        Random seed.

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
    copies: Annotated[int, Meta(ge=0, le=MAX_COPIES_ASKED)] | None = None
    mirror: Mirror = Mirror.AUTO
    hit_rate: Annotated[float, Meta(gt=0, le=1)] = 0.995
    false_alarm_rate: Annotated[float, Meta(gt=0, lt=1)] = 0.4
    max_stages: Annotated[int, Meta(ge=1, le=MAX_COUNT)] = 15
    max_weak: Annotated[int, Meta(ge=1, le=MAX_COUNT)] = 200
    max_depth: Annotated[int, Meta(ge=1, le=MAX_DEPTH)] = 1
    target_false_alarm_rate: Annotated[float, Meta(gt=0, le=1)] = 1e-6
    n_negatives: Annotated[int, Meta(ge=MIN_NEGATIVES)] | None = None
    max_samples: Annotated[int, Meta(ge=2 * MIN_NEGATIVES)] = 12_000
    held_out: Annotated[float, Meta(ge=0, le=0.5)] = 0.2
    max_windows: Annotated[int, Meta(ge=1)] = 2_000_000_000
    hardest_negatives: bool = False
    baseline: bool = True
    seed: Annotated[int, Meta(ge=0)] = 0

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "costs", parse_costs(self.costs))
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


class SettingsChanges(TypedDict, total=False):
    """The fields of `TrainingSettings` as keyword arguments, so that editors complete and check them."""

    booster: str | None
    costs: CostsLike | None
    features: FeatureType | Literal["haar", "lbp"] | None
    mode: HaarMode | Literal["basic", "core", "all"] | None
    copies: int | None
    mirror: Mirror | Literal["auto", "yes", "no"] | None
    hit_rate: float | None
    false_alarm_rate: float | None
    max_stages: int | None
    max_weak: int | None
    max_depth: int | None
    target_false_alarm_rate: float | None
    n_negatives: int | None
    max_samples: int | None
    held_out: float | None
    max_windows: int | None
    hardest_negatives: bool | None
    baseline: bool | None
    seed: int | None


def preset_settings(
    preset: Preset | Literal["quick", "normal", "thorough"], **changes: Unpack[SettingsChanges]
) -> TrainingSettings:
    """Return the settings of a preset, some of them changed.

    Parameters
    ----------
    preset : Preset or str
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
        If there is no such preset (near names are suggested), or as `TrainingSettings`.

    Examples
    --------
    >>> preset_settings(Preset.QUICK, seed=3).max_stages
    8
    """
    given: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
    if "mode" in given and str(given.get("features", "")).lower() == "lbp":
        raise SettingsError(
            f"mode {given['mode']} chooses among Haar features, but features are lbp: leave one of the two out"
        )
    return TrainingSettings(**{**_PRESETS[checked_choice("preset", preset, Preset)], **given})
