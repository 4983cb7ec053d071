"""The search for a round's best stump on a cluster: each worker keeps the bins of some features for all samples.

Network traffic
    When a stage begins, each worker gets its shard of the pool and the pixels of all windows, and computes the bins.
    After that, each round only sends the weak classifier that was added, a few hundred bytes, to all at once: each
    worker has its own copy of the boosting state, and computes the round's weights from it. A digest shows whether its
    weights are identical, bit by bit (other processors may round differently); if not, and for the nodes of trees, the
    weights themselves are sent. Workers return their best features over bins, with losses: a few kilobytes at most. The
    main process chooses among them, and sets thresholds on the real values, as without a cluster.

Why the result is that of one machine
    Each worker's search finds the best of its features as a full scan over bins would, whatever its histograms are; see
    `vjcascade.learning.search`. So the best of all are among the returned ones. The best of a shard are seldom among
    the best of all, and measuring them would be half of a shard's work: so workers first tell the losses of what they
    take for best, and are then told which loss the best of all will not exceed.

How work is divided
    Tiles of features are dealt to the workers evenly over the pool, as kinds of features differ in how often they are
    near the best. A round takes as long as the slowest worker.

When a worker is lost
    Another one gets its shard, with the current state, as a task. Nothing else is repeated.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.boosters import Booster, BoostingState, Round, Vote
from vjcascade.boosters.checked import unchecked
from vjcascade.boosters.state import Floats
from vjcascade.buffers import reuse_freed_memory
from vjcascade.clusters import Cluster
from vjcascade.features.families import family_of
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.kernels.tiles import TILE
from vjcascade.learning.criteria import nth_smallest
from vjcascade.learning.samples import WindowSamples, WindowValues
from vjcascade.learning.search import N_EXACT, N_PROBES, Begun, Found, Probed, StumpSearch, stumps_of
from vjcascade.learning.trees import Tree
from vjcascade.learning.weak_splits import Stump

GOLDEN_RATIO = (5**0.5 - 1) / 2

MIXING_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""Its share of 2**64, made odd."""

PLAIN, WITH_STATE, WITH_FEATURES = range(3)
"""What is sent to a worker: only changes; also the state and the weights; also the features and windows of its bins."""

_numbers = itertools.count()


@dataclass(frozen=True, eq=False)
class ShardSpec:
    """The data from which a worker computes the bins of some features.

    Attributes
    ----------
    features : ndarray of shape (n_features,), dtype intp
        Their indices in the whole pool, ascending.
    n_in_pool : int
        Number of features in the whole pool.
    pool : ndarray of shape (n_features,)
        The features.
    windows : ndarray of shape (n, h, w), dtype uint8
        All training windows, the positives first.
    n_positives : int
        Number of positives.
    few : ndarray of shape (m, h, w), dtype uint8
        Positives from which the limits of bins are derived.
    tilted : bool
        Whether the whole pool has tilted features.
    """

    features: NDArray[np.intp]
    n_in_pool: int
    pool: NDArray[np.void]
    windows: NDArray[np.uint8]
    n_positives: int
    few: NDArray[np.uint8]
    tilted: bool


class Added(NamedTuple):
    """A weak classifier that was added: its tree, the features of its stumps in order, and its votes."""

    tree: Tree
    features: NDArray[np.void]
    outputs: Floats
    alpha: float


class Weights(NamedTuple):
    """The weights of a round."""

    positive_part: Floats
    negative_part: Floats
    positive_weight: float
    negative_weight: float
    is_part: bool


class Question(NamedTuple):
    """A request to a worker in a round.

    Attributes
    ----------
    booster : Booster
        Judges splits.
    n_rounds : int
        Rounds done.
    added : tuple of Added
        Weak classifiers that were added since the last round sent to all workers.
    digest : int
        Digest of the weights.
    probes : ndarray of dtype intp, or None
        Indices of features in the whole pool whose best split is wanted, of those in the shard; None for a search.
    guess : tuple of float or None
        See `StumpSearch.find`.
    ceiling : float or None
        For a search: None to begin it, or to finish it, the largest loss that may win.
    state : BoostingState or None
        The state, for a worker that does not have it.
    weights : Weights or None
        The weights, if the worker cannot compute them from the state.
    """

    booster: Booster
    n_rounds: int
    added: tuple[Added, ...]
    digest: int
    probes: NDArray[np.intp] | None
    guess: tuple[float, float] | None
    ceiling: float | None
    state: BoostingState | None = None
    weights: Weights | None = None


Answer = Probed | Floats | Found
"""The best of the probes; or the least losses known when a search has begun; or its result."""

NO_PROBES = Probed(np.inf, 0, (0.0, 0.0))
"""The answer of a shard without probes."""


class Shard:
    """A worker's features: their bins, the search among them, and the state of the boosting run.

    Parameters
    ----------
    spec : ShardSpec
        The features and windows.
    n_threads : int
        Threads of the worker.
    """

    def __init__(self, spec: ShardSpec, n_threads: int) -> None:
        family, few = family_of(spec.pool), WindowIntegrals.of(spec.few, tilted=spec.tilted)
        store = family.bin_store(spec.pool, few, n_threads)
        samples = WindowSamples(store, WindowIntegrals.of(spec.windows, tilted=spec.tilted), spec.n_positives)
        self._samples, self._family, self._features = samples, family, spec.features
        self._search = StumpSearch(samples, n_threads, n_in_pool=spec.n_in_pool)
        self._state = BoostingState.start(samples.labels)
        self._round_key: tuple[int, int] | None = None
        self._round: Round | None = None
        self._begun: Begun | None = None

    def answer(self, question: Question) -> Answer | None:
        """Return the answer; None if state or weights differ from those of the question."""
        self._follow(question)
        if self._state.n_rounds != question.n_rounds:
            return None
        booster, round_ = question.booster, self._round_of(question)
        if round_ is None:
            return None
        if question.probes is not None:
            probes = np.flatnonzero(np.isin(self._features, question.probes))
            if len(probes) == 0:
                return NO_PROBES
            best = self._search.best_of(probes, round_, booster)
            return best._replace(feature=int(self._features[best.feature]))
        if question.ceiling is None or self._begun is None:
            self._begun = self._search.begin(round_, booster, question.guess)
            if question.ceiling is None:
                return self._begun.least
        begun, self._begun = self._begun, None
        found = self._search.finish(begun, question.ceiling).shortened(N_PROBES)
        return found._replace(features=self._features[found.features])

    def _round_of(self, question: Question) -> Round | None:
        """Return the round with its weights; None if they differ from those of the question."""
        key = question.n_rounds, question.digest
        if self._round_key == key:
            return self._round
        given = question.weights
        if given is None:
            round_ = question.booster.begin_round(self._state)
            if digest_of(round_) != question.digest:
                return None
        else:
            round_ = Round(
                given.positive_part,
                given.negative_part,
                self._state,
                given.positive_weight,
                given.negative_weight,
                given.is_part,
            )
        self._round_key, self._round, self._begun = key, round_, None
        return round_

    def _follow(self, question: Question) -> None:
        """Update the state."""
        if question.state is not None:
            self._state = question.state
        elif question.n_rounds == 0 < self._state.n_rounds:
            self._state = BoostingState.start(self._samples.labels)
        elif self._state.n_rounds + len(question.added) == question.n_rounds:
            for one in question.added:
                features = dict(zip([stump.feature for stump in one.tree.stumps], one.features, strict=True))
                where = one.tree.leaves_of(lambda feature, known=features: self._values(known[feature]))  # type: ignore[misc]
                self._state.add(one.outputs[where], one.alpha)

    def _values(self, feature: np.void) -> NDArray[np.generic]:
        values: NDArray[np.generic] = self._family.values(
            np.array([feature], self._samples.pool.dtype), self._samples.integrals
        )[0]
        return values


def digest_of(round_: Round) -> int:
    """Return a digest of the weights of a round, of 64 bits.

    Chance does not give two roundings the same one; somebody who wants to could. A cryptographic digest takes many
    times as long, on each worker and in the main process.
    """
    parts = round_.positive_part, round_.negative_part
    sums = np.array([round_.positive_weight, round_.negative_weight])
    digest = 0
    for number, part in enumerate((*parts, sums)):
        words = np.ascontiguousarray(part, np.float64).view(np.uint64) * MIXING_FACTOR
        words ^= words >> np.uint64(32)  # also the highest bits count in all
        digest += int(np.dot(words, _factors(len(part), number)))
    return digest % 2**64


@lru_cache(maxsize=3)
def _factors(n: int, number: int) -> NDArray[np.uint64]:
    """Return odd factors that look random, by SplitMix64.

    Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    """
    factors = (np.arange(n, dtype=np.uint64) + np.uint64(number << 40)) * MIXING_FACTOR
    factors = (factors ^ factors >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    factors = (factors ^ factors >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return (factors ^ factors >> np.uint64(31)) | np.uint64(1)


_shards: dict[str, Shard] = {}
"""The shards of this worker, by key."""


def ask_shard(key: str, spec: ShardSpec | None, n_threads: int, question: Question) -> Answer | None:
    """On a worker: make a shard, if `spec` is given, and return its answer.

    Parameters
    ----------
    key : str
        Key of the shard.
    spec : ShardSpec or None
        Features and windows; None if the shard exists.
    n_threads : int
        Threads of the worker.
    question : Question
        The request.

    Returns
    -------
    Found, tuple of float, or None
        The answer; None if the shard does not exist, or its state or weights differ.
    """
    if spec is not None:
        reuse_freed_memory()
        _shards[key] = Shard(spec, n_threads)
    shard = _shards.get(key)
    return None if shard is None else shard.answer(question)


def ask_shards(keys: Sequence[str], question: Question) -> dict[str, Answer | None]:
    """On a worker: return the answers of those of some shards that it has, by key.

    Parameters
    ----------
    keys : sequence of str
        Keys of all shards.
    question : Question
        The request.

    Returns
    -------
    dict
        None for a shard whose state or weights differ.
    """
    return {key: _shards[key].answer(question) for key in keys if key in _shards}


def drop_shard(key: str) -> None:
    """On a worker: delete a shard."""
    _shards.pop(key, None)


@dataclass
class _Part:
    """A shard of the pool, and its worker."""

    features: NDArray[np.intp]
    worker: str
    n_threads: int
    is_built: bool = False


def dealt(n_features: int, shares: Sequence[int]) -> list[NDArray[np.intp]]:
    """Divide a pool in proportion to shares, tile by tile, so that each part has tiles from all over the pool.

    Examples
    --------
    >>> [part[::64].tolist() for part in dealt(400, [1, 2])]
    [[0, 320], [64, 128, 192, 256, 384]]
    """
    n_tiles = -(-n_features // TILE)
    order = np.argsort(np.arange(n_tiles) * GOLDEN_RATIO % 1, kind="stable")  # any run of it is spread evenly
    edges = np.rint(np.cumsum([0, *shares]) / sum(shares) * n_tiles).astype(np.intp)
    tiles = (np.sort(order[start:stop]) for start, stop in itertools.pairwise(edges))
    features = ((TILE * own[:, None] + np.arange(TILE)).ravel() for own in tiles)
    return [own[own < n_features] for own in features]


class ShardedSearch:
    """The search for the best stumps by the workers of a cluster; a context manager that deletes their shards.

    Parameters
    ----------
    cluster : Cluster
        The cluster; workers that join later are used from the next stage on, or when another is lost.
    samples : WindowValues
        The whole pool, and all windows.
    windows : ndarray of shape (n, h, w), dtype uint8
        The windows.
    few : ndarray of shape (m, h, w), dtype uint8
        Positives from which the limits of bins are derived.
    n_threads : int
        Threads of this machine; results do not depend on it.
    """

    def __init__(
        self,
        cluster: Cluster,
        samples: WindowValues,
        windows: NDArray[np.uint8],
        few: NDArray[np.uint8],
        n_threads: int,
    ) -> None:
        self.labels = samples.labels
        self._cluster, self._samples, self._windows, self._few = cluster, samples, windows, few
        self._n_threads = n_threads
        self._tilted = family_of(samples.pool).has_tilted(samples.pool)
        self._key = (
            f"{id(self):x}-{next(_numbers)}-{hashlib.blake2b(windows.data, digest_size=8).hexdigest()}"
        )
        n_features = len(samples.pool)
        threads = cluster.workers()
        shares = dealt(n_features, list(threads.values()))
        self._parts = [
            _Part(features, worker, threads[worker])
            for worker, features in zip(threads, shares, strict=True)
            if len(features)
        ]
        self._state: BoostingState | None = None
        self._added: list[Added] = []
        self._is_sent = False
        self._asked: Round | None = None
        self._digest = 0
        evenly = np.linspace(0, n_features - 1, min(n_features, N_PROBES)).astype(np.intp)
        self._probes = self._first_probes = np.unique(evenly)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            alive = self._cluster.workers()
            dropped = [
                self._cluster.submit_to(part.worker, drop_shard, self._key_of(i))
                for i, part in enumerate(self._parts)
                if part.worker in alive
            ]
            for future in dropped:
                self._cluster.is_done(future)

    def note(self, tree: Tree, vote: Vote) -> None:
        """Store a weak classifier that was added, for the next request."""
        features = self._samples.pool[[stump.feature for stump in tree.stumps]]
        if self._is_sent:
            self._added, self._is_sent = [], False
        self._added.append(Added(tree, features, vote.outputs, vote.alpha))

    def values(self, feature: int) -> NDArray[np.generic]:
        """Return a feature's values on the training samples."""
        values: NDArray[np.generic] = self._samples.values(np.array([feature]))[0]
        return values

    def candidates(self, round_: Round, booster: Booster) -> list[Stump]:
        """Return the same as `StumpSearch.candidates`."""
        if round_.state is not self._state:  # another boosting run on the same windows
            self._state, self._added = round_.state, []
        guess = None
        if not booster.loss_is_linear:
            guess = min(self._ask(round_, booster, probes=self._probes)).errors
        least = np.concatenate(self._ask(round_, booster, guess=guess))
        ceiling = nth_smallest(least, N_EXACT) if len(least) >= N_EXACT else np.inf
        found = Found.joined(self._ask(round_, booster, guess=guess, ceiling=ceiling))
        if guess is not None and len(found.features):
            self._probes = np.union1d(self._first_probes, found.best(N_PROBES))
        return stumps_of(found.best(N_EXACT), self._samples, round_, booster, self._n_threads)

    def _ask(
        self,
        round_: Round,
        booster: Booster,
        *,
        probes: NDArray[np.intp] | None = None,
        guess: tuple[float, float] | None = None,
        ceiling: float | None = None,
    ) -> list[Any]:
        """Return the answers of all shards, in their order."""
        plain = unchecked(booster)
        is_new = round_ is not self._asked
        if is_new:
            self._asked, self._digest = round_, digest_of(round_)
        digest = self._digest
        weights = Weights(
            round_.positive_part,
            round_.negative_part,
            round_.positive_weight,
            round_.negative_weight,
            round_.is_part,
        )

        def question(level: int) -> Question:
            return Question(
                plain,
                round_.state.n_rounds,
                tuple(self._added),
                digest,
                probes,
                guess,
                ceiling,
                copy.deepcopy(round_.state) if level >= WITH_STATE else None,
                weights if level >= WITH_STATE or (round_.is_part and is_new) else None,
            )

        answers = self._answers_at_once(question(PLAIN))
        levels = [PLAIN if part.is_built else WITH_FEATURES for part in self._parts]
        waiting = {
            i: self._send(i, question(levels[i]), levels[i])
            for i in range(len(self._parts))
            if i not in answers
        }
        while waiting:
            for i, part in enumerate(self._parts):
                if i not in waiting or not self._cluster.is_done(waiting[i]):
                    continue
                if self._cluster.died_of(waiting[i]):
                    part.worker = ""
                    continue
                answer = self._cluster.result(waiting.pop(i))
                if answer is None:
                    levels[i] += 1
                    waiting[i] = self._send(i, question(levels[i]), levels[i])
                else:
                    part.is_built, answers[i] = True, answer
            for i in self._lost(waiting):
                levels[i] = WITH_FEATURES
                waiting[i] = self._send(i, question(levels[i]), levels[i])
        self._is_sent = True
        return [answers[i] for i in range(len(self._parts))]

    def _answers_at_once(self, question: Question) -> dict[int, Answer]:
        """Return the answers of the shards that are there and up to date, by their places."""
        keys = {self._key_of(i): i for i, part in enumerate(self._parts) if part.is_built}
        workers = {part.worker for part in self._parts if part.is_built}
        if not workers:
            return {}
        found = self._cluster.ask_at_once(sorted(workers), ask_shards, tuple(keys), question)
        return {
            keys[key]: answer
            for answered in found.values()
            for key, answer in answered.items()
            if answer is not None
        }

    def _send(self, i: int, question: Question, level: int) -> Any:
        """Send a request to the worker of a shard."""
        part = self._parts[i]
        spec = self._spec(part) if level == WITH_FEATURES else None
        return self._cluster.submit_to(
            part.worker, ask_shard, self._key_of(i), spec, part.n_threads, question
        )

    def _lost(self, waiting: Iterable[int]) -> list[int]:
        """Assign the shards of lost workers to others; return the indices of these shards."""
        if not waiting:
            return []
        alive = self._cluster.workers()
        lost = [i for i in waiting if self._parts[i].worker not in alive]
        for i in lost:
            n_parts = Counter(part.worker for part in self._parts)
            worker = min(alive, key=lambda one: (n_parts[one] / alive[one], one))
            self._parts[i] = _Part(self._parts[i].features, worker, alive[worker])
        return lost

    def _key_of(self, i: int) -> str:
        return f"{self._key}-{i}"

    def _spec(self, part: _Part) -> ShardSpec:
        return ShardSpec(
            part.features,
            len(self._samples.pool),
            self._samples.pool[part.features],
            self._windows,
            self._samples.n_positives,
            self._few,
            self._tilted,
        )
