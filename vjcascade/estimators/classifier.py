"""The boosters as a classifier of scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any, Self, TypeAlias, get_args

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from vjcascade.boosters import (
    Booster,
    ConfidenceBooster,
    Costs,
    DecisionRule,
    decision_threshold,
    make_booster,
)
from vjcascade.boosters.base import checked_option
from vjcascade.boosters.calibration import PlattScaling
from vjcascade.boosters.cost_generalized import Prior
from vjcascade.boosters.costs import CostsLike, parse_costs
from vjcascade.boosters.example_costs import read_example_costs
from vjcascade.boosters.state import BoostingState, Floats
from vjcascade.checks import checked_whole
from vjcascade.errors import SettingsError
from vjcascade.estimators.rows import TrainingRows, weighted_example_costs
from vjcascade.learning.boosting import boost
from vjcascade.learning.table_search import TableSearch, search_of_table
from vjcascade.learning.trees import Tree
from vjcascade.training.settings import MAX_DEPTH

SampleCosts: TypeAlias = ArrayLike | Callable[[Floats], float]


class CostBoostClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A cost-sensitive booster on a table of numbers; two classes.

    The weak classifiers are stumps, or small trees, on single columns. In each round, every cut between different
    values of every column is tried. Only where the sorted columns would take more than a quarter of the machine's
    memory, 16 bytes a number, columns are searched over at most 256 bins, and the thresholds of the eight best ones
    are then set on their real values; `search_` says which. ``classes_[1]`` is the positive class.

    Parameters
    ----------
    booster : str
        One of `vjcascade.boosters.booster_names`.
    costs : CostsLike
        The price of a missed positive relative to a false alarm: a ratio, a pair, ``"gamma=0.8"``, a matrix, or
        whatever else `vjcascade.boosters.costs.parse_costs` takes.
    prior : {"sample", "class"}
        What weighs the same before costs come in, whatever the booster: each sample, as in scikit-learn, or each
        class, however rare it is. Where positives are one in 200, "class" weighs a missed one like 199 false alarms.
    n_estimators : int
        Rounds at most; boosting ends where no weak classifier helps any more, or one makes no mistake.
    max_depth : int
        Depth of the trees, 1 to 4; 1 for stumps. Nodes of at most ten distinct rows are not split, as in OpenCV.
    booster_options : mapping of str, optional
        The booster's own options, for example ``{"criterion": "exponential"}``. An option `prior` among them goes
        before the classifier's.
    decision : DecisionRule or str
        How the threshold on the score is found: natural, theory, adamec, calibrated or minimum-cost. The last two
        suit any booster; they boost on one half of the rows, each class halved at random, and set the threshold
        on the other, by samples, whatever the prior. Theory and adamec are for boosters that do not use the costs
        while they learn.
    n_jobs : int, optional
        Threads that search; -1 for all processors, None for one. The result does not depend on it.
    random_state : int, numpy.random.RandomState or None
        Draws the halves; nothing else is random.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The negative and the positive class.
    n_features_in_ : int
        Columns of the table.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if they have names.
    weak_classifiers_ : list of WeakClassifier
        One a round.
    estimator_weights_ : ndarray of shape (n_rounds,), dtype float64
        Their alpha; 1 for boosters with real-valued leaves.
    threshold_ : float
        What `decision_function` subtracts from the score; finite.
    costs_ : Costs
        The costs of the classes.
    search_ : str
        How columns were searched: ``"sorted"`` or ``"binned"``.
    link_ : PlattScaling
        Makes `predict_proba` of the score.
    feature_importances_ : ndarray of shape (n_features,), dtype float64
        Each column's share of the votes.

    Notes
    -----
    Rows that are equal count as one of the sum of their weights, so ``sample_weight=2`` is a row given twice, and
    the order of the rows does not matter. Rows with a weight or a cost of 0 do not count at all.

    With ``prior="sample"`` and the default booster, Cost-Generalized AdaBoost, each sample weighs its cost, which at
    equal costs is AdaBoost. Before version 0.2 the default was ``prior="class"``: of a rare class, that misses fewer
    and gives many more false alarms, also at costs of 1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import confusion_matrix
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> malignant = y == 0
    >>> for costs in (1, 20):
    ...     model = CostBoostClassifier(costs=costs, n_estimators=20, decision="calibrated", random_state=0)
    ...     called = model.fit(X[::2], malignant[::2]).predict(X[1::2])
    ...     hits, misses = confusion_matrix(malignant[1::2], called)[1, ::-1].tolist()
    ...     print(f"{misses} of {hits + misses} missed")
    11 of 110 missed
    1 of 110 missed
    """

    def __init__(  # noqa: PLR0913  scikit-learn wants them all here
        self,
        booster: str = "cost-generalized",
        costs: CostsLike = 1.0,
        *,
        prior: Prior = "sample",
        n_estimators: int = 100,
        max_depth: int = 1,
        booster_options: Mapping[str, Any] | None = None,
        decision: DecisionRule | str = "natural",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.booster = booster
        self.costs = costs
        self.prior = prior
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.booster_options = booster_options
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        sample_costs: SampleCosts | None = None,
    ) -> Self:
        """Boost.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite numbers.
        y : array_like of shape (n_samples,)
            Two classes, the second in sorted order being the positive one.
        sample_weight : array_like of shape (n_samples,), optional
            How many samples each row stands for; rows of weight 0 do not count.
        sample_costs : array_like of shape (n_samples,) or callable, optional
            What a mistake on each sample costs, or a function that tells it from the sample's row; multiplied by
            what `costs` says of the sample's class. Rows of cost 0 do not count.

        Returns
        -------
        CostBoostClassifier
            Itself, fitted.

        Raises
        ------
        SettingsError
            If there are not two classes, a setting is out of range, the costs cannot be read, or booster and
            decision would count them twice.
        """
        rows, self.costs_ = self._training_rows(X, y, sample_weight, sample_costs)
        booster, rule = self._booster_and_rule()
        boosted = held_out = rows
        if rule.needs_samples:
            seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
            boosted, held_out = rows.halves(np.random.default_rng(seed))
        n_threads = effective_n_jobs(self.n_jobs)
        search = search_of_table(boosted.table, boosted.n_positives, n_threads)
        self.search_ = "sorted" if isinstance(search, TableSearch) else "binned"
        weights = boosted.balanced_weights() if self._balances(booster) else boosted.weights
        state = BoostingState.start(boosted.labels, weights)
        rounds = boost(search, booster, state, max_depth=self.max_depth)
        self.weak_classifiers_ = list(islice(rounds, self.n_estimators))
        self.estimator_weights_ = np.array([weak.alpha for weak in self.weak_classifiers_])
        scores = self._score(held_out.table)
        self.threshold_ = self._threshold(rule, held_out, scores)
        self.link_ = self._link(rule, held_out, scores)
        return self

    def staged_decision_function(self, X: ArrayLike) -> Iterator[Floats]:
        """Yield what `decision_function` would return after each round, with the threshold of the last.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite numbers.

        Yields
        ------
        ndarray of shape (n_samples,), dtype float64
            Scores so far, minus the final threshold.
        """
        for score in self._staged_scores(self._checked(X)):
            yield score - self.threshold_

    def staged_predict(self, X: ArrayLike) -> Iterator[NDArray[Any]]:
        """Yield what `predict` would return after each round, with the threshold of the last.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite numbers.

        Yields
        ------
        ndarray of shape (n_samples,)
            Classes.
        """
        for margin in self.staged_decision_function(X):
            yield self.classes_[(margin > 0).astype(np.intp)]

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the score minus the threshold.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        ndarray of shape (n_samples,), dtype float64
            Above 0 where the positive class is predicted.
        """
        score = self._score(self._checked(X))
        return score - self.threshold_

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict classes: the positive one where `decision_function` is above 0.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        ndarray of shape (n_samples,)
            Items of `classes_`.
        """
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(np.intp)]

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probabilities of the two classes.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        ndarray of shape (n_samples, 2), dtype float64
            With ``decision="calibrated"``, Platt's, which know no costs: `predict` compares that of the positive
            class with C_N / (C_P + C_N). Else 1 / (1 + exp(-2 d)) for the positive class, d being the decision
            function: a boosting score estimates half the log odds. That is above 1/2 where `predict` says positive:
            the costs are in it as they are in the decision. And it is too sure of itself after many rounds.
        """
        score = self._score(self._checked(X))
        p = self.link_.probability(score)
        return np.column_stack([1 - p, p])

    @property
    def feature_importances_(self) -> Floats:
        """Each column's share of the votes.

        A split moves the vote by half the difference between its two sides; of stumps, that is alpha.
        """
        check_is_fitted(self)
        moved = np.zeros(self.n_features_in_)
        for weak in self.weak_classifiers_:
            for feature, move in _moves(weak.tree, weak.leaves):
                moved[feature] += move
        return moved / (moved.sum() or 1.0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _training_rows(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        sample_costs: SampleCosts | None,
    ) -> tuple[TrainingRows, Costs]:
        """Check what `fit` is given; set `classes_`; return the rows that count, and the costs of the classes."""
        table, targets = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(targets)
        weights = _check_sample_weight(sample_weight, table, dtype=np.float64, ensure_non_negative=True)
        given = None if sample_costs is None else read_example_costs(sample_costs, table)
        counts = weights > 0 if given is None else (weights > 0) & (given > 0)
        self.classes_, codes = np.unique(targets[counts], return_inverse=True)
        _check_binary(self.classes_)
        labels = np.where(codes == 1, 1, -1).astype(np.int8)
        costs, weights = parse_costs(self.costs), weights[counts]
        if given is not None:
            costs, weights = weighted_example_costs(given[counts] * costs.of(labels), labels, weights)
        return TrainingRows.join(table[counts], labels, weights), costs

    def _booster_and_rule(self) -> tuple[Booster, DecisionRule]:
        """Check the settings."""
        checked_whole("n_estimators", self.n_estimators, ge=1)
        checked_whole("max_depth", self.max_depth, ge=1, le=MAX_DEPTH)
        options = self.booster_options or {}
        if not isinstance(options, Mapping) or options.keys() & {"name", "costs", "n_rounds"}:
            raise SettingsError(f"booster_options {options!r} are not a mapping of the booster's own options")
        checked_option("prior", self.prior, get_args(Prior))
        booster = make_booster(self.booster, self.costs_, int(self.n_estimators), **options)
        if booster.priors:
            own = {"prior": booster.priors[self.prior], **options}
            booster = make_booster(self.booster, self.costs_, int(self.n_estimators), **own)
        rule = DecisionRule.parse(self.decision)
        if rule in {DecisionRule.THEORY, DecisionRule.ADAMEC} and booster.uses_costs:
            raise SettingsError(
                f"the decision rule {rule} would count the costs twice: {self.booster!r} uses them while it learns; "
                "choose natural, calibrated or minimum-cost, or a booster that does not use them, such as adaboost"
            )
        if rule == DecisionRule.ADAMEC and isinstance(booster, ConfidenceBooster):
            raise SettingsError(
                f"the decision rule adamec counts votes of -1 and +1; those of {self.booster!r} are real numbers: "
                "choose another rule, for example calibrated"
            )
        return booster, rule

    def _balances(self, booster: Booster) -> bool:
        """Tell whether weights must be balanced for a booster that cannot do it by an option of its own."""
        return self.prior == "class" and not booster.priors

    def _threshold(self, rule: DecisionRule, held_out: TrainingRows, scores: Floats) -> float:
        """Return the rule's threshold; without weak classifiers, one that calls all samples what is cheaper."""
        if not self.weak_classifiers_:
            by_class = self.prior == "class" and not rule.needs_samples
            sum_p, sum_n = (1.0, 1.0) if by_class else held_out.weight_sums()
            return 0.5 * math.log(self.costs_.negative * sum_n / (self.costs_.positive * sum_p))
        threshold = decision_threshold(
            rule,
            costs=self.costs_,
            total_alpha=float(self.estimator_weights_.sum()),
            scores=scores,
            labels=held_out.labels,
            sample_weight=held_out.weights,
        )
        reach = 1 + sum(float(np.abs(weak.leaves).max()) for weak in self.weak_classifiers_)
        return min(max(threshold, -reach), reach)  # no score is beyond it, and infinite ones spoil metrics

    def _link(self, rule: DecisionRule, held_out: TrainingRows, scores: Floats) -> PlattScaling:
        """Return what makes probabilities of the score."""
        if rule != DecisionRule.CALIBRATED:
            return PlattScaling(-2.0, 2 * self.threshold_)
        scaling = PlattScaling.fit(scores, held_out.labels, held_out.weights)
        if scaling.slope < 0:
            return scaling
        sum_p, sum_n = held_out.weight_sums()  # the score is of no use
        return PlattScaling(0.0, math.log(sum_n / sum_p))

    def _checked(self, X: ArrayLike) -> Floats:
        check_is_fitted(self)
        table: Floats = validate_data(self, X, dtype=np.float64, reset=False)
        return table

    def _score(self, table: Floats) -> Floats:
        score = np.zeros(len(table))
        for score in self._staged_scores(table):  # noqa: B007  the last one
            pass
        return score

    def _staged_scores(self, table: Floats) -> Iterator[Floats]:
        """Yield the score after each round, shape (n_samples,)."""

        @cache
        def values_of(feature: int) -> Floats:
            return np.ascontiguousarray(table[:, feature])

        score = np.zeros(len(table))
        for weak in self.weak_classifiers_:
            score = score + weak.leaves[weak.tree.leaves_of(values_of)]
            yield score


def _check_binary(classes: NDArray[Any]) -> None:
    names = ", ".join(map(repr, classes[:10].tolist())) + (", ..." if len(classes) > 10 else "")
    if len(classes) > 2:
        raise SettingsError(
            f"Only binary classification is supported. There are {len(classes)} classes, {names}: join them to two, "
            "or use sklearn.multiclass.OneVsRestClassifier"
        )
    if len(classes) == 0:
        raise SettingsError(
            "no sample counts: all weights or costs are 0; give at least one of each class more"
        )
    if len(classes) < 2:
        raise SettingsError(f"there is only one class, {names}, among the samples that count: two are needed")


def _moves(tree: Tree, leaves: Floats) -> Iterator[tuple[int, float]]:
    """Yield the feature of each split, and by how much it moves the vote; children come after their parents."""
    mean = np.zeros(len(tree.stumps))
    for node in reversed(range(len(tree.stumps))):
        left, right = (mean[child] if child > 0 else leaves[-child] for child in tree.children[node])
        mean[node] = (left + right) / 2
        yield tree.stumps[node].feature, abs(right - left) / 2
