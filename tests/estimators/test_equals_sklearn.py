"""Our AdaBoost chooses the cuts that scikit-learn's chooses, up to ties, on real tables.

scikit-learn's classification trees split by impurity, not by weighted error, so `AdaBoostClassifier` with
`DecisionTreeClassifier(max_depth=1)` is another algorithm: a stump that AdaBoost's proof asks for is the regression
stump of least absolute error on -1 and +1, whose leaves say the heavier class. By impurity, our Gentle AdaBoost
chooses. Both comparisons go in lockstep: each round, we choose for the sample weights that scikit-learn has.
"""

from __future__ import annotations

import csv

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="compares with scikit-learn")

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from vjcascade.boosters import BoostingState, Costs, Round, make_booster
from vjcascade.estimators import CostBoostClassifier
from vjcascade.learning.samples import TableSamples
from vjcascade.learning.search import StumpSearch
from vjcascade.learning.trees import best_stump

WITHOUT_TIES = ("banknote", "german_credit", "heart", "liver", "musk1", "oil_spill", "pima", "wdbc")
WITH_TIES = ("ionosphere", "sonar")
N_ROUNDS = 20


class LeastErrorStump(ClassifierMixin, BaseEstimator):
    """scikit-learn's stump of least weighted error."""

    def fit(self, X, y, sample_weight):
        self.classes_ = np.array([0, 1])
        stump = DecisionTreeRegressor(criterion="absolute_error", max_depth=1, random_state=0)
        self.tree_ = stump.fit(X, 2.0 * y - 1, sample_weight).tree_
        return self

    def predict(self, X):
        return (self.tree_.predict(X.astype(np.float32))[:, 0] > 0).astype(int)


@pytest.fixture(params=WITHOUT_TIES + WITH_TIES)
def table(request, shared_data):
    """Return numbers that float32 holds, as scikit-learn's trees cast them, and 0 or 1; the positives first."""
    with (shared_data("uci") / f"{request.param}.csv").open() as file:
        header, *rows = csv.reader(file)
    assert header[-2:] == ["label", "y"]
    numbers = np.array([[float(cell) for cell in (*row[:-2], row[-1])] for row in rows])
    numbers = numbers[np.argsort(-numbers[:, -1], kind="stable")]
    return numbers[:, :-1].astype(np.float32).astype(np.float64), numbers[:, -1].astype(int)


def rounds_of(model, X, y):
    """Yield scikit-learn's sample weights, tree and outputs, round by round."""
    weights = np.full(len(y), 1 / len(y))
    for stump, weight in zip(model.estimators_, model.estimator_weights_, strict=True):
        called = stump.predict(X)
        yield weights, stump.tree_, called
        weights = weights * np.exp(weight * (called != y))
        weights /= weights.sum()


def same_cut(stump, tree, X):
    """Tell whether a stump and a tree's root cut the samples into the same parts by the same column."""
    feature, threshold = tree.feature[0], tree.threshold[0]
    return stump.feature == feature and np.array_equal(
        X[:, feature] < stump.threshold, X[:, feature] <= threshold
    )


def test_same_cuts_by_weighted_error(table):
    X, y = table
    model = AdaBoostClassifier(LeastErrorStump(), n_estimators=N_ROUNDS).fit(X, y)
    search, adaboost = StumpSearch(TableSamples(X, int(y.sum()), 1)), make_booster("adaboost", Costs())
    same = []
    for weights, tree, called in rounds_of(model, X, y):
        stump = best_stump(search, adaboost, Round.of_weights(weights, BoostingState.start(search.labels)))
        same.append(same_cut(stump, tree, X))
        assert same[-1] or stump.error_p + stump.error_n == pytest.approx(
            weights[called != y].sum(), abs=1e-9
        )
    assert len(same) == N_ROUNDS
    assert np.mean(same) > 0.8  # ties are rare


@pytest.mark.parametrize("table", WITHOUT_TIES, indirect=True)
def test_same_ensembles(table):
    """Each on its own; scikit-learn's weights are twice ours."""
    X, y = table
    theirs = AdaBoostClassifier(LeastErrorStump(), n_estimators=N_ROUNDS).fit(X, y)
    ours = CostBoostClassifier("adaboost", n_estimators=N_ROUNDS).fit(X, y)
    for weak, stump in zip(ours.weak_classifiers_, theirs.estimators_, strict=True):
        assert same_cut(weak.tree.stumps[0], stump.tree_, X)
    np.testing.assert_allclose(2 * ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-7)


def test_same_cuts_by_impurity(table):
    X, y = table
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    model = AdaBoostClassifier(stump, n_estimators=N_ROUNDS, random_state=0).fit(X, y)
    search, gentle = StumpSearch(TableSamples(X, int(y.sum()), 1)), make_booster("gentle", Costs())
    adaboost, same = make_booster("adaboost", Costs()), []
    for weights, tree, called in rounds_of(model, X, y):
        round_ = Round.of_weights(weights, BoostingState.start(search.labels))
        ours = best_stump(search, gentle, round_)
        same.append(same_cut(ours, tree, X))
        assert same[-1] or impurity_of(ours.feature, ours.threshold, X, round_) == pytest.approx(
            impurity_of(tree.feature[0], np.nextafter(tree.threshold[0], np.inf), X, round_), abs=1e-9
        )
        least = best_stump(search, adaboost, round_)
        assert least.error_p + least.error_n <= weights[called != y].sum() + 1e-12
    assert np.mean(same) > 0.8


def impurity_of(feature, threshold, X, round_):
    """Return the Gini impurity that a cut leaves, times the weight."""
    below = X[:, feature] < threshold
    sides = [(round_.positive_part[side].sum(), round_.negative_part[side].sum()) for side in (below, ~below)]
    return sum(2 * p * n / (p + n) for p, n in sides)
