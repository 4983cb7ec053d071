"""Cost-sensitive boosters behind one protocol."""

from typing import Any

from vjcascade.boosters.advice import Recommendation, recommend
from vjcascade.boosters.base import Booster, DiscreteBooster, Vote
from vjcascade.boosters.bounds import GiniGuide, LossBounds, TwoErrorBounds
from vjcascade.boosters.confidence import ConfidenceBooster
from vjcascade.boosters.costs import CostMatrix, Costs, Scenario, parse_costs
from vjcascade.boosters.decision import DecisionRule, decision_threshold
from vjcascade.boosters.example_costs import read_example_costs, split_example_costs
from vjcascade.boosters.registry import booster_names, make_booster, register
from vjcascade.boosters.state import BoostingState, Round

__all__ = [
    "Booster",
    "BoostingState",
    "ConfidenceBooster",
    "CostMatrix",
    "Costs",
    "DecisionRule",
    "DiscreteBooster",
    "GiniGuide",
    "LossBounds",
    "Recommendation",
    "Round",
    "Scenario",
    "TwoErrorBounds",
    "Vote",
    "booster_names",
    "decision_threshold",
    "make_booster",
    "parse_costs",
    "read_example_costs",
    "recommend",
    "register",
    "split_example_costs",
]


def __getattr__(name: str) -> Any:
    if name in ("PoolRun", "boost_pool"):  # where they were before 0.2
        import vjcascade.learning

        return getattr(vjcascade.learning, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
