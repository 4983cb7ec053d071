"""Designs of comparisons that were published."""

from __future__ import annotations

from vjcascade.boosters import Costs
from vjcascade.comparison.design import Design, Rule

NIKOLAOU_BOOSTERS = (
    "adaboost",
    "asymboost",
    "adacost",
    "csb0",
    "csb1",
    "csb2",
    "adac1",
    "adac2",
    "adac3",
    "cost-sensitive",
    "adaboostdb",
    "cost-generalized",
)
"""The discrete boosters: one weight, alpha, for each weak classifier."""

NIKOLAOU_RATIOS = (100, 30, 10, 3)
"""Cost ratios, about evenly spaced on a log scale. Each is taken either way round, and 1 as well."""


def nikolaou_design(n_seeds: int = 30, seed: int = 0) -> Design:
    """Return a design for tables that follows Nikolaou et al. 2016 [1]_.

    Theirs are the boosters (all that minimise a bound on the cost, or reweigh by heuristics, with one weight for each
    weak classifier), the rules, the measure (`vjcascade.evaluation.costs.normalised_expected_cost`), 100 rounds, a
    quarter of the rows to test on, half of the others to calibrate on where a rule does, and 30 repeats. As there,
    only costs vary; the classes stay as unbalanced as they are.

    Parameters
    ----------
    n_seeds : int
        How many times the rows are split anew.
    seed : int
        Of all random choices.

    Returns
    -------
    Design
        Its costs are `NIKOLAOU_RATIOS`; the shares of rows are those of every `TableProblem`.

    Notes
    -----
    What differs: weak classifiers are stumps here, and were logistic regressions of one feature there. There were 21
    cost ratios, here are 9. Only AdaBoost, Cost-Generalized AdaBoost and AsymBoost were calibrated there, here
    all are. AdaCost with its second beta is not among the boosters here. Equal rows stay together when rows are
    split, and classes keep their shares.

    References
    ----------
    .. [1] Nikolaou, Edakunni, Kull, Flach & Brown, "Cost-sensitive boosting algorithms: do we really need them?",
           Machine Learning 104, 2016. :doi:`10.1007/s10994-016-5572-x`

    Examples
    --------
    >>> design = nikolaou_design()
    >>> [str(costs) for costs in design.costs]
    ['1:100', '1:30', '1:10', '1:3', '1:1', '3:1', '10:1', '30:1', '100:1']
    >>> [entry.name for entry in design.entries if "1:10," in entry.name][:3]
    ['adaboost 1:10, natural', 'adaboost 1:10, adamec', 'adaboost 1:10, calibrated']
    """
    dear_positives = [Costs(ratio, 1.0) for ratio in reversed(NIKOLAOU_RATIOS)]
    dear_negatives = [Costs(1.0, ratio) for ratio in NIKOLAOU_RATIOS]
    return Design(
        boosters=NIKOLAOU_BOOSTERS,
        costs=(*dear_negatives, Costs(), *dear_positives),
        rules=(Rule.NATURAL, Rule.ADAMEC, Rule.CALIBRATED),
        n_rounds=100,
        n_seeds=n_seeds,
        seed=seed,
    )
