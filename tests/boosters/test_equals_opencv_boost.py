"""AdaBoost, Real, Gentle and Logit AdaBoost against OpenCV 4.14's `cv2.ml.Boost`, on tables of numbers.

Real, Gentle and Logit AdaBoost are the same algorithms, cut for cut, as long as no two cuts tie. Two things differ:

* `cv2.ml.Boost` cuts by Gini impurity in its Discrete AdaBoost as well, not by weighted error (`opencv_traincascade`
  has the error). So only weights and votes can be compared exactly, and the quality of the whole.
* A tree's lower nodes part the training rows alike, but a threshold lies midway between rows of the node there, and
  between any training rows here. So rows of the training set get equal answers, others nearly.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from vjcascade.boosters import BoostingState, Costs, make_booster
from vjcascade.boosters.confidence import gini
from vjcascade.learning.boosting import boost
from vjcascade.learning.samples import TableSamples
from vjcascade.learning.search import StumpSearch

pytestmark = pytest.mark.oracle

CONFIDENT = ["gentle", "logit", "real"]
VOTE_SCALE = {"adaboost": 0.5, "logit": 0.5}  # OpenCV's votes are twice as large
N_ROUNDS = 20
N_SPLITS = 3
UCI_TABLES = ("ionosphere",)
N_ROWS = 1000
TOLERANCES = {
    "adaboost": (0.03, 0.03),
    "gentle": (0.005, 0.015),
    "logit": (0.005, 0.015),
    "real": (0.005, 0.015),
}
"""Of the share of wrong answers, for stumps and for trees."""


def made_up(rng, n=400, n_features=6):
    """Return a table without ties and its labels, 0 and 1: two clouds that overlap."""
    labels = (np.arange(n) % 5 < 2).astype(np.int32)
    shift = np.where(labels[:, None] == 1, 0.6, 0.0) * rng.random(n_features)
    spread = 1 + labels[:, None]
    return (rng.normal(size=(n, n_features)) * spread + shift).astype(np.float32), labels


def read_uci(path):
    """Return the first rows of a table and their labels, 0 and 1; the last two columns are labels."""
    rows = np.array([line.split(",") for line in path.read_text().splitlines()[1 : N_ROWS + 1]])
    return rows[:, :-2].astype(np.float32), rows[:, -1].astype(np.int32)


def halves(rng, table, labels):
    """Return a random half to train on, its labels, the other half, and its labels."""
    order = rng.permutation(len(labels))
    train, test = np.array_split(order, 2)
    return table[train], labels[train], table[test], labels[test]


def ask(oracle, names, max_depth, splits):
    """Return what OpenCV answers for (train, labels, test) in `splits`."""
    tables = {}
    for i, (train, labels, test) in enumerate(splits):
        tables |= {f"train_{i}": train, f"labels_{i}": labels, f"test_{i}": test}
    return oracle("boost", names=np.array(list(names)), weak_count=N_ROUNDS, max_depth=max_depth, **tables)


def our_rounds(name, table, labels, max_depth=1):
    """Return the weak classifiers of our booster."""
    rows = table[np.argsort(-labels, kind="stable")].astype(np.float64)
    search = StumpSearch(TableSamples(rows, n_positives=int(labels.sum()), n_threads=1))
    return list(islice(boost(search, make_booster(name, Costs()), max_depth=max_depth), N_ROUNDS))


def our_sums(weak_classifiers, table):
    columns = table.astype(np.float64).T
    return sum(weak.votes(lambda feature: columns[feature]) for weak in weak_classifiers)


@pytest.mark.parametrize("name", CONFIDENT)
def test_stumps_are_the_same(name, rng, oracle):
    table, labels = made_up(rng)
    test, _ = made_up(rng)
    answer = ask(oracle, [name], 1, [(table, labels, test)])
    roots, left, right = answer[f"{name}_0_nodes"].reshape(-1, 3, 5).transpose(1, 0, 2)
    scale = VOTE_SCALE.get(name, 1.0)
    weak = our_rounds(name, table, labels)
    stumps = [w.tree.stumps[0] for w in weak]
    np.testing.assert_array_equal([s.feature for s in stumps], roots[:, 2])
    np.testing.assert_allclose([s.threshold for s in stumps], roots[:, 3], rtol=0, atol=1e-6)
    leaves = scale * np.stack([left[:, 4], right[:, 4]], axis=1)
    np.testing.assert_allclose([w.leaves for w in weak], leaves, rtol=0, atol=1e-6)
    np.testing.assert_allclose(our_sums(weak, test), scale * answer[f"{name}_0"], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", CONFIDENT)
def test_trees_answer_the_same_on_training_rows(name, rng, oracle):
    table, labels = made_up(rng)
    expected = ask(oracle, [name], 2, [(table, labels, table)])[f"{name}_0"]
    ours = our_sums(our_rounds(name, table, labels, max_depth=2), table)
    np.testing.assert_allclose(ours, VOTE_SCALE.get(name, 1.0) * expected, rtol=0, atol=1e-4)


def test_discrete_weights_and_votes_are_the_same(rng, oracle):
    """Along OpenCV's own run: its cuts are those of least Gini impurity, and AdaBoost weighs them as it does."""
    table, labels = made_up(rng, n=200)
    nodes = ask(oracle, ["adaboost"], 1, [(table, labels, table)])["adaboost_0_nodes"].reshape(-1, 3, 5)
    booster, state = make_booster("adaboost", Costs()), BoostingState.start((2 * labels - 1).astype(np.int8))
    for root, left, right in nodes:
        round_ = booster.begin_round(state)
        goes_left = table[:, int(root[2])] <= np.float32(root[3])
        assert impurity(goes_left, round_) == pytest.approx(least_impurity(table, round_), abs=1e-6)
        outputs = np.sign(np.where(goes_left, left[4], right[4]))
        error_p, error_n = round_.positive_part[outputs < 0].sum(), round_.negative_part[outputs > 0].sum()
        alpha = booster.alpha(error_p, error_n, round_)
        assert alpha == pytest.approx(VOTE_SCALE["adaboost"] * abs(right[4]), abs=1e-9)
        state.add(outputs, alpha)


def impurity(goes_left, round_):
    sums_p, sums_n = round_.weight_sums(goes_left.astype(np.intp), 2)
    return gini(sums_p, sums_n).sum()


def least_impurity(table, round_):
    cuts = (column <= value for column in table.T for value in np.sort(column)[:-1])
    return min(impurity(goes_left, round_) for goes_left in cuts)


@pytest.mark.parametrize("max_depth", [1, 2])
@pytest.mark.parametrize(
    "source", ["made up", *(pytest.param(name, marks=pytest.mark.data) for name in UCI_TABLES)]
)
def test_quality_is_the_same(source, max_depth, rng, request, oracle):
    """The share of wrong answers on rows not trained on, averaged over splits."""
    if source == "made up":
        table, labels = made_up(rng, n=800)
    else:
        table, labels = read_uci(request.getfixturevalue("shared_data")("uci") / f"{source}.csv")
    splits = [halves(rng, table, labels) for _ in range(N_SPLITS)]
    expected = ask(oracle, TOLERANCES, max_depth, [split[:3] for split in splits])
    for name, tolerances in TOLERANCES.items():
        ours, theirs = [], []
        for i, (train, train_labels, test, test_labels) in enumerate(splits):
            sums = our_sums(our_rounds(name, train, train_labels, max_depth), test)
            ours.append(np.mean((sums > 0) != test_labels))
            theirs.append(np.mean((expected[f"{name}_{i}"] > 0) != test_labels))
        assert np.mean(theirs) < 0.35  # something was learnt
        assert np.mean(ours) == pytest.approx(np.mean(theirs), abs=tolerances[max_depth - 1]), name
