"""Which booster suits which costs, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass

from vjcascade.boosters.costs import Costs, CostsLike, Scenario, parse_cost_matrix

EQUAL = 1e-9
"""Relative difference up to which costs are equal, as differences of a matrix's costs have rounding errors."""


@dataclass(frozen=True)
class Recommendation:
    """A booster for given costs.

    Attributes
    ----------
    booster : str
        Name of the booster.
    costs : Costs
        The costs to train with.
    scenario : Scenario
        The paper's name for such costs.
    reason : str
        The reason, and the paper's advice if it differs.

    Examples
    --------
    >>> recommend([[0, 4], [1, 0]]).booster
    'cost-generalized'
    """

    booster: str
    costs: Costs
    scenario: Scenario
    reason: str


def recommend(costs: CostsLike) -> Recommendation:
    """Recommend a booster for costs, with its reason.

    The decisions of least expected cost depend on a cost matrix only through its reduced costs (C_P, C_N) [2]_, so
    these should be used for training in every scenario: with AdaBoost if they are equal, otherwise with
    Cost-Generalized AdaBoost.

    Parameters
    ----------
    costs : CostsLike
        A `CostMatrix`, `Costs`, or anything else that `parse_costs` takes.

    Returns
    -------
    Recommendation
        Booster, costs, scenario and reason.

    Raises
    ------
    SettingsError
        As `parse_costs`.

    Notes
    -----
    The paper's mapping (its Appendix B and last table) [1]_ goes by the scenario. For correct classification asymmetry
    it favours the class whose right decisions cost more, which is against expected cost: a mistake on it adds less.
    In dual asymmetry, too, the class that it favours may be the one whose mistakes add less. For reversed dual
    asymmetry it advises Cost-Sensitive AdaBoost, because the class that dominates its loss changes with the margin;
    but no decision depends on that, and its asymmetry can reverse during training.

    References
    ----------
    .. [1] Landesa-Vazquez & Alba-Castro, "Revisiting AdaBoost for cost-sensitive classification. Part I:
           theoretical perspective", 2015, Appendix B. :arxiv:`1507.04125`
    .. [2] Elkan, "The foundations of cost-sensitive learning", IJCAI 2001, sec. 1.

    Examples
    --------
    >>> advice = recommend("matrix=0,4;4,2")
    >>> advice.booster, str(advice.costs), str(advice.scenario)
    ('cost-generalized', '2:4', 'correct classification asymmetry')
    """
    matrix = parse_cost_matrix(costs)
    reduced, scenario = matrix.reduced(), matrix.scenario
    positives_dear = (matrix.false_negative, matrix.true_positive) >= (
        matrix.false_positive,
        matrix.true_negative,
    )
    dear = "positives" if positives_dear else "negatives"  # the class in the role of the paper's positives
    favoured = _favoured(reduced)
    reason = f"{_what_counts(reduced, favoured)} {_what_the_paper_advises(scenario, dear, favoured)}"
    return Recommendation("cost-generalized" if favoured else "adaboost", reduced, scenario, reason)


def _favoured(costs: Costs) -> str:
    """Return the class whose mistakes cost more, or nothing."""
    if math.isclose(costs.ratio, 1, rel_tol=EQUAL):
        return ""
    return "positives" if costs.ratio > 1 else "negatives"


def _what_counts(costs: Costs, favoured: str) -> str:
    if not favoured:
        return (
            f"A mistake adds {costs.positive:g} to the cost of the right decision in both classes, so the fewest "
            "mistakes cost least, and AdaBoost minimises their number."
        )
    return (
        f"A mistake adds {costs.positive:g} to the cost of the right decision on a positive, {costs.negative:g} on a "
        f"negative; nothing else in the costs affects decisions, which should favour the {favoured}. "
        "Cost-Generalized AdaBoost puts these costs into its initial weights, and then works like AdaBoost."
    )


def _what_the_paper_advises(scenario: Scenario, dear: str, favoured: str) -> str:
    against = "" if dear == favoured else ", against these costs"
    if scenario is Scenario.CORRECT_CLASSIFICATION_ASYMMETRY:
        return (
            f"The paper advises Cost-Generalized AdaBoost in favour of the {dear}{against}: "
            "right decisions on them cost more, so a mistake adds less."
        )
    if scenario is Scenario.DUAL_ASYMMETRY:
        return (
            f"The paper advises Cost-Generalized AdaBoost in favour of the {dear}{against}, "
            "as right and wrong decisions on them cost more; but only the difference of the two counts."
        )
    if scenario is Scenario.REVERSED_DUAL_ASYMMETRY:
        return (
            "The paper advises Cost-Sensitive AdaBoost, because the class that dominates its loss changes with the "
            "margin; but no decision depends on that, and its asymmetry can reverse during training."
        )
    return "The paper advises the same."
