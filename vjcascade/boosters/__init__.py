"""Cost-sensitive boosters behind one protocol."""

from vjcascade.boosters.advice import Recommendation, recommend
from vjcascade.boosters.base import Booster, DiscreteBooster, Vote
from vjcascade.boosters.confidence import ConfidenceBooster
from vjcascade.boosters.costs import CostMatrix, Costs, Scenario, parse_costs
from vjcascade.boosters.decision import DecisionRule, decision_threshold
from vjcascade.boosters.example_costs import read_example_costs, split_example_costs
from vjcascade.boosters.pool import PoolRun, boost_pool
from vjcascade.boosters.registry import booster_names, make_booster, register
from vjcascade.boosters.sieve import Sieve
from vjcascade.boosters.state import BoostingState, Round

__all__ = [
    "Booster",
    "BoostingState",
    "ConfidenceBooster",
    "CostMatrix",
    "Costs",
    "DecisionRule",
    "DiscreteBooster",
    "PoolRun",
    "Recommendation",
    "Round",
    "Scenario",
    "Sieve",
    "Vote",
    "boost_pool",
    "booster_names",
    "decision_threshold",
    "make_booster",
    "parse_costs",
    "read_example_costs",
    "recommend",
    "register",
    "split_example_costs",
]
