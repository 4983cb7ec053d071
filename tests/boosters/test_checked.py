"""Faults of plug-in boosters: each is named with the class, the method and the value."""

from __future__ import annotations

import re
from itertools import islice

import numpy as np
import pytest

from vjcascade.boosters import BoostingState, Costs, Round, Vote, booster_names, make_booster
from vjcascade.boosters.adaboost import AdaBoost
from vjcascade.boosters.bounds import LossBounds
from vjcascade.boosters.checked import checked
from vjcascade.boosters.cost_sensitive import CostSensitiveAdaBoost
from vjcascade.boosters.gentle import GentleAdaBoost
from vjcascade.errors import SettingsError
from vjcascade.learning.boosting import boost
from vjcascade.learning.pool import boost_pool
from vjcascade.learning.samples import TableSamples
from vjcascade.learning.search import StumpSearch
from vjcascade.learning.table_search import TableSearch

N = 30


@pytest.fixture
def table(rng):
    return rng.normal(size=(N, 3)) + np.where(np.arange(N) < 12, 0.5, 0)[:, None]


def broken(parent, **methods):
    """Return a booster some of whose methods return what they should not."""
    return type("Broken", (parent,), {"__module__": __name__, **methods})(Costs(2, 1))


def returning(value):
    return lambda *_: value


def a_vote(**changed):
    right = {"outputs": np.array([-1.0, 1.0]), "alpha": 0.5, "leaves": np.array([-0.5, 0.5]), "helps": True}
    return Vote(**right | changed)


def a_round(state, **changed):
    round_ = Round.of_weights(np.full(N, 1 / N), state)
    parts = {
        "positive_part": round_.positive_part,
        "negative_part": round_.negative_part,
        "positive_weight": round_.positive_weight,
        "negative_weight": round_.negative_weight,
    }
    return Round(state=state, **parts | changed)


FAULTS = [
    (AdaBoost, "alpha", returning(np.nan), "alpha returned nan, not a finite number"),
    (AdaBoost, "alpha", returning(None), "alpha returned None, not a finite number"),
    (AdaBoost, "alpha", returning(True), "alpha returned True, not a finite number"),
    (AdaBoost, "leaves", returning((0.5, np.inf)), "leaves returned inf, not a finite number"),
    (AdaBoost, "leaves", returning(0.5), "leaves returned 0.5, not two numbers"),
    (AdaBoost, "log_prior", returning(np.zeros(3)), f"log_prior returned an array of shape (3,), not ({N},)"),
    (
        AdaBoost,
        "log_weights",
        lambda _, state: np.where(np.arange(N) == 4, np.nan, state.score),
        "log_weights returned an array with nan at [4], not logarithms of weights",
    ),
    (AdaBoost, "log_weights", returning(np.full(N, np.inf)), "log_weights returned an array with inf at [0]"),
    (AdaBoost, "log_weights", returning(np.full(N, -np.inf)), "log_weights returned -inf for all samples"),
    (AdaBoost, "log_weights", returning([0.0] * N), "log_weights returned [0.0, "),
    (AdaBoost, "log_weights", returning(np.zeros(N, int)), "an array of dtype int64, not float64"),
    (
        AdaBoost,
        "selection_costs",
        returning((1.0, -2.0)),
        "selection_costs returned -2.0, not a finite number",
    ),
    (AdaBoost, "begin_round", returning(None), "begin_round returned None, not a Round"),
    (
        AdaBoost,
        "begin_round",
        lambda _, state: a_round(state, negative_part=np.full(N, -0.1)),
        "begin_round returned a Round whose negative_part is an array with -0.1 at [0], not finite numbers, 0 or more",
    ),
    (
        AdaBoost,
        "begin_round",
        lambda _, state: a_round(state, positive_weight=np.nan),
        "begin_round returned a Round whose positive_weight is nan",
    ),
    (AdaBoost, "choose", returning(-1), "choose returned -1, not the index of one of "),
    (AdaBoost, "choose", returning(1e3), "choose returned 1000.0, not the index of one of "),
    (AdaBoost, "weigh", returning((1, 2)), "weigh returned (1, 2), not a Vote"),
    (AdaBoost, "weigh", returning(a_vote(alpha=-np.inf)), "weigh returned a Vote whose alpha is -inf"),
    (
        AdaBoost,
        "weigh",
        returning(a_vote(leaves=np.zeros(3))),
        "a Vote whose leaves are an array of shape (3,)",
    ),
    (
        AdaBoost,
        "weigh",
        returning(a_vote(outputs=np.array([1, np.nan]))),
        "outputs are an array with nan at [1]",
    ),
    (
        AdaBoost,
        "weigh",
        returning(a_vote(helps=None)),
        "weigh returned a Vote whose helps is None, not a bool",
    ),
    (CostSensitiveAdaBoost, "loss", returning(np.zeros(1)), "loss returned an array of shape (1,), not ("),
    (CostSensitiveAdaBoost, "loss", lambda _, p, n, __: p + n > 0, "dtype bool, not float64"),
    (CostSensitiveAdaBoost, "loss", lambda _, p, *__: p * np.nan, "loss returned an array with nan at [0]"),
    (GentleAdaBoost, "impurity", returning(0.5), "impurity returned 0.5, not an array of shape"),
    (GentleAdaBoost, "leaf_values", returning(np.array([0.1, np.inf])), "an array with inf at [1]"),
]


@pytest.mark.parametrize(("parent", "method", "answer", "words"), FAULTS)
def test_a_fault_is_named(table, parent, method, answer, words):
    booster = broken(parent, **{method: answer})
    opening = re.escape(f"booster {parent.name!r} ({__name__}.Broken): ")
    with pytest.raises(SettingsError, match=f"^{opening}.*{re.escape(words)}"):
        next(boost(TableSearch(table, 12), booster))


@pytest.mark.parametrize(
    ("method", "answer", "words"),
    [
        ("slope", returning((np.nan, 1.0)), "slope returned nan"),
        ("loss_bounds", returning(None), "loss_bounds returned None, not LossBounds"),
        ("loss_bounds", returning(LossBounds(np.array([[np.nan, 1.0]]))), "LossBounds whose lines are"),
    ],
)
def test_a_fault_that_only_some_searches_meet(table, method, answer, words):
    booster = broken(CostSensitiveAdaBoost, **{method: answer})
    with pytest.raises(SettingsError, match=words):
        next(boost(StumpSearch(TableSamples(table, 12, 1)), booster, max_depth=2))


def failing(*_):
    return {}["missing"]


@pytest.mark.parametrize("method", ["log_prior", "log_weights", "begin_round", "choose", "weigh", "alpha"])
def test_what_a_method_raises_is_its_fault(table, method):
    """Not "internal error: KeyError('missing')": whoever wrote the plug-in is to know where to look."""
    booster = broken(AdaBoost, **{method: failing})
    with pytest.raises(SettingsError, match=rf"Broken\): {method} raised KeyError: 'missing'$") as caught:
        next(boost(TableSearch(table, 12), booster))
    assert isinstance(caught.value.__cause__, KeyError)


def test_too_little_memory_is_nobodys_fault(table):
    def grow(*_):
        raise MemoryError

    with pytest.raises(MemoryError):
        next(boost(TableSearch(table, 12), broken(AdaBoost, alpha=grow)))


def change_score(booster, state):
    state.score += 1.0
    return AdaBoost.begin_round(booster, state)


def change_labels(booster, sums_p, sums_n, sides, round_):
    round_.state.labels[3] = -1
    return AdaBoost.weigh(booster, sums_p, sums_n, sides, round_)


def count_a_round(booster, errors_p, errors_n, round_):
    round_.state.n_rounds += 1
    return AdaBoost.choose(booster, errors_p, errors_n, round_)


def test_costs_that_a_class_says_it_does_not_use(table):
    """It would be trained once, and judged at all costs."""

    class Costly(AdaBoost):
        def log_weights(self, state):
            return super().log_weights(state) + state.labels * np.log(self.costs.ratio)

    words = "its weights change with the costs, but its uses_costs is False: set it to True in the class"
    with pytest.raises(SettingsError, match=words):
        next(boost(TableSearch(table, 12), Costly(Costs())))
    bare = type("Bare", (AdaBoost,), {"__init__": returning(None)})
    with pytest.raises(SettingsError, match=r"it has no costs: its __init__ must call super\(\)"):
        next(boost(TableSearch(table, 12), bare(Costs())))
    said = type("Said", (Costly,), {"uses_costs": True})
    assert next(boost(TableSearch(table, 12), said(Costs(2, 1))))


@pytest.mark.parametrize(
    ("method", "answer", "words"),
    [
        (
            "begin_round",
            change_score,
            r"begin_round changed state\.score\[0\], which boosters must not change",
        ),
        ("weigh", change_labels, r"weigh changed state\.labels\[3\], which"),
        ("choose", count_a_round, r"called between begin_round and weigh changed state\.n_rounds, which"),
    ],
)
def test_a_changed_state_is_named(table, method, answer, words):
    booster = broken(AdaBoost, **{method: answer})
    with pytest.raises(SettingsError, match=words):
        next(boost(TableSearch(table, 12), booster))


def test_pools_check_as_well():
    labels, pool = np.array([1, 1, -1, -1], np.int8), np.array([[1], [1], [-1], [1]], np.int8)
    with pytest.raises(SettingsError, match="alpha returned nan"):
        boost_pool(pool, labels, broken(AdaBoost, alpha=returning(np.nan)), 3)


def test_a_fault_of_a_later_round_is_named(table):
    def alpha(_, *errors_and_round):
        return 0.1 if errors_and_round[-1].state.n_rounds < 3 else np.nan

    rounds = boost(TableSearch(table, 12), broken(AdaBoost, alpha=alpha))
    assert len(list(islice(rounds, 3))) == 3
    with pytest.raises(SettingsError, match="alpha returned nan"):
        next(rounds)


@pytest.mark.parametrize("name", booster_names())
def test_a_checked_booster_is_its_own_copy_and_answers_the_same(name, table):
    plain = make_booster(name, Costs(3, 2))
    one = checked(plain)
    assert isinstance(one, type(plain))
    assert type(plain).__name__ == type(one).__name__
    assert vars(one) == vars(plain)
    state = BoostingState.start(TableSearch(table, 12).labels)
    rounds = [booster.begin_round(state) for booster in (plain, one)]
    assert np.array_equal(rounds[0].weights, rounds[1].weights)
    assert "state_of_run" not in vars(plain)
    sums = np.array([0.1, 0.3]) * rounds[0].positive_weight, np.array([0.3, 0.1]) * rounds[0].negative_weight
    votes = [b.weigh(*sums, np.array([-1, 1], np.int8), rounds[0]) for b in (plain, one)]
    assert np.array_equal(votes[0].leaves, votes[1].leaves)


def test_samples_that_do_not_count_are_no_fault(table):
    weights = np.where(np.arange(N) % 5 == 0, 0.0, 1.0)
    for name in booster_names():
        search = TableSearch(table, 12)
        assert list(
            islice(boost(search, make_booster(name, 2), BoostingState.start(search.labels, weights)), 2)
        )
