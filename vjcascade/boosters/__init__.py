"""Cost-sensitive boosters behind one protocol."""

from vjcascade.boosters.base import Booster, BoostingState, Costs, Round
from vjcascade.boosters.registry import booster_names, make_booster, register

__all__ = ["Booster", "BoostingState", "Costs", "Round", "booster_names", "make_booster", "register"]
