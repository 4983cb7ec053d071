"""What is odd in a model: found in its numbers alone, or in what it does to the windows of pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.features.families import family_of
from vjcascade.inspection.feature_bounds import imbalances, one_way_nodes
from vjcascade.inspection.stage_facts import StageFacts, feature_keys, leaf_ranges, nodes_of_stage

if TYPE_CHECKING:
    from vjcascade.evaluation.scan_costs import ScanCosts

NAMED = 5
"""Places that a sentence names; `Oddity.where` has all."""

IMBALANCE = 0.01
"""Features that follow brightness by a larger share than that are named: less is rounding of weights."""

FEW_TILTED = 0.05
"""Tilted features that are no larger a share are few for what they cost."""

SMALL_SIDE, LARGE_SIDE = 12, 64
"""Of windows in pixels: most cascades of the literature are 20 to 48."""

COSTLY_FIRST_STAGE = 20
"""Features; published cascades begin with two to ten."""

WEAK_SHARE = 0.1
"""A stage that rejects a smaller share of the windows that reach it is weak: training aims at about half."""

ENOUGH_WINDOWS = 1000
"""So many must reach a stage before its share is judged."""

OUT_OF_REACH = "no window reaches the threshold"


@dataclass(frozen=True)
class Oddity:
    """Something in a model that is seldom meant.

    Attributes
    ----------
    kind : str
        The same word in all models, such as "equal leaves".
    sentence : str
        What is odd, and what it means.
    where : tuple of tuple of int
        Stages, or stages with a weak classifier each, all counted from 1; features, counted from 0 as in files, for
        the kinds that are about features. Empty for what holds of the whole model.

    Examples
    --------
    >>> Oddity("unused features", "2 features are used by no stage").kind
    'unused features'
    """

    kind: str
    sentence: str
    where: tuple[tuple[int, ...], ...] = ()


def oddities_of(cascade: Cascade, facts: Sequence[StageFacts]) -> list[Oddity]:
    """Find what is odd in a model's numbers.

    Parameters
    ----------
    cascade : Cascade
        The model.
    facts : sequence of StageFacts
        Of its stages.

    Returns
    -------
    list of Oddity
        The gravest first; none of a kind twice.

    Examples
    --------
    >>> from vjcascade.types import Size
    >>> [oddity.kind for oddity in oddities_of(Cascade(Size(24, 24)), [])]
    ['no stages']
    """
    found = [_bounds_of_stages(facts), _weak_classifiers(cascade), _features(cascade), _sizes(cascade, facts)]
    return [oddity for kind in found for oddity in kind]


def oddities_in_scan(costs: ScanCosts) -> list[Oddity]:
    """Find what is odd in what stages do to the windows of pictures.

    Parameters
    ----------
    costs : ScanCosts
        Measured on pictures.

    Returns
    -------
    list of Oddity
        Stages that reject no window, or few.
    """
    is_judged = costs.n_reached >= ENOUGH_WINDOWS
    rejected = np.where(is_judged, costs.rejected, 1.0)
    idle, weak = np.flatnonzero(rejected == 0), np.flatnonzero((rejected > 0) & (rejected < WEAK_SHARE))
    found = []
    if len(idle):
        of_first = f"{costs.n_reached[idle[0]]:,} reached stage {idle[0] + 1}"
        words = f"Stages that rejected none of the windows that reached them: {_list(idle + 1)} ({of_first})."
        found.append(Oddity("idle stage", words, _places(idle + 1)))
    if len(weak):
        of_first = f"{rejected[weak[0]]:.1%} at stage {weak[0] + 1}"
        words = (
            f"Stages that rejected less than {WEAK_SHARE:.0%} of the windows that reached them: {_list(weak + 1)} "
            f"({of_first})."
        )
        found.append(Oddity("weak stage", words, _places(weak + 1)))
    return found


def _bounds_of_stages(facts: Sequence[StageFacts]) -> Iterator[Oddity]:
    if not facts:
        yield Oddity("no stages", "The model has no stages: it accepts every window with contrast.")
    closed = [one for one in facts if one.rejects_all]
    if closed:
        yield Oddity(
            "never passed",
            f"Stages that no window can pass, so the model finds nothing: {_list(one.stage for one in closed)} "
            f"(the highest sum of leaf values of stage {closed[0].stage} is {closed[0].highest:.4g}, its threshold "
            f"{closed[0].threshold:.4g}).",
            _places(one.stage for one in closed),
        )
    opened = [one for one in facts if one.passes_all]
    if opened:
        yield Oddity(
            "never missed",
            f"Stages that every window passes: {_list(one.stage for one in opened)} (the lowest sum of leaf values of "
            f"stage {opened[0].stage} is {opened[0].lowest:.4g}, its threshold {opened[0].threshold:.4g}).",
            _places(one.stage for one in opened),
        )


def _weak_classifiers(cascade: Cascade) -> Iterator[Oddity]:
    repeated = _repeated_stages(cascade)
    if repeated:
        yield Oddity(
            "repeated stage",
            f"Stages that are the same as an earlier one, and reject nothing more: {_list(one for one, _ in repeated)} "
            f"(stage {repeated[0][0]} is stage {repeated[0][1]} again).",
            _places(one for one, _ in repeated),
        )
    least, greatest = leaf_ranges(cascade)
    is_categorical = family_of(cascade.features).is_categorical
    test, value = (
        ("subset", "the subset holds no code, or all") if is_categorical else ("threshold", OUT_OF_REACH)
    )
    nodes = np.flatnonzero(one_way_nodes(cascade))
    for kind, what, trees in (
        (
            "equal leaves",
            "whose leaf values are equal, so that they decide nothing",
            np.flatnonzero(least == greatest),
        ),
        (
            f"{test} that never matters",
            f"with a node that sends every window the same way, because {value}",
            np.unique(np.searchsorted(cascade.tree_starts, nodes, side="right") - 1),
        ),
        (
            "repeated test",
            f"that repeat another one in their stage: the same feature with the same {test}",
            _repeated_in_stage(cascade, ["feature", test]),
        ),
        (
            "feature used twice",
            "that use the same feature as another one in their stage",
            _repeated_in_stage(cascade, ["feature"]),
        ),
    ):
        if len(trees):
            places = _of_trees(cascade, trees)
            yield Oddity(kind, f"Weak classifiers {what}: {len(trees):,} ({_named(places)}).", places)


def _features(cascade: Cascade) -> Iterator[Oddity]:
    n, used = len(cascade.features), cascade.nodes["feature"]
    _, first = np.unique(feature_keys(cascade), return_index=True)
    kinds = [
        ("unused feature", "Features that no weak classifier uses", np.setdiff1d(np.arange(n), used)),
        ("feature listed twice", "Features that are listed before", np.setdiff1d(np.arange(n), first)),
    ]
    if not family_of(cascade.features).is_categorical:
        leaning = np.flatnonzero(imbalances(cascade) > IMBALANCE)
        tilted = np.unique(used[cascade.features["tilted"][used]])
        few = tilted[: len(tilted) if len(tilted) <= FEW_TILTED * n else 0]
        what = "Features whose weights do not balance, so they respond to the brightness of a window"
        kinds.append(("follows brightness", what, leaning))
        what = "Few features are tilted, and for them every scan makes a second integral image"
        kinds.append(("few tilted features", what, few))
    for kind, what, found in kinds:
        if len(found):
            yield Oddity(kind, f"{what}: {len(found):,} of {n:,}.", _places(found))


def _sizes(cascade: Cascade, facts: Sequence[StageFacts]) -> Iterator[Oddity]:
    fewer = [after.stage for before, after in pairwise(facts) if after.n_weak < before.n_weak]
    if fewer:
        what = "Stages with fewer weak classifiers than the one before; later stages usually need more"
        yield Oddity("fewer weak classifiers", f"{what}: {_list(fewer)}.", _places(fewer))
    if facts and facts[0].mean_features > COSTLY_FIRST_STAGE:
        n = f"{facts[0].mean_features:.4g}"
        what = f"Every window takes the {n} features of stage 1; fast cascades begin with two to ten."
        yield Oddity("costly first stage", what, ((1,),))
    window = cascade.window
    if min(window) < SMALL_SIDE:
        yield Oddity("small window", f"A window of {window} pixels shows little of an object.")
    if max(window) > LARGE_SIDE:
        yield Oddity("large window", f"With a window of {window} pixels, no smaller object can be found.")


def _repeated_stages(cascade: Cascade) -> list[tuple[int, int]]:
    """Return stages that are there before, each with the first one that is the same, counted from 1."""
    known: dict[bytes, int] = {}
    repeated = []
    for s in range(cascade.n_stages):
        nodes = nodes_of_stage(cascade, s)
        begin, end = cascade.stage_starts[s : s + 2].tolist()
        of_stage = cascade.nodes[nodes].copy()
        features = cascade.features[of_stage["feature"]]
        of_stage["feature"] = 0  # where they stand in the list does not matter
        parts = (
            features,
            of_stage,
            np.diff(cascade.tree_starts[begin : end + 1]),
            cascade.leaves[nodes.start + begin : nodes.stop + end],
            cascade.stage_thresholds[s : s + 1],
        )
        before = known.setdefault(b"".join(part.tobytes() for part in parts), s + 1)
        if before <= s:
            repeated.append((s + 1, before))
    return repeated


def _repeated_in_stage(cascade: Cascade, fields: list[str]) -> NDArray[np.intp]:
    """Return weak classifiers with a node like one of an earlier weak classifier of the stage in some fields."""
    _, kinds = np.unique(feature_keys(cascade), return_inverse=True)
    nodes = cascade.nodes[fields].copy()
    nodes["feature"] = kinds[nodes["feature"]]
    trees = np.repeat(np.arange(cascade.n_trees), np.diff(cascade.tree_starts))
    stages = np.repeat(np.arange(cascade.n_stages), cascade.stage_sizes)[trees]
    first: dict[tuple[int, bytes], int] = {}
    found = [
        tree
        for node, tree, stage in zip(nodes, trees.tolist(), stages.tolist(), strict=True)
        if first.setdefault((stage, _as_bytes(node, fields)), tree) != tree
    ]
    return np.unique(np.array(found, np.intp))


def _as_bytes(node: np.void, fields: Iterable[str]) -> bytes:
    return b"".join(node[name].tobytes() for name in fields)


def _of_trees(cascade: Cascade, trees: NDArray[np.intp]) -> tuple[tuple[int, ...], ...]:
    """Return stage and weak classifier in it, both counted from 1, of trees counted from 0 in the whole cascade."""
    stages = np.searchsorted(cascade.stage_starts, trees, side="right") - 1
    in_stage = trees - cascade.stage_starts[stages]
    return tuple(zip((stages + 1).tolist(), (in_stage + 1).tolist(), strict=True))


def _places(numbers: Iterable[int] | NDArray[np.intp]) -> tuple[tuple[int, ...], ...]:
    return tuple((int(number),) for number in numbers)


def _list(numbers: Iterable[int] | NDArray[np.intp]) -> str:
    names = [str(number) for number in numbers]
    return ", ".join(names[:NAMED]) + _more(len(names))


def _named(places: Sequence[tuple[int, ...]]) -> str:
    names = [f"number {weak} of stage {stage}" for stage, weak in places[:NAMED]]
    return ", ".join(names) + _more(len(places))


def _more(n: int) -> str:
    return f" and {n - NAMED:,} more" if n > NAMED else ""
