from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from vjcascade.boosters import BoostingState, ConfidenceBooster, Costs, Round, booster_names, make_booster
from vjcascade.learning import table_search as module
from vjcascade.learning.samples import TableSamples
from vjcascade.learning.search import StumpSearch
from vjcascade.learning.table_search import TableSearch, search_of_table
from vjcascade.learning.trees import best_stump


def random_round(rng, search):
    weights = rng.random(len(search.labels)) ** 3
    return Round.of_weights(weights / weights.sum(), BoostingState.start(search.labels))


def outputs_of(stump, table):
    return np.where(stump.goes_left(table[:, stump.feature]), *stump.sides)


@pytest.mark.parametrize("booster", booster_names())
def test_finds_what_the_search_over_bins_finds(rng, booster):
    """Each value has its own bin here, so that both searches are exact; random weights leave no ties."""
    table = np.column_stack(
        [rng.normal(size=90), rng.integers(0, 4, 90), rng.integers(0, 2, 90), np.ones(90)]
    )
    quick, usual = TableSearch(table, 30), StumpSearch(TableSamples(table, 30, 1))
    boosted = make_booster(booster, Costs(3, 1))
    for _ in range(3):
        round_ = random_round(rng, quick)
        found, expected = best_stump(quick, boosted, round_), best_stump(usual, boosted, round_)
        assert (found.feature, found.threshold) == (expected.feature, expected.threshold)
        if not isinstance(boosted, ConfidenceBooster):  # whose leaves say it, on either side
            errors = expected.error_p, expected.error_n
            assert found.sides == expected.sides
            assert (found.error_p, found.error_n) == pytest.approx(errors, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_no_cut_is_better(data):
    """Against all cuts of all columns, with ties: few values, and whole numbers for weights."""
    n, n_features = data.draw(st.integers(2, 9)), data.draw(st.integers(1, 3))
    cells = st.lists(st.integers(-2, 2), min_size=n, max_size=n)
    table = np.array([data.draw(cells) for _ in range(n_features)], float).T
    search = TableSearch(table, data.draw(st.integers(1, n - 1)))
    weights = np.array(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)), float) / (3 * n)
    round_ = Round.of_weights(weights, BoostingState.start(search.labels))
    for booster in (make_booster(name, Costs(2, 1)) for name in ("adaboost", "cost-sensitive", "adaboostdb")):
        best = best_stump(search, booster, round_)
        wrong = outputs_of(best, table) != search.labels
        errors = [weights[wrong & (search.labels == side)].sum() for side in (1, -1)]
        assert (best.error_p, best.error_n) == pytest.approx(errors, abs=1e-12)
        losses = []
        for column in table.T:
            for cut in np.unique(column) + 0.5:
                for sides in ((-1, 1), (1, -1)):
                    mistakes = np.where(column < cut, *sides) != search.labels
                    class_errors = [
                        np.array([weights[mistakes & (search.labels == side)].sum()]) for side in (1, -1)
                    ]
                    losses.append(booster.loss(*class_errors, round_)[0])
        assert (
            booster.loss(np.array([best.error_p]), np.array([best.error_n]), round_)[0] <= min(losses) + 1e-9
        )


def test_columns_of_one_value_leave_the_constants(rng):
    search = TableSearch(np.ones((6, 2)), 2)
    round_ = random_round(rng, search)
    for name in ("adaboost", "real"):
        stumps = search.candidates(round_, make_booster(name, Costs()))
        assert [stump.sides for stump in stumps] == [(1, 1), (-1, -1)]
    assert search.values(1).tolist() == [1.0] * 6


def test_neighbouring_numbers_are_parted(rng):
    """Halfway between them there is no number."""
    low = 1.0
    table = np.array([[np.nextafter(low, 2)], [low]])
    search = TableSearch(table, 1)
    round_ = Round.of_weights(np.array([0.5, 0.5]), BoostingState.start(search.labels))
    best = search.candidates(round_, make_booster("adaboost", Costs()))[0]
    assert outputs_of(best, table).tolist() == [1, -1]


def test_tables_beyond_their_share_of_memory_are_searched_over_bins(monkeypatch, rng):
    table = rng.normal(size=(60, 3))
    for memory, expected in ((4 * 16 * 180 - 1, StumpSearch), (4 * 16 * 180, TableSearch)):
        monkeypatch.setattr(module, "physical_memory", lambda memory=memory: float(memory))
        assert isinstance(search_of_table(table, 20, n_threads=2), expected)


@pytest.mark.parametrize("booster", ["adaboost", "adaboostdb", "real"])
def test_neither_threads_nor_tasks_change_what_is_found(monkeypatch, rng, booster):
    """Also where columns tie: copies of them, and few values."""
    table = rng.integers(0, 3, (50, 8)).astype(float)
    table[:, 5:] = table[:, :3]
    boosted, found = make_booster(booster, Costs(2, 1)), []
    round_ = random_round(rng, TableSearch(table, 20))
    for n_threads, n_cells in ((1, 2**17), (1, 1), (3, 1), (2, 150)):
        monkeypatch.setattr(module, "CELLS_PER_TASK", n_cells)
        found.append(best_stump(TableSearch(table, 20, n_threads), boosted, round_))
    assert len(set(found)) == 1
