"""How sure a comparison is: means with their bands over repeated splits, and ranks over blocks."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np

from vjcascade.boosters.state import Floats
from vjcascade.errors import SettingsError
from vjcascade.evaluation.intervals import Interval, check_level

UNBOUNDED = (-np.inf, np.inf)
"""Where a measure may lie if nothing is known of it; a rate lies within (0, 1)."""


def interval(
    values: Floats, test_share: float, level: float = 0.95, bounds: tuple[float, float] = UNBOUNDED
) -> Interval:
    r"""Return the mean over repeated splits of one data set, with the band of the corrected resampled t.

    Splits of the same samples overlap, so what they measure is correlated and the plain t interval is far too narrow.
    The correction takes the correlation to be the share of test samples:

    .. math:: \bar x \pm t_{n - 1} \sqrt{\left(\frac 1 n + \frac{n_{test}}{n_{train}}\right) s^2}

    The true mean is that over all data sets of this size, not over further splits of this one. The correction is a
    rule, no theorem: where models depend much on which samples they were trained on, and these are most of the data,
    the band is too narrow. Equal numbers of training and test samples are safest; three seeds are the least that
    serve. Bands of differences are rather too wide.

    Parameters
    ----------
    values : ndarray of shape (n_seeds,), dtype float64
        One measure; nan where it was not measured. A mean of infinite values is nan: see `censored_median`.
    test_share : float
        n_test / n_train, at least 0; samples that only set thresholds count as neither. 0 where each seed has data of
        its own, which gives the plain t interval.
    level : float
        How often the band is to contain the true mean, in (0, 1).
    bounds : tuple of float
        Least and largest value possible; the band ends there.

    Returns
    -------
    Interval
        Equal values have a band of width 0, which is no certainty.

    Raises
    ------
    SettingsError
        If the shape, the share or the level is none of these.

    References
    ----------
    .. [1] Nadeau & Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
           :doi:`10.1023/A:1024068626366`

    Examples
    --------
    >>> errors = np.array([0.11, 0.09, 0.10, 0.12, 0.08])
    >>> found = interval(errors, test_share=0.5, bounds=(0, 1))
    >>> round(found.mean, 3), round(found.low, 3), round(found.high, 3)
    (0.1, 0.063, 0.137)
    >>> interval(np.array([0.1, 0.1]), test_share=0.5)
    Interval(mean=0.1, low=0.1, high=0.1)
    """
    if values.ndim != 1:
        raise SettingsError(f"values of shape {values.shape} are not one number for each seed")
    mean, low, high = band(values[:, None], test_share, level, bounds)
    return Interval(float(mean[0]), float(low[0]), float(high[0]))


def paired_difference(values: Floats, baseline: Floats, test_share: float, level: float = 0.95) -> Interval:
    """Return by how much two entries differ on the same splits, with the band of `interval`.

    Parameters
    ----------
    values, baseline : ndarray of shape (n_seeds,), dtype float64
        One measure of two entries, seed by seed; a seed that one of them lacks (nan) is left out.
    test_share, level : float
        As for `interval`.

    Returns
    -------
    Interval
        Of values - baseline; nan where one is infinite.

    Raises
    ------
    SettingsError
        If the two do not fit each other, or as `interval` does.

    Examples
    --------
    >>> errors = np.array([0.11, 0.09, 0.10])
    >>> paired_difference(errors, errors, test_share=0.5)
    Interval(mean=0.0, low=0.0, high=0.0)
    """
    if values.shape != baseline.shape:
        raise SettingsError(f"values {values.shape} and baseline {baseline.shape} differ in shape")
    is_infinite = np.isinf(values) | np.isinf(baseline)  # how much two that are differ, nobody knows
    with np.errstate(invalid="ignore"):
        differences = np.where(is_infinite, np.abs(values) + np.abs(baseline), values - baseline)
    return interval(differences, test_share, level)


def band(
    curves: Floats, test_share: float, level: float = 0.95, bounds: tuple[float, float] = UNBOUNDED
) -> tuple[Floats, Floats, Floats]:
    """Return the mean curve over repeated splits of one data set, with the band of `interval` at each point.

    Parameters
    ----------
    curves : ndarray of shape (n_seeds, n_rounds), dtype float64
        One measure along its rounds; nan where it was not measured.
    test_share, level, bounds : float, float, tuple of float
        As for `interval`; the level is that of each point by itself.

    Returns
    -------
    mean, low, high : ndarray of shape (n_rounds,), dtype float64
        The `Interval` of each point.

    Raises
    ------
    SettingsError
        If the shape, the share or the level is none of these.

    Examples
    --------
    >>> mean, low, high = band(np.array([[0.5, 0.3], [0.5, 0.2]]), test_share=1.0, bounds=(0, 1))
    >>> low.tolist(), high.tolist()
    ([0.5, 0.0], [0.5, 1.0])
    """
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    check_level(level)
    if curves.ndim != 2 or not len(curves):
        raise SettingsError(f"values of shape {curves.shape} do not have one row per seed")
    if not (isfinite(test_share) and test_share >= 0):
        raise SettingsError(f"test share {test_share} is not a ratio of test samples to training samples")
    measured = np.where(np.isinf(curves).any(axis=0), np.nan, curves)
    is_measured = ~np.isnan(measured)
    n = is_measured.sum(axis=0)
    least = np.where(is_measured, measured, np.inf).min(axis=0)
    above = np.where(is_measured, measured - least, 0.0)  # exactly 0 where all are equal
    with np.errstate(invalid="ignore", divide="ignore"):  # too few seeds end in nan
        mean = least + above.sum(axis=0) / n
        squares = np.where(is_measured, (above - above.sum(axis=0) / n) ** 2, 0.0)
        spread = np.sqrt(squares.sum(axis=0) / (n - 1) * (1 / n + test_share))
    half = stdtrit(n - 1.0, (1 + level) / 2) * spread
    return mean, np.clip(mean - half, *bounds), np.clip(mean + half, *bounds)


def censored_median(values: Floats) -> float:
    """Return the median of numbers of which some are only known to be large.

    Parameters
    ----------
    values : ndarray of shape (n_seeds,), dtype float64
        As weak classifiers to reach a target: infinite where it was not reached, nan where it was not tried.

    Returns
    -------
    float
        Infinite unless more than half of the seeds tried reached it; nan if none was tried.

    Examples
    --------
    >>> censored_median(np.array([12, np.inf, 9])), censored_median(np.array([12, np.inf]))
    (12.0, inf)
    """
    tried = values[~np.isnan(values)]
    return float(np.median(tried)) if tried.size else float("nan")


def share_reached(values: Floats) -> float:
    """Return the share of finite numbers among those that are not nan; nan if all are.

    Examples
    --------
    >>> share_reached(np.array([12, np.inf, 9, 10, np.nan]))
    0.75
    """
    tried = values[~np.isnan(values)]
    return float(np.isfinite(tried).mean()) if tried.size else float("nan")


def mean_ranks(table: Floats) -> Floats:
    """Return each entry's mean rank over blocks; 1 is best, ties share the mean of their ranks.

    Parameters
    ----------
    table : ndarray of shape (n_blocks, n_entries), dtype float64
        A measure of which less is better. Infinite where targets were not reached: such entries tie behind all
        others. A block with a nan is left out.

    Returns
    -------
    ndarray of shape (n_entries,), dtype float64
        Mean ranks; nan if no block is complete.

    Raises
    ------
    SettingsError
        If the table is none.

    Examples
    --------
    >>> mean_ranks(np.array([[0.1, 0.2, 0.2], [5, np.inf, np.inf], [0.3, 0.1, np.nan]])).tolist()
    [1.0, 2.5, 2.5]
    """
    ranks = _ranks(table)
    return ranks.mean(axis=0) if len(ranks) else np.full(table.shape[1], np.nan)


@dataclass(frozen=True)
class Friedman:
    """Whether entries differ in rank at all.

    Attributes
    ----------
    statistic : float
        F of Iman & Davenport; infinite if all blocks rank alike, 0 if everything ties.
    p_value : float
        How often entries without difference would have ranks that differ as much.
    n_blocks, n_entries : int
        What was ranked: complete blocks only.
    """

    statistic: float
    p_value: float
    n_blocks: int
    n_entries: int


def friedman(table: Floats) -> Friedman | None:
    """Test whether entries differ in rank, by Friedman's test in the F form of Iman & Davenport.

    That form is the analysis of variance of the ranks, so ties are allowed for; Friedman's own chi-square is too
    timid with few blocks. Where all blocks rank alike F is infinite, and the p-value is the chance of that. Blocks
    are taken to be independent: stages of one cascade, which share their positives, are not quite.

    Parameters
    ----------
    table : ndarray of shape (n_blocks, n_entries), dtype float64
        As for `mean_ranks`.

    Returns
    -------
    Friedman or None
        None with fewer than 2 complete blocks or 3 entries. For two entries see `paired_difference`.

    Raises
    ------
    SettingsError
        If the table is none.

    References
    ----------
    .. [1] Iman & Davenport, "Approximations of the critical region of the Friedman statistic", Communications in
           Statistics A9, 1980. :doi:`10.1080/03610928008827904`
    .. [2] Conover, "Practical nonparametric statistics", 3rd ed., 1999, sec. 5.8.

    Examples
    --------
    >>> found = friedman(np.array([[1, 2, 3], [1, 3, 2], [1, 2, 3], [2, 1, 3.0]]))
    >>> round(found.statistic, 3), round(found.p_value, 3)
    (3.857, 0.084)
    """
    from scipy.special import fdtrc

    ranks = _ranks(table)
    n_blocks, n_entries = ranks.shape
    if n_blocks < 2 or n_entries < 3:
        return None
    centred = ranks - (n_entries + 1) / 2
    between = n_blocks * float((centred.mean(axis=0) ** 2).sum())
    if (ranks == ranks[0]).all():
        return Friedman(np.inf if between else 0.0, _chance_of_agreement(ranks), n_blocks, n_entries)
    statistic = (n_blocks - 1) * between / (float((centred**2).sum()) - between)
    p_value = float(fdtrc(n_entries - 1, (n_entries - 1) * (n_blocks - 1), statistic))
    return Friedman(statistic, p_value, n_blocks, n_entries)


def critical_difference(n_entries: int, n_blocks: int, level: float = 0.95) -> float:
    r"""Return by how much mean ranks must differ to be told apart, by Nemenyi's test.

    It is :math:`q \sqrt{k (k + 1) / (12 N)}` with q the quantile of the studentised range of k entries, over N blocks.

    Parameters
    ----------
    n_entries : int
        Entries ranked, at least 2.
    n_blocks : int
        Blocks, at least 1.
    level : float
        How often no two entries without difference are to be told apart, in (0, 1).

    Returns
    -------
    float
        In ranks.

    Raises
    ------
    SettingsError
        If there are too few of them, or the level is none.

    References
    ----------
    .. [1] Demsar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006.
           https://jmlr.org/papers/v7/demsar06a.html

    Examples
    --------
    >>> round(critical_difference(n_entries=4, n_blocks=14), 2)
    1.25
    """
    from scipy.stats import studentized_range  # type: ignore[import-untyped]

    check_level(level)
    if n_entries < 2 or n_blocks < 1:
        raise SettingsError(f"{n_entries} entries in {n_blocks} blocks cannot be compared by rank")
    quantile = float(studentized_range.ppf(level, n_entries, np.inf))
    return quantile * sqrt(n_entries * (n_entries + 1) / (12 * n_blocks))


def groups_within(ranks: Floats, difference: float) -> list[tuple[int, ...]]:
    """Return which entries cannot be told apart: the bars of a diagram of critical differences.

    Parameters
    ----------
    ranks : ndarray of shape (n_entries,), dtype float64
        Mean ranks; nan for an entry without.
    difference : float
        What two entries that are told apart differ by at least: the critical difference.

    Returns
    -------
    list of tuple of int
        Indices of entries, best first, in groups of two or more that lie within less than `difference` and in no
        larger such group.

    Examples
    --------
    >>> groups_within(np.array([3.1, 1.0, 2.2, 4.9]), difference=1.5)
    [(1, 2), (2, 0)]
    """
    order = np.argsort(ranks, kind="stable")[: np.count_nonzero(~np.isnan(ranks))]
    ends = np.searchsorted(ranks[order], ranks[order] + difference)
    groups, reached = [], 0
    for start, end in enumerate(ends):
        if end > max(reached, start + 1):
            groups.append(tuple(order[start:end].tolist()))
            reached = end
    return groups


def _ranks(table: Floats) -> Floats:
    """Return the ranks within each complete block, shape (n_complete, n_entries)."""
    if table.ndim != 2:
        raise SettingsError(f"a table of shape {table.shape} does not have one row per block")
    from scipy.stats import rankdata

    return np.asarray(rankdata(table[~np.isnan(table).any(axis=1)], axis=1), np.float64)


def _chance_of_agreement(ranks: Floats) -> float:
    """Return how often blocks of such ranks, in any order each, all rank like the first."""
    from scipy.special import gammaln

    _, n_tied = np.unique(ranks[0], return_counts=True)
    log_orders = gammaln(ranks.shape[1] + 1) - gammaln(n_tied + 1).sum()
    return float(np.exp(-(len(ranks) - 1) * log_orders))
