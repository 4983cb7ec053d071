"""The search of a cluster's workers, in this process: round for round that of one machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import builders
import numpy as np
import pytest
from simulate_cluster import RecordingCluster

from vjcascade.boosters import BoostingState, Costs, booster_names, make_booster
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.learning.boosting import boost
from vjcascade.learning.samples import WindowValues, samples_of
from vjcascade.learning.search import StumpSearch
from vjcascade.learning.sharding import ShardedSearch, dealt, digest_of
from vjcascade.types import Size

WINDOW = Size(10, 9)


class Workers(RecordingCluster):
    """Does all work in this process, at once; one worker forgets everything once."""

    def __init__(self, n_workers: int, n_in_pool: int, forgets_at: int) -> None:
        super().__init__(n_workers, n_workers, n_in_pool)
        self._forgets_at = forgets_at
        self.n_asked = 0

    def ask_at_once(
        self, workers: Sequence[str], function: Callable[..., Any], *arguments: Any
    ) -> dict[str, Any]:
        keys, question = arguments
        self.n_asked += 1
        return super().ask_at_once(workers, function, keys[self.n_asked == self._forgets_at :], question)


@pytest.fixture
def windows(rng: np.random.Generator) -> np.ndarray:
    made = np.stack([builders.smooth_noise(rng, WINDOW.height, WINDOW.width) for _ in range(260)])
    made[:110, :, :5] |= 24
    return made


def run_of(search: Any, booster: str, n_rounds: int, max_depth: int) -> list[tuple[Any, float]]:
    rounds = boost(search, make_booster(booster, Costs(2, 1)), max_depth=max_depth)
    return [(one.tree.stumps, one.alpha) for one in islice(rounds, n_rounds)]


@pytest.mark.parametrize("max_depth", [1, 2])
@pytest.mark.parametrize("booster", booster_names())
def test_each_round_is_that_of_one_machine(
    rng: np.random.Generator, windows: np.ndarray, booster: str, max_depth: int
) -> None:
    pool = builders.random_features(rng, 400, WINDOW, tilted_share=0.2)
    integrals = WindowIntegrals.of(windows, tilted=True)
    here = StumpSearch(samples_of(pool, integrals, 110, 1), 1)
    workers = Workers(3, len(pool), forgets_at=6)
    with ShardedSearch(workers, WindowValues(pool, integrals, 110), windows, windows[:110], 1) as there:
        found = run_of(there, booster, 5, max_depth)
    assert found == run_of(here, booster, 5, max_depth)
    assert len(found) == 5 or booster == "adacost"  # which ends when no feature is better than none
    assert workers.n_asked > 6 or len(found) < 5


def test_a_digest_tells_any_rounding(rng: np.random.Generator) -> None:
    state = BoostingState.start(np.array([1] * 30 + [-1] * 50, np.int8))
    round_ = make_booster("cost-generalized", Costs(2, 1)).begin_round(state)
    rounds = [round_]
    rounds += [
        replace(round_, **{f"{name}_weight": np.nextafter(1.0, 2.0)}) for name in ("positive", "negative")
    ]
    for name in ("positive_part", "negative_part"):
        given = getattr(round_, name)
        for one in range(len(given)):
            other = (one + int(rng.integers(1, len(given)))) % len(given)
            for bits in (
                1,
                -1,
                1 << 52,
                1 << 62,
            ):  # in one or two weights, from the lowest to the highest bits
                changed = given.copy()
                changed.view(np.int64)[one] ^= bits
                rounds.append(replace(round_, **{name: changed.copy()}))
                changed.view(np.int64)[other] ^= bits
                rounds.append(replace(round_, **{name: changed}))
    weights = {
        (r.positive_part.tobytes(), r.negative_part.tobytes(), r.positive_weight, r.negative_weight)
        for r in rounds
    }
    assert len({digest_of(r) for r in rounds}) == len(weights) > 1000
    apart = np.repeat(round_.positive_part, 2)[::2]
    assert digest_of(replace(round_, positive_part=apart)) == digest_of(round_)


@pytest.mark.parametrize("n_features", [1, 63, 64, 65, 1000, 162_336])
@pytest.mark.parametrize("shares", [[1], [1, 1], [3, 1, 4, 2], [1] * 64])
def test_all_features_are_dealt_in_whole_tiles(n_features: int, shares: list[int]) -> None:
    parts = dealt(n_features, shares)
    assert len(parts) == len(shares)
    assert np.sort(np.concatenate(parts)).tolist() == list(range(n_features))
    for part, share in zip(parts, shares, strict=True):
        assert (np.diff(part) > 0).all()
        assert abs(len(part) - n_features * share / sum(shares)) <= 128


def test_each_part_has_features_from_all_over_the_pool() -> None:
    for part in dealt(162_336, [1] * 16):
        counts = np.histogram(part, bins=8, range=(0, 162_336))[0]
        assert counts.min() > 0.8 * counts.max()
