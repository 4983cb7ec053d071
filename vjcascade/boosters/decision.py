"""Decision rules: thresholds that turn an ensemble's score into a decision."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from vjcascade.boosters.calibration import calibrated_threshold
from vjcascade.boosters.costs import Costs
from vjcascade.boosters.thresholds import adamec_threshold, minimum_cost_threshold, theory_threshold
from vjcascade.checks import checked_choice
from vjcascade.errors import SettingsError


class DecisionRule(StrEnum):
    """How the threshold on a booster's score is found.

    `NATURAL` is 0, for boosters that use the costs in training. `THEORY`, 1/2 log(C_N / C_P), and `ADAMEC`, CSB's
    cost vote, are for plain AdaBoost: after a cost-sensitive booster, they would count the costs twice. `CALIBRATED`
    (Platt's sigmoid with Bayes' threshold) and `MINIMUM_COST` (the least cost) use samples that were not trained on,
    and are right for any booster. (For a hit rate, use `vjcascade.boosters.thresholds.hit_rate_threshold`.)

    Examples
    --------
    >>> DecisionRule("minimum-cost").name
    'MINIMUM_COST'
    """

    NATURAL = "natural"
    THEORY = "theory"
    ADAMEC = "adamec"
    CALIBRATED = "calibrated"
    MINIMUM_COST = "minimum-cost"

    @classmethod
    def parse(cls, rule: DecisionRule | str) -> DecisionRule:
        """Return a rule by its name.

        Raises
        ------
        SettingsError
            If there is no such rule; similar names are suggested.
        """
        return checked_choice("decision rule", rule, cls)

    @property
    def needs_samples(self) -> bool:
        """Whether the rule needs scores and labels of samples that were not trained on."""
        return self in {DecisionRule.CALIBRATED, DecisionRule.MINIMUM_COST}


def decision_threshold(
    rule: DecisionRule | str,
    *,
    costs: Costs,
    total_alpha: float = 0.0,
    scores: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the threshold of a rule: a sample is called positive if its score >= threshold.

    Parameters
    ----------
    rule : DecisionRule or str
        The rule.
    costs : Costs
        Misclassification costs.
    total_alpha : float
        Sum of the ensemble's alpha; only `ADAMEC` uses it.
    scores, labels : array_like of shape (n,), optional
        Of samples that were not trained on; labels are +1 or -1. The rules that do not need them ignore them.
    sample_weight : array_like of shape (n,), optional
        How many samples each of these stands for; 1 if not given.

    Returns
    -------
    float
        Infinite if it is best to call all samples one class.

    Raises
    ------
    SettingsError
        If there is no such rule, or scores and labels are missing.

    Examples
    --------
    >>> round(decision_threshold("theory", costs=Costs(4, 1), total_alpha=9.0), 4)
    -0.6931
    >>> held_out = {"scores": [-1.0, 0.0, 0.5, 2.0], "labels": [-1, 1, -1, 1]}
    >>> decision_threshold("minimum-cost", costs=Costs(4, 1), total_alpha=9.0, **held_out)
    -0.5
    """
    rule = DecisionRule.parse(rule)
    if rule == DecisionRule.NATURAL:
        return 0.0
    if rule == DecisionRule.THEORY:
        return theory_threshold(costs)
    if rule == DecisionRule.ADAMEC:
        return adamec_threshold(total_alpha, costs)
    if scores is None or labels is None:
        raise SettingsError(
            f"the decision rule {rule} needs scores and labels of samples that were not trained on"
        )
    if rule == DecisionRule.CALIBRATED:
        return calibrated_threshold(scores, labels, costs, sample_weight)
    scores, labels = np.asarray(scores, np.float64), np.asarray(labels, np.int8)
    return minimum_cost_threshold(scores, labels, costs, sample_weight)[0]
