"""The estimators inside scikit-learn's tools."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the estimators need scikit-learn")

import joblib
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from vjcascade import CostBoostClassifier, HaarTransformer, Size
from vjcascade.boosters import Costs, make_booster
from vjcascade.features import enumerate_haar
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.learning.boosting import boost
from vjcascade.learning.samples import samples_of
from vjcascade.learning.search import StumpSearch


@pytest.fixture(scope="module")
def tumours():
    """Return a table that comes with scikit-learn; positive is malignant."""
    X, y = load_breast_cancer(return_X_y=True)
    return X[::2], (y == 0)[::2]


@pytest.fixture
def faces(rng):
    """Return noisy windows of which half have a bright left side."""
    y = np.arange(80) % 2
    bright = np.where(np.arange(8) < 4, 20, -20) * y[:, None, None]
    return np.clip(rng.normal(128 + bright, 40, (80, 8, 8)), 0, 255).astype(np.uint8), y


def cost_of(ratio):
    def cost(truth, called):
        return ratio * np.sum(truth & ~called) + np.sum(called & ~truth)

    return make_scorer(cost, greater_is_better=False)


def test_grid_search_finds_what_is_cheap(tumours):
    """Where misses cost 20, costs near 20 win; the search goes over boosters, too."""
    model = CostBoostClassifier(n_estimators=15, decision="calibrated", random_state=0)
    grid = {"costs": [0.05, "1:1", (20, 1)], "booster": ["adaboost", "cost-generalized"]}
    search = GridSearchCV(model, grid, scoring=cost_of(20), cv=StratifiedKFold(4)).fit(*tumours)
    assert search.best_params_["costs"] == (20, 1)
    assert search.best_score_ > search.cv_results_["mean_test_score"][:2].max()
    assert (search.predict(tumours[0]) & tumours[1]).sum() > 0.95 * tumours[1].sum()


def test_cross_validation(tumours):
    assert cross_val_score(CostBoostClassifier(n_estimators=20), *tumours, cv=4).min() > 0.9


def test_weights_and_costs_are_routed(tumours):
    X, y = tumours
    costs = np.where(y, 40.0, 1.0)
    misses = []
    for given in (np.ones(len(y)), costs):
        with config_context(enable_metadata_routing=True):
            model = CostBoostClassifier(n_estimators=10, decision="calibrated", random_state=0)
            model = model.set_fit_request(sample_costs=True)
            called = cross_val_predict(model, X, y, cv=4, params={"sample_costs": given})
        misses.append((y & ~called).sum())
    assert misses[0] > 2 * misses[1]


def test_calibration(rng):
    """Probabilities with costs in them are far off; calibration brings them home."""
    X = rng.normal(size=(600, 3))
    y = X[:, 0] + rng.normal(size=600) > 1
    skewed = CostBoostClassifier(costs=10, n_estimators=20)
    p = cross_val_predict(CalibratedClassifierCV(skewed, cv=3), X, y, cv=3, method="predict_proba")[:, 1]
    raw = cross_val_predict(skewed, X, y, cv=3, method="predict_proba")[:, 1]
    assert abs(p.mean() - y.mean()) < 0.03
    assert raw.mean() > y.mean() + 0.2
    assert np.mean((p - y) ** 2) < 0.7 * np.mean((raw - y) ** 2)


def test_windows_in_a_pipeline(faces):
    windows, y = faces
    pipeline = make_pipeline(HaarTransformer(), CostBoostClassifier(n_estimators=5))
    assert cross_val_score(pipeline, windows, y, cv=4).mean() > 0.9
    flat = make_pipeline(
        FunctionTransformer(lambda w: w.reshape(len(w), -1)), HaarTransformer("8x8"), clone(pipeline[-1])
    )
    assert np.array_equal(
        pipeline.fit(windows, y).decision_function(windows), flat.fit(windows, y).decision_function(windows)
    )
    used = np.flatnonzero(pipeline[-1].feature_importances_)
    assert 1 <= len(used) <= 5
    fewer = make_pipeline(HaarTransformer(features=used), clone(pipeline[-1])).fit(windows, y)
    assert np.array_equal(fewer.predict(windows), pipeline.predict(windows))


@pytest.mark.parametrize(
    ("booster", "costs", "depth"),
    [("adaboost", 1, 1), ("cost-generalized", 3, 2), ("adaboostdb", 2, 1), ("gentle", 1, 2)],
)
def test_same_as_training_a_stage(rng, faces, booster, costs, depth):
    """A pool that is searched exactly: the same trees and leaves as boosting on windows, samples in any order."""
    windows, y = faces
    indices = np.sort(rng.permutation(len(enumerate_haar(Size(8, 8))))[:8])
    order = np.argsort(-y, kind="stable")
    samples = samples_of(
        enumerate_haar(Size(8, 8))[indices], WindowIntegrals.of(windows[order]), int(y.sum()), 1
    )
    staged = boost(StumpSearch(samples), make_booster(booster, Costs(costs, 1)), max_depth=depth)
    model = CostBoostClassifier(booster, costs, n_estimators=10, max_depth=depth)
    ours = make_pipeline(HaarTransformer(features=indices), model).fit(windows, y)[-1].weak_classifiers_
    for one, other in zip(ours, islice(staged, 10), strict=True):
        assert [stump.feature for stump in one.tree.stumps] == [stump.feature for stump in other.tree.stumps]
        np.testing.assert_allclose(
            [stump.threshold for stump in one.tree.stumps],
            [stump.threshold for stump in other.tree.stumps],
            rtol=1e-6,
        )
        np.testing.assert_allclose(one.leaves, other.leaves, atol=1e-9)


def test_saved_and_loaded(tumours, faces, tmp_path):
    models = [
        (
            CostBoostClassifier("gentle", n_estimators=5, max_depth=2, decision="calibrated", random_state=0),
            *tumours,
        ),
        (make_pipeline(HaarTransformer(), CostBoostClassifier(n_estimators=5)), *faces),
    ]
    for model, X, y in models:
        joblib.dump(model.fit(X, y), tmp_path / "model")
        again = joblib.load(tmp_path / "model")
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
        assert np.array_equal(clone(again).fit(X, y).predict_proba(X), model.predict_proba(X))
