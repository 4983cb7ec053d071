"""The options of `vjcascade compare`, in groups that its commands share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from vjcascade.cli.options import CountOption, FlagOption, SizeOption, WholeOption
from vjcascade.features import HaarMode
from vjcascade.types import FeatureType

USUAL_BOOSTERS = (
    "adaboost",
    "asymboost",
    "adac2",
    "cost-generalized",
    "cost-generalized:sample",
    "cost-sensitive",
    "gentle",
    "cost-generalized-gentle",
)
TRAINED_BOOSTERS = tuple(name for name in USUAL_BOOSTERS if ":" not in name)
"""Of whole cascades: training knows no choice of the prior."""

USUAL_COSTS = ("1", "2", "5", "10")

_Words = Annotated[list[str] | None, Parameter(negative="", consume_multiple=True)]


class TablePreset(StrEnum):
    """A design that was published."""

    NIKOLAOU = "nikolaou"


@Parameter(name="*")
@dataclass(frozen=True)
class RunOptions:
    """Where a comparison is written, and how it runs; only times depend on it.

    Attributes
    ----------
    output : path
        Folder for the report, the tables and finished runs.
    resume : bool
        Continue the comparison in the output folder; boosters, costs, rules and seeds may differ.
    overwrite : bool
        Replace the comparison in the output folder.
    threads : int
        Processors to use; all if not given. Only times depend on it.
    cluster : str
        Address of a Dask scheduler (tcp://host:8786): its workers do the runs, or what training whole cascades gives
        to a cluster; local:4 starts four processes on this machine. Only times depend on it.
    """

    output: Annotated[Path, Parameter(alias="-o")] = Path("comparison")
    resume: FlagOption = False
    overwrite: FlagOption = False
    threads: CountOption | None = None
    cluster: str | None = None

    def keywords(self) -> dict[str, Any]:
        """Return what every function that compares takes by these names."""
        return {
            "resume": self.resume,
            "overwrite": self.overwrite,
            "n_threads": self.threads,
            "client": self.cluster,
        }


@Parameter(name="*")
@dataclass(frozen=True)
class BoosterOptions:
    """Boosters to compare, and their targets.

    Attributes
    ----------
    boosters : list of str
        Boosters to compare; all means every one. A booster named twice takes part twice. After a colon, the
        prior: cost-generalized:sample multiplies the weights of samples by their costs, not those of classes.
    costs : list of str
        Cost ratios, each written as 4 (a missed positive costs 4 false alarms) or 4:1.
    rounds : int
        Maximum number of weak classifiers.
    hit_rate : float
        Share of positives that a stage must pass.
    false_alarm_rate : float
        Share of negatives that a stage may pass.
    seed : int
        Seed of all random choices.
    """

    boosters: Annotated[_Words, Parameter(show_default=" ".join(USUAL_BOOSTERS))] = None
    costs: Annotated[_Words, Parameter(show_default=" ".join(USUAL_COSTS))] = None
    rounds: Annotated[CountOption | None, Parameter(show_default="60")] = None
    hit_rate: float = 0.995
    false_alarm_rate: float = 0.5
    seed: WholeOption = 0


@Parameter(name="*")
@dataclass(frozen=True)
class RuleOptions:
    """How thresholds are set, and a check that the comparison is fair.

    Attributes
    ----------
    rules : list of str
        How thresholds are found: natural (0), theory, adamec, hit-rate, minimum-cost, calibrated; all but adamec if not
        given.
    sanity : bool
        Add AdaBoost on shuffled labels, which must perform at chance.
    contrasts : path
        TOML file of contrasts fixed in advance, like samples/comparison/contrasts.toml; their p-values are
        corrected separately, and reported first.
    """

    rules: _Words = None
    sanity: FlagOption = False
    contrasts: Path | None = None


@Parameter(name="*")
@dataclass(frozen=True)
class WindowOptions:
    """Windows to train on.

    Attributes
    ----------
    samples : int
        Positives, and as many negatives, to train each stage on, if available.
    features : FeatureType
        haar or lbp.
    mode : HaarMode
        Kinds of Haar features.
    window : Size
        Training window in pixels, for example 24x24; chosen from the crops if not given.
    label : str
        The kind of object, where annotations have several.
    """

    samples: CountOption = 1000
    features: FeatureType = FeatureType.HAAR
    mode: HaarMode = HaarMode.BASIC
    window: SizeOption | None = None
    label: str | None = None


@Parameter(name="*")
@dataclass(frozen=True)
class StageOptions:
    """Stages to compare on.

    Attributes
    ----------
    stages : int
        Stages to compare on, from the first.
    seeds : int
        Random splits into training, threshold-tuning and test samples.
    independent : bool
        Give every seed, and the reference, separate crops and photos: results then hold for other pictures of the
        kind, at the price of fewer for each seed.
    pool : int
        Features drawn at random from the pool, for speed; all of them if not given.
    reference : path
        Model whose stages decide what reaches the next one; trained with the default booster if not given.
    """

    stages: CountOption = 3
    seeds: CountOption = 5
    independent: FlagOption = False
    pool: CountOption | None = None
    reference: Path | None = None


@Parameter(name="*")
@dataclass(frozen=True)
class CascadeOptions:
    """Cascades to train, and scenes to test on.

    Attributes
    ----------
    scenes : path
        List of pictures with the boxes of all objects in them, like info.dat.
    stages : int
        Maximum number of stages of each cascade.
    seeds : int
        Cascades that each booster trains, each with another seed.
    """

    scenes: Path
    stages: CountOption = 10
    seeds: CountOption = 1


@Parameter(name="*")
@dataclass(frozen=True)
class TableOptions:
    """What to learn from the tables.

    Attributes
    ----------
    target : str
        The column to predict.
    positive : str
        Value of the target that makes a row a positive.
    ignore_column : list of str
        Columns to leave out.
    preset : TablePreset
        Boosters, costs, rules and rounds of Nikolaou et al. 2016, and 30 seeds.
    seeds : int
        Random splits into training, threshold-tuning and test rows.
    """

    target: str
    positive: str | None = None
    ignore_column: _Words = None
    preset: TablePreset | None = None
    seeds: Annotated[CountOption | None, Parameter(show_default="5")] = None
