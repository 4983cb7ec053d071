from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

pytest.importorskip("sklearn", reason="the estimators need scikit-learn")

from sklearn.metrics import accuracy_score

from vjcascade import CostBoostClassifier
from vjcascade.boosters import Costs, booster_names, decision_threshold, make_booster
from vjcascade.boosters.adaboost import AdaBoost
from vjcascade.errors import SettingsError
from vjcascade.estimators.rows import TrainingRows

SOME = [
    {"booster": "adaboost"},
    {"booster": "adaboost", "decision": "calibrated", "random_state": 0},
    {"booster": "adaboost", "decision": "minimum-cost", "random_state": 0},
    {"booster": "adaboostdb", "costs": 3},
    {"booster": "cost-generalized", "costs": 3},
    {"booster": "cost-generalized", "costs": 3, "prior": "class"},
    {"booster": "gentle", "prior": "class"},
    {"booster": "csb2", "costs": 2},
    {"booster": "gentle", "max_depth": 2},
    {"booster": "cost-sensitive-logit", "costs": 3},
]
XOR = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])


def noisy_table(rng, n=300, n_features=6):
    X = rng.normal(size=(n, n_features))
    return X, (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n) > 1).astype(int)


@pytest.fixture
def table(rng):
    return noisy_table(rng)


def same(one, other, X):
    for method in ("decision_function", "predict_proba", "predict"):
        assert np.array_equal(getattr(one, method)(X), getattr(other, method)(X))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(SOME), st.booleans())
def test_a_weight_is_so_many_copies_in_any_order(seed, options, with_costs):
    rng = np.random.default_rng(seed)
    X, y = noisy_table(rng, 40, 3)
    y[:4] = 0, 0, 1, 1
    weights, costs = rng.integers(0, 4, 40), rng.lognormal(size=40) if with_costs else None
    weights[:4] = 1
    again = rng.permutation(np.repeat(np.arange(40), weights))
    one = CostBoostClassifier(**options, n_estimators=6).fit(X, y, weights, costs)
    other = CostBoostClassifier(**options, n_estimators=6).fit(
        X[again], y[again], sample_costs=costs[again] if with_costs else None
    )
    assert len(one.weak_classifiers_) == len(other.weak_classifiers_)
    if with_costs:  # sums of costs in another order
        np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-6, atol=1e-9)
    else:
        same(one, other, X)


@pytest.mark.parametrize("options", SOME)
def test_stages_lead_to_the_end(table, options):
    X, y = table
    model = CostBoostClassifier(**options, n_estimators=12).fit(X, y)
    margins, called = list(model.staged_decision_function(X)), list(model.staged_predict(X))
    assert len(margins) == len(called) == len(model.weak_classifiers_) == len(model.estimator_weights_) == 12
    assert np.array_equal(margins[-1], model.decision_function(X))
    assert np.array_equal(called[-1], model.predict(X))
    votes = [
        weak.leaves[weak.tree.leaves_of(lambda feature: X[:, feature])] for weak in model.weak_classifiers_
    ]
    np.testing.assert_allclose(np.cumsum(votes, axis=0) - model.threshold_, margins)


@pytest.mark.parametrize(
    "booster", ["adaboostdb", "cost-generalized", "cost-sensitive-real", "csb1", "adac2"]
)
def test_equal_example_costs_are_class_costs(table, booster):
    X, y = table
    by_class = CostBoostClassifier(booster, Costs(3, 2), n_estimators=8).fit(X, y)
    costs = np.where(y == 1, 3, 2)
    cost_of = dict(zip(X[:, 0], costs, strict=True))
    for source in (costs, lambda row: cost_of[row[0]]):
        by_example = CostBoostClassifier(booster, n_estimators=8).fit(X, y, sample_costs=source)
        assert by_example.costs_ == Costs(3, 2)
        same(by_class, by_example, X)


def test_example_costs_times_class_costs(table):
    X, y = table
    both = CostBoostClassifier(costs=3, n_estimators=8).fit(X, y, sample_costs=np.where(y == 1, 2, 5))
    assert both.costs_ == Costs(6, 5)


def test_example_costs_are_weights_where_each_sample_weighs_its_cost(table, rng):
    X, y = table
    costs = rng.lognormal(size=len(y))
    model = CostBoostClassifier(n_estimators=10)
    margins = [
        model.fit(X, y, **{name: costs}).decision_function(X) for name in ("sample_costs", "sample_weight")
    ]
    np.testing.assert_allclose(*margins, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("written", ["4:1", (4, 1), "gamma=0.8", [[0, 4], [1, 0]], {"ratio": 4}, Costs(8, 2)])
def test_costs_are_written_in_many_ways(table, written):
    X, y = table
    margins = [
        CostBoostClassifier(costs=costs, n_estimators=5).fit(X, y).decision_function(X)
        for costs in (4, written)
    ]
    np.testing.assert_allclose(*margins, rtol=1e-9)


@pytest.mark.parametrize("booster", booster_names())
@settings(deadline=None, max_examples=6)
@given(st.integers(0, 10**6), st.one_of(st.sampled_from([1e12, 1e-6]), st.floats(1e-9, 1e12)))
def test_the_unit_of_costs_changes_no_prediction(booster, seed, unit):
    X, y = noisy_table(np.random.default_rng(seed), 150)
    one, other = (CostBoostClassifier(booster, (3.3 * u, u), n_estimators=15).fit(X, y) for u in (1, unit))
    assert np.array_equal(one.predict(X), other.predict(X))
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-6, atol=1e-9)


def test_costs_turn_with_the_classes(table):
    """Names and their order are all that tells which class is positive."""
    X, y = table
    one = CostBoostClassifier(costs=4, n_estimators=7).fit(X, np.where(y == 1, "yes", "no"))
    other = CostBoostClassifier(costs=0.25, n_estimators=7).fit(X, np.where(y == 1, "a yes", "no"))
    assert (one.classes_.tolist(), other.classes_.tolist()) == (["no", "yes"], ["a yes", "no"])
    np.testing.assert_allclose(one.decision_function(X), -other.decision_function(X), atol=1e-9)
    assert set(one.predict(X)) == {"no", "yes"}


def test_threads_change_nothing(rng):
    X, y = rng.normal(size=(60, 5000)), np.arange(60) % 2
    same(*(CostBoostClassifier("adaboostdb", n_estimators=4, n_jobs=n).fit(X, y) for n in (1, 3)), X)


# what weighs the same before costs come in


def rare_positives(rng, n=8000):
    """One in 200, who differ by one standard deviation in three of ten columns."""
    y = rng.random(n) < 0.005
    X = rng.normal(size=(n, 10))
    X[y, :3] += 1
    return X, y


def test_samples_weigh_the_same_and_classes_on_demand(rng):
    """At costs of 1, the default booster is AdaBoost; a rare class is found at the price of many false alarms."""
    table, (fresh, truth) = rare_positives(rng), rare_positives(rng)
    by_default, adaboost = (CostBoostClassifier(**o).fit(*table) for o in ({}, {"booster": "adaboost"}))
    np.testing.assert_allclose(
        by_default.decision_function(fresh), adaboost.decision_function(fresh), atol=1e-9
    )
    misses, false_alarms = (
        [
            np.count_nonzero(wrong(CostBoostClassifier(prior=prior).fit(*table).predict(fresh)))
            for prior in ("sample", "class")
        ]
        for wrong in (lambda called: truth & ~called, lambda called: called & ~truth)
    )
    assert misses[1] < 0.75 * misses[0]
    assert false_alarms[0] < 30
    assert false_alarms[1] > 200


@pytest.mark.parametrize("booster", booster_names())
def test_classes_of_equal_weight_are_balanced_sample_weights(rng, booster):
    X, y = noisy_table(rng)
    weights = rng.integers(1, 4, len(y)).astype(float)
    balanced = weights / np.where(y == 1, weights[y == 1].sum(), weights[y == 0].sum())
    by_prior = CostBoostClassifier(booster, 2, prior="class", n_estimators=8).fit(X, y, weights)
    by_weight = CostBoostClassifier(booster, 2, n_estimators=8).fit(X, y, balanced)
    np.testing.assert_allclose(by_prior.decision_function(X), by_weight.decision_function(X), atol=1e-8)


@pytest.mark.parametrize(("booster", "own"), [("cost-generalized", "class"), ("adaboostdb", "balanced")])
def test_the_boosters_own_prior_goes_before(table, booster, own):
    X, y = table
    one = CostBoostClassifier(booster, 2, booster_options={"prior": own}, n_estimators=8).fit(X, y)
    same(one, CostBoostClassifier(booster, 2, prior="class", n_estimators=8).fit(X, y), X)


# rows that do not count


@pytest.mark.parametrize("booster", booster_names())
def test_a_cost_of_zero_is_a_weight_of_zero_is_no_row(table, rng, booster):
    X, y = table
    costs, counts = rng.integers(1, 5, len(y)).astype(float), rng.random(len(y)) < 0.7
    model = CostBoostClassifier(booster, n_estimators=8)
    margins = [
        model.fit(X, y, sample_costs=costs * counts).decision_function(X),
        model.fit(X, y, counts.astype(float), costs).decision_function(X),
        model.fit(X[counts], y[counts], sample_costs=costs[counts]).decision_function(X),
    ]
    assert np.array_equal(margins[0], margins[2])
    assert np.array_equal(margins[1], margins[2])


# decisions


@pytest.mark.parametrize("booster", booster_names())
@pytest.mark.parametrize("rule", ["theory", "adamec"])
def test_costs_are_not_counted_twice(table, booster, rule):
    model = CostBoostClassifier(booster, 10, decision=rule, n_estimators=3)
    if make_booster(booster, 10).uses_costs:
        with pytest.raises(
            SettingsError, match=f"the decision rule {rule} would count the costs twice: '{booster}'"
        ):
            model.fit(*table)
    elif rule == "theory":
        assert model.fit(*table).threshold_ == pytest.approx(-np.log(10) / 2)


def test_rules_without_held_out_samples(table):
    X, y = table
    models = {
        rule: CostBoostClassifier("adaboost", 4, n_estimators=9, decision=rule).fit(X, y)
        for rule in ("natural", "theory", "adamec")
    }
    total = models["adamec"].estimator_weights_.sum()
    assert [models[rule].threshold_ for rule in models] == pytest.approx([0, -np.log(4) / 2, -0.6 * total])
    scores = [model.decision_function(X) + model.threshold_ for model in models.values()]
    np.testing.assert_allclose(scores[1:], [scores[0]] * 2)
    for model in models.values():
        p = model.predict_proba(X)
        np.testing.assert_allclose(p[:, 1], 1 / (1 + np.exp(-2 * model.decision_function(X))))
        np.testing.assert_allclose(p.sum(axis=1), 1)


@pytest.mark.parametrize("rule", ["calibrated", "minimum-cost"])
def test_rules_with_held_out_samples(rng, rule):
    """AdaBoost knows no costs: the halves and the score are the same, and only the threshold follows the costs."""
    X, y = noisy_table(rng, 600)
    models = [
        CostBoostClassifier("adaboost", costs, n_estimators=9, decision=rule, random_state=5).fit(X, y)
        for costs in (1, 4, 16)
    ]
    thresholds = [model.threshold_ for model in models]
    assert thresholds == sorted(thresholds, reverse=True)
    assert len(set(thresholds)) == 3
    fresh, truth = noisy_table(rng, 2000)
    called = np.array([model.predict(fresh) for model in models])
    for ratio, best in ((1, 0), (4, 1), (16, 2)):
        cost = ratio * (called < truth).sum(axis=1) + (called > truth).sum(axis=1)
        assert cost.argmin() == best
    scores = [model.decision_function(fresh) + model.threshold_ for model in models]
    np.testing.assert_allclose(scores[1:], [scores[0]] * 2)


def test_calibrated_probabilities_know_no_costs(rng):
    X, y = noisy_table(rng, 600)
    plain, costly = (
        CostBoostClassifier("adaboost", costs, n_estimators=9, decision="calibrated", random_state=5).fit(
            X, y
        )
        for costs in (1, 4)
    )
    fresh, truth = noisy_table(rng, 4000)
    p = costly.predict_proba(fresh)[:, 1]
    assert np.array_equal(p, plain.predict_proba(fresh)[:, 1])
    assert np.array_equal(costly.predict(fresh) == 1, p > 1 / 5)
    assert np.array_equal(plain.predict(fresh) == 1, p > 1 / 2)
    for low in (0, 0.2, 0.4, 0.6, 0.8):
        inside = (p >= low) & (p < low + 0.2)
        assert truth[inside].mean() == pytest.approx(p[inside].mean(), abs=0.15)


def test_random_state_draws_the_halves(table):
    X, y = table
    fits = [
        CostBoostClassifier(decision="calibrated", n_estimators=3, random_state=seed).fit(X, y)
        for seed in (1, 1, 2, np.random.RandomState(1))
    ]
    same(fits[0], fits[1], X)
    same(fits[0], fits[3], X)
    assert not np.array_equal(fits[0].decision_function(X), fits[2].decision_function(X))


@pytest.mark.parametrize("rule", ["calibrated", "minimum-cost"])
def test_the_threshold_is_that_of_the_held_out_rows_and_their_weights(table, rule):
    X, y = table
    weights = np.where(y == 1, 7.0, 2.0)
    model = CostBoostClassifier("adaboost", 3, n_estimators=9, decision=rule, random_state=5).fit(
        X, y, weights
    )
    seed = np.random.RandomState(5).randint(np.iinfo(np.int32).max)
    rows = TrainingRows.join(X, np.where(y == 1, 1, -1).astype(np.int8), weights)
    _, held_out = rows.halves(np.random.default_rng(seed))
    scores = model.decision_function(held_out.table) + model.threshold_
    known = {"scores": scores, "labels": held_out.labels, "sample_weight": held_out.weights}
    expected = decision_threshold(rule, costs=Costs(3, 1), total_alpha=1, **known)
    assert model.threshold_ == pytest.approx(expected)
    if rule == "calibrated":
        assert model.link_.threshold(1 / 4) == pytest.approx(expected)


def test_calibrated_without_information():
    """The probability is the share of the positives."""
    X, y = np.ones((20, 1)), np.arange(20) % 10 < 3
    model = CostBoostClassifier("adaboost", decision="calibrated", random_state=0)
    np.testing.assert_allclose(model.fit(X, y).predict_proba(X)[:, 1], 0.3)


@pytest.mark.parametrize("rule", ["calibrated", "minimum-cost"])
def test_a_score_of_no_use_gives_a_finite_threshold(rng, rule):
    """All samples are called what is cheaper, and metrics of ranking still work."""
    X, y = rng.normal(size=(400, 3)), np.arange(400) % 2
    model = CostBoostClassifier("adaboost", 1e6, n_estimators=30, decision=rule, random_state=0).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert (model.predict(X) == 1).all()


# hard tables


def test_a_perfect_stump_is_enough():
    model = CostBoostClassifier().fit([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]], [0, 0, 1])
    assert [weak.tree.stumps[0].threshold for weak in model.weak_classifiers_] == [3.0]
    assert model.predict([[2.9, 0], [3.0, 0]]).tolist() == [0, 1]


def test_neighbouring_values_are_told_apart():
    low, high = 0.1, np.nextafter(0.1, 1)
    X = np.array([[low], [high]] * 5)
    assert CostBoostClassifier().fit(X, [0, 1] * 5).score(X, [0, 1] * 5) == 1


def test_one_sample_of_a_class(rng):
    X, y = rng.normal(size=(30, 2)), np.arange(30) == 7
    X[7] += 9
    for decision in ("natural", "calibrated"):
        assert CostBoostClassifier(decision=decision, random_state=0).fit(X, y).score(X, y) == 1


@pytest.mark.parametrize(("costs", "called"), [(1, 0), (1.4, 0), (1.6, 1)])
@pytest.mark.parametrize("values", [[7.0], [7.0, 8.0]])
def test_without_information_all_are_called_what_is_cheaper(costs, called, values):
    """Two in five are positive whatever the value: a miss must cost 1.5 times a false alarm to matter more."""
    X, y = np.repeat(values, 5)[:, None], np.array([1, 0, 1, 0, 0] * len(values))
    model = CostBoostClassifier(costs=costs).fit(X, y)
    assert (model.predict(X) == called).all()
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 2 * costs / (2 * costs + 3))
    assert model.feature_importances_.tolist() == [0]


@pytest.mark.parametrize(("costs", "called"), [(1.5, 1), (1, 0), (0.5, 0)])
def test_no_weak_classifier_helps(costs, called):
    """No stump on XOR is better than a coin; plain AdaBoost does not see the costs either."""
    model = CostBoostClassifier("adaboost", costs).fit(XOR, [0, 0, 1, 1])
    assert model.weak_classifiers_ == []
    assert list(model.staged_predict(XOR)) == []
    assert model.predict(XOR).tolist() == [called] * 4
    np.testing.assert_allclose(model.predict_proba(XOR)[:, 1], costs / (1 + costs))


def test_trees_see_what_stumps_do_not(rng):
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0.3)
    accuracy = [
        accuracy_score(
            y, CostBoostClassifier("adaboost", n_estimators=20, max_depth=depth).fit(X, y).predict(X)
        )
        for depth in (1, 2)
    ]
    assert accuracy[0] < 0.8
    assert accuracy[1] > 0.95


def test_importances(table):
    X, y = table
    X[:, 4] = 3
    model = CostBoostClassifier("adaboost", n_estimators=10).fit(X, y)
    expected = np.zeros(6)
    for weak, alpha in zip(model.weak_classifiers_, model.estimator_weights_, strict=True):
        expected[weak.tree.stumps[0].feature] += alpha / model.estimator_weights_.sum()
    np.testing.assert_allclose(model.feature_importances_, expected)
    assert model.feature_importances_.argsort()[-2:].tolist() in ([0, 1], [1, 0])


def test_importances_of_trees_count_all_splits(rng):
    X = rng.normal(size=(300, 3))
    model = CostBoostClassifier("gentle", n_estimators=1, max_depth=2).fit(X, (X[:, 0] > 0) & (X[:, 1] > 0))
    (weak,) = model.weak_classifiers_
    assert {stump.feature for stump in weak.tree.stumps} == {0, 1}
    assert model.feature_importances_[:2].min() > 0.1
    assert model.feature_importances_[2] == 0


# what cannot be


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"booster": "adabost"}, "did you mean 'adaboost'"),
        ({"booster_options": {"prio": "class"}}, "has no option 'prio'; did you mean 'prior'"),
        ({"booster_options": {"costs": 4}}, "are not a mapping of the booster's own options"),
        ({"booster_options": ["class"]}, "are not a mapping of the booster's own options"),
        ({"costs": 0}, "cost ratio 0 is not a finite number above zero"),
        ({"costs": "four"}, "costs 'four' cannot be read"),
        ({"prior": "clas"}, "prior 'clas' is not one of class, sample"),
        ({"decision": "calibratd"}, "there is no decision rule 'calibratd'; did you mean 'calibrated'"),
        ({"booster": "real", "decision": "adamec"}, "those of 'real' are real numbers"),
        ({"n_estimators": 0}, "n_estimators 0 is not a whole number, at least 1"),
        ({"n_estimators": 2.5}, "n_estimators 2.5 is not"),
        ({"n_estimators": True}, "n_estimators True is not"),
        ({"max_depth": 5}, "max_depth 5 is not a whole number from 1 to 4"),
    ],
)
def test_settings_that_cannot_be(table, options, words):
    with pytest.raises(SettingsError, match=words):
        CostBoostClassifier(**options).fit(*table)


def test_how_columns_are_searched_is_told(table, monkeypatch):
    assert CostBoostClassifier(n_estimators=2).fit(*table).search_ == "sorted"
    monkeypatch.setattr("vjcascade.learning.table_search.physical_memory", lambda: 1e4)
    assert CostBoostClassifier(n_estimators=2).fit(*table).search_ == "binned"


def test_an_answer_of_nan_is_no_model(table, monkeypatch):
    """A plug-in's, say: it would have ended boosting after no round, in silence."""
    monkeypatch.setattr(AdaBoost, "alpha", lambda *_: np.nan)
    with pytest.raises(
        SettingsError, match=r"'adaboost' \(.*AdaBoost\): alpha returned nan, not a finite number"
    ):
        CostBoostClassifier("adaboost").fit(*table)


def test_three_classes_are_named():
    with pytest.raises(SettingsError, match="There are 3 classes, 'a', 'b', 'c'"):
        CostBoostClassifier().fit([[1], [2], [3]], ["a", "b", "c"])
    with pytest.raises(SettingsError, match=r"There are 12 classes, 0, 1, 2, .*9, \.\.\.: join"):
        CostBoostClassifier().fit(np.ones((48, 1)), np.arange(48) % 12)


def test_classes_that_weigh_nothing_do_not_count():
    X, y = [[1.0], [2.0], [3.0]], ["a", "b", "c"]
    assert CostBoostClassifier().fit(X, y, [1, 1, 0]).classes_.tolist() == ["a", "b"]
    with pytest.raises(SettingsError, match="only one class, 'a'"):
        CostBoostClassifier().fit(X, y, [1, 0, 0])
    with pytest.raises(SettingsError, match="no sample counts: all weights or costs are 0"):
        CostBoostClassifier().fit(X, y, sample_costs=[0, 0, 0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"sample_costs": [1, 2]}, "there are 2 example costs for 3 samples"),
        ({"sample_costs": [1, 2, -3]}, "the cost of sample 2 is -3"),
        ({"sample_weight": [1, 2, -3]}, "Negative values"),
        ({"sample_weight": [1, 2]}, "sample_weight.shape"),
    ],
)
def test_arguments_that_cannot_be(arguments, words):
    with pytest.raises(ValueError, match=words):
        CostBoostClassifier().fit([[1.0], [2.0], [3.0]], [0, 1, 1], **arguments)
