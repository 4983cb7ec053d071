"""Whether differences are more than chance: p-values, and their correction for how many there are."""

from __future__ import annotations

import numpy as np

from vjcascade.boosters.state import Floats
from vjcascade.errors import SettingsError

SIGNIFICANT = 0.05
"""A corrected p-value below is called evidence: so often is one claimed, of a whole family, where there is none."""


FAMILIES = 3
"""Kinds of claims that a comparison may make: of differences from the baseline, of contrasts, of ranks. Each gets its
share of `SIGNIFICANT`, so that whatever is claimed anywhere is wrong no more often."""

ROUNDING = 1e-9
"""Differences that differ by no more than so many times their size are equal; so small ones are none."""


def p_values(differences: Floats, test_share: float) -> Floats:
    r"""Return how often chance alone would make means of paired differences as large, by the corrected resampled t.

    It is the two-sided test that belongs to `vjcascade.comparison.statistics.interval`: a p-value is below 0.05 where
    that 95 % interval leaves 0 out. The exception are differences that are all equal and not 0, which no t
    can judge: theirs is that of the sign test, :math:`2^{1 - n}`, the most that n equal signs can say.

    Parameters
    ----------
    differences : ndarray of shape (n_comparisons, n_units), dtype float64
        One row for each comparison, a column for each split, draw or table; nan where there is none.
    test_share : float
        n_test / n_train for splits of the same samples, 0 for independent units.

    Returns
    -------
    ndarray of shape (n_comparisons,), dtype float64
        nan with fewer than two units; 1 where nothing differs.

    Examples
    --------
    >>> differences = np.array([[0.1, 0.2, 0.15], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.1, np.nan, np.nan]])
    >>> p_values(differences, test_share=0.0).round(4).tolist()
    [0.0351, 1.0, 0.25, nan]
    """
    from scipy.special import stdtr  # type: ignore[import-untyped]

    is_there = ~np.isnan(differences)
    n = is_there.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):  # too few units end in nan
        means = np.where(is_there, differences, 0.0).sum(axis=1) / n
        squares = np.where(is_there, (differences - means[:, np.newaxis]) ** 2, 0.0).sum(axis=1)
        least = np.where(is_there, differences, np.inf).min(axis=1, initial=np.inf)
        greatest = np.where(is_there, differences, -np.inf).max(axis=1, initial=-np.inf)
        statistic = np.abs(means) / np.sqrt(squares / (n - 1) * (1 / n + test_share))
        found = 2 * stdtr(n - 1.0, -statistic)
    size = np.maximum(np.abs(least), np.abs(greatest))
    all_equal = (greatest - least <= ROUNDING * size) & (n >= 2)
    found = np.where(all_equal, np.where(size <= ROUNDING, 1.0, 2.0 ** (1 - n)), found)
    return np.asarray(np.where(n >= 2, found, np.nan), np.float64)


def holm(p: Floats) -> Floats:
    """Correct the p-values of a family by Holm's method: a wrong claim anywhere in it is as rare as one was before.

    It asks nothing of how the comparisons depend on each other, and never claims less than Bonferroni's correction.

    Parameters
    ----------
    p : ndarray of any shape, dtype float64
        Of all comparisons of the family; nan where there is none, which does not count.

    Returns
    -------
    ndarray of the same shape, dtype float64
        Each at least what it was, at most 1.

    Raises
    ------
    SettingsError
        If a number is no p-value.

    References
    ----------
    .. [1] Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03, np.nan, 0.005])).round(3).tolist()
    [0.03, 0.06, 0.06, nan, 0.02]
    """
    flat = np.ravel(p)
    known = flat[~np.isnan(flat)]
    if known.size and not (known.min() >= 0 and known.max() <= 1):
        raise SettingsError(
            f"{known[(known < 0) | (known > 1)][0]} is not a p-value: it is not between 0 and 1"
        )
    order = np.argsort(known, kind="stable")
    least = np.maximum.accumulate(known[order] * np.arange(len(known), 0, -1))
    corrected = np.empty_like(known)
    corrected[order] = np.minimum(least, 1.0)
    found = np.full(flat.shape, np.nan)
    found[~np.isnan(flat)] = corrected
    return found.reshape(np.shape(p))


def corrected_in_families(p: Floats) -> Floats:
    """Correct the p-values of one of the `FAMILIES`: by `holm`, and for the other families.

    Parameters
    ----------
    p : ndarray of any shape, dtype float64
        As for `holm`.

    Returns
    -------
    ndarray of the same shape, dtype float64
        At most 1; below `SIGNIFICANT` for what may be claimed.

    Examples
    --------
    >>> corrected_in_families(np.array([0.001, 0.5])).round(4).tolist()
    [0.006, 1.0]
    """
    return np.asarray(np.minimum(FAMILIES * holm(p), 1.0), np.float64)


def max_t(values: Floats) -> tuple[Floats, float]:
    """Correct a family of bootstrapped figures for their number, as they depend on each other.

    A figure's statistic is its size in standard errors. Those of the draws around the figures measured say how large
    the largest of the family is by chance (the single-step max-T method).

    Parameters
    ----------
    values : ndarray of shape (1 + n_resamples, n), dtype float64
        What was measured, and the same on draws; nan where there is none.

    Returns
    -------
    corrected : ndarray of shape (n,), dtype float64
        Corrected p-values, of being 0; 1 where draws do not vary, nan where there is no number.
    factor : float
        So many standard errors to both sides make intervals that hold together in 95 % of the cases; nan for none.

    References
    ----------
    .. [1] Westfall & Young, "Resampling-based multiple testing", 1993, ch. 2.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal([0.0, 5.0], 1.0, (1000, 2))
    >>> corrected, factor = max_t(np.concatenate([[[0.0, 5.0]], draws]))
    >>> corrected.round(2).tolist(), round(factor, 1)
    ([1.0, 0.0], 2.2)
    """
    measured, draws = values[0], values[1:]
    spread = np.full(measured.shape, np.nan)
    known = ~np.isnan(measured) & (np.isfinite(draws).sum(axis=0) >= 2)
    spread[known] = np.nanstd(draws[:, known], axis=0, ddof=1)
    varies = known & (spread > ROUNDING)
    corrected = np.where(known, 1.0, np.nan)
    if not varies.any():
        return corrected, float("nan")
    by_chance = np.fmax.reduce(np.abs(draws[:, varies] - measured[varies]) / spread[varies], axis=1)
    by_chance = by_chance[~np.isnan(by_chance)]
    statistics = np.abs(measured[varies]) / spread[varies]
    as_large = (by_chance[:, np.newaxis] >= statistics).sum(axis=0)
    corrected[varies] = (1 + as_large) / (1 + len(by_chance))
    return corrected, float(np.quantile(by_chance, 1 - SIGNIFICANT))
