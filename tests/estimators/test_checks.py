"""scikit-learn's own checks."""

from __future__ import annotations

import pytest

pytest.importorskip(
    "sklearn",
    minversion="1.7",
    reason="the checks of scikit-learn 1.6 mix up classes where there are only two",
)

from sklearn.utils import estimator_checks

from vjcascade.estimators import CostBoostClassifier, HaarTransformer

CLASSIFIERS = [
    CostBoostClassifier(),
    CostBoostClassifier("adaboost", n_estimators=10),
    CostBoostClassifier("adaboostdb", n_estimators=10),
    CostBoostClassifier("csb2", n_estimators=10),
    CostBoostClassifier("gentle", n_estimators=10),
    CostBoostClassifier("logit", n_estimators=10),
    CostBoostClassifier("cost-sensitive-real", costs=2, n_estimators=10),
    CostBoostClassifier(max_depth=2, n_estimators=10),
    CostBoostClassifier("adaboost", decision="calibrated", n_estimators=10),
    CostBoostClassifier("adaboost", decision="minimum-cost", n_estimators=10),
]

WITHOUT_DATA = {
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
}
"""The checks that hand `HaarTransformer` no table of real numbers, which are no windows."""


@estimator_checks.parametrize_with_checks(CLASSIFIERS)
def test_classifier(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", sorted(WITHOUT_DATA))
def test_transformer(name):
    getattr(estimator_checks, name)("HaarTransformer", HaarTransformer())
