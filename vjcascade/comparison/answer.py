"""The answer of a comparison in plain sentences, computed from its numbers and honest about what is not known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from vjcascade.boosters import Costs
from vjcascade.comparison.design import Contender, Entry, Rule
from vjcascade.comparison.results import Comparison
from vjcascade.comparison.statistics import paired_difference
from vjcascade.comparison.summary import Summary, Verdict
from vjcascade.evaluation.intervals import Interval
from vjcascade.messages import pluralize
from vjcascade.training.stage import BASELINE

MAX_NAMED = 6
"""Things of a kind that a sentence names."""

MIN_SEEDS = 3
"""With fewer, confidence intervals may be narrow by luck."""

BASELINE_WORDS = "AdaBoost with a threshold set afterwards"

CHANCE = 0.5


def answer(comparison: Comparison) -> list[str]:
    """Return what a comparison shows.

    Parameters
    ----------
    comparison : Comparison
        Finished or not.

    Returns
    -------
    list of str
        Sentences, the most important first after the one that says what was compared.
    """
    summary = Summary(comparison)
    sentences = [_what(comparison), *_what_is_missing(summary)]
    if not summary.complete:
        return sentences
    if comparison.kind == "stages":
        sentences += [*_fewest(summary), *_equal_weak(summary), *_features(summary), *_cheapest(summary)]
        sentences += _natural(summary)
    else:
        sentences += [*_cheapest(summary), *_ranked(summary)]
    return [*sentences, *_swapped(summary), *_sanity(summary)]


def pair_name(entry: Entry) -> str:
    """Return the booster and, if it minds them, the costs, for example ``csb0 at 10:1``."""
    return entry.contender.at(entry.costs)


def fewest_weak(summary: Summary) -> int | None:
    """Return the entry that reaches the targets with the fewest weak classifiers in all finished datasets.

    Parameters
    ----------
    summary : Summary
        Of a comparison.

    Returns
    -------
    int or None
        Its number; of equal ones the first. None if no entry ever reaches them, or no threshold was tuned for it.
    """
    entries = list(summary.weak_rank_test.entries)
    if not summary.complete or not summary.reached[np.ix_(summary.complete, entries)].any():
        return None
    return entries[int(np.argmin(summary.overall["weak"].mean[entries]))]


def cheapest(summary: Summary, costs: Costs) -> int | None:
    """Return the entry whose decisions cost least: over stages by mean cost, over tables by mean rank.

    Parameters
    ----------
    summary : Summary
        Of a comparison.
    costs : Costs
        One of its costs.

    Returns
    -------
    int or None
        Its number; of equal ones the first. None if no dataset is finished.
    """
    rank_test = summary.cost_rank_tests[costs]
    if not summary.complete or not rank_test.entries:
        return None
    means = summary.overall["cost"].mean[list(rank_test.entries)]
    by = means if summary.comparison.kind == "stages" else rank_test.ranks
    return rank_test.entries[int(np.lexsort((means, by))[0])]


def few(number: float) -> str:
    """Return a number with one decimal, or without if it is large, or two digits if it is small.

    Examples
    --------
    >>> few(1234.5), few(12.34), few(0.01234), few(-2.0), few(0.0)
    ('1,234', '12.3', '0.012', '−2.0', '0')
    """
    size = abs(number)
    digits = f"{size:,.0f}" if size >= 100 or size == 0 else f"{size:.1f}" if size >= 1 else f"{size:.2g}"
    return f"−{digits}" if number < 0 else digits


def share(number: float) -> str:
    """Return a rate as a percentage.

    Examples
    --------
    >>> share(0.995), share(0.99942), share(0.5), share(0.00042), share(-0.013)
    ('99.5%', '99.94%', '50%', '0.042%', '−1.3%')
    """
    percent = 100 * number
    if abs(percent - round(percent)) < 1e-9:
        return f"{round(percent)}%".replace("-", "−")
    return f"{percent:.2f}%" if 99.9 < percent < 100 else f"{few(percent)}%"


def listed(names: Sequence[str]) -> str:
    """Return names in a row, the first few if there are many.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    more = len(names) - MAX_NAMED
    shown = [*names[:MAX_NAMED], *([f"{more} more"] if more > 0 else [])]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _what(comparison: Comparison) -> str:
    design, kind = comparison.design, comparison.kind.removesuffix("s")
    boosters = pluralize(len(design.boosters), "booster")
    splits = f"{design.n_seeds} splits of the samples"
    if design.n_seeds == 1:
        splits = "one split of the samples, which says nothing of how sure that is"
    elif design.n_seeds < MIN_SEEDS:
        splits = f"{splits}, too few for confidence intervals to be trusted"
    return (
        f"{boosters} at {pluralize(len(design.costs), 'cost ratio')} were compared on "
        f"{pluralize(len(comparison.datasets), kind)}, with {splits}."
    )


def _what_is_missing(summary: Summary) -> Iterator[str]:
    comparison = summary.comparison
    if comparison.is_complete:
        return
    kind, n = comparison.kind.removesuffix("s"), len(summary.complete)
    there = f"{len(comparison.cells):,} of {int(np.prod(comparison.shape)):,} results are there"
    yield (
        f"The comparison is not finished: {there}; the answer is that of {pluralize(n, f'finished {kind}')}."
        if n
        else f"The comparison is not finished: {there}, and no {kind} is, so there is no answer yet."
    )


def _fewest(summary: Summary) -> Iterator[str]:
    design, rank_test = summary.comparison.design, summary.weak_rank_test
    if not rank_test.entries:
        return
    targets = f"a false-alarm rate of {share(design.false_alarm_rate)}"
    tuned = f"With thresholds tuned for a hit rate of {share(design.hit_rate)}"
    best = fewest_weak(summary)
    if best is None:
        yield f"{tuned}, no booster gets down to {targets} within {pluralize(design.n_rounds, 'weak classifier')}."
        return
    found = summary.overall["weak"].at(best)
    least = "" if summary.reached[list(summary.complete), best].min() == 1 else "at least "
    yield (
        f"{tuned}, {pair_name(summary.comparison.entries[best])} gets down to {targets} with the fewest weak "
        f"classifiers: {least}{few(found.mean)} in {_together(summary)}{_interval(found, few)}."
    )
    yield from _against_baseline(summary, best)
    yield from _against_others(summary, best)


def _against_baseline(summary: Summary, best: int) -> Iterator[str]:
    baseline = summary.baseline_of(best, "weak")
    if baseline is None:
        return
    if _is_baseline(summary, best):
        yield f"That is {BASELINE_WORDS} itself, with which everything is compared."
        return
    needs = few(summary.overall["weak"].mean[baseline])
    versus = _versus(summary.overall_differences["weak"].at(best), few, "fewer")
    yield f"{BASELINE_WORDS} needs {needs}: {versus}."


def _against_others(summary: Summary, best: int) -> Iterator[str]:
    """Tell how sure the choice is, of one entry among many."""
    others = [entry for entry in summary.weak_rank_test.entries if entry != best]
    totals, test_share = summary.seed_totals("weak"), summary.test_share
    verdicts = [Verdict.of(paired_difference(totals[best], totals[other], test_share)) for other in others]
    if not others or Verdict.UNKNOWN in verdicts:
        return
    n_alike = sum(verdict is not Verdict.BETTER for verdict in verdicts)
    pairs = pluralize(len(others), "other pair")
    alike = f"{n_alike:,} {'does' if n_alike == 1 else 'do'} not differ" if n_alike else "all differ"
    yield f"Of the {pairs} of a booster and a cost ratio, {alike} significantly from it."
    if summary.overall_differences["weak"].verdict(best) is not Verdict.BETTER or len(others) < 2:
        return
    strict = summary.over_datasets(summary.seed_differences("weak"), 1 - 0.05 / len(others))
    stands = (
        "the difference from AdaBoost is still significant"
        if strict.verdict(best) is Verdict.BETTER
        else "there is no significant difference from AdaBoost"
    )
    yield f"The best of many is flattered by being chosen: with a confidence interval that allows for that, {stands}."


def _equal_weak(summary: Summary) -> Iterator[str]:
    """Tell the false-alarm rates of ensembles of one size: that of the best, or of the next if it is the baseline."""
    rates, design = summary.overall["false_alarm_rate"], summary.comparison.design
    entries = [entry for entry in summary.weak_rank_test.entries if not _is_baseline(summary, entry)]
    best = fewest_weak(summary)
    if best not in entries:
        best = min(entries, key=lambda entry: float(summary.overall["weak"].mean[entry]), default=None)
    if best is None or summary.baseline_of(best, "false_alarm_rate") is None:
        return
    baseline = float(rates.mean[summary.baseline_of(best, "false_alarm_rate")])
    difference = summary.overall_differences["false_alarm_rate"].at(best)
    yield (
        f"At equal size, after {pluralize(design.n_rounds, 'weak classifier')} a {summary.kind} and with thresholds "
        f"tuned alike, {pair_name(summary.comparison.entries[best])} lets {share(rates.mean[best])} of the negatives "
        f"pass and {BASELINE_WORDS} {share(baseline)}: {_versus(difference, share, 'less')}."
    )


def _features(summary: Summary) -> Iterator[str]:
    best = fewest_weak(summary)
    if best is None or summary.features is None or summary.feature_differences is None:
        return
    found, baseline = summary.features, summary.baseline_of(best, "weak")
    text = (
        f"A window of the photos would cost {few(found.mean[best])} features in {_together(summary)} with "
        f"{pair_name(summary.comparison.entries[best])}{_interval(found.at(best), few)}"
    )
    if baseline is None or _is_baseline(summary, best):
        yield f"{text}."
        return
    yield (
        f"{text}, and {few(found.mean[baseline])} with {BASELINE_WORDS}: "
        f"{_versus(summary.feature_differences.at(best), few, 'fewer')}."
    )


def _cheapest(summary: Summary) -> Iterator[str]:
    costs = summary.comparison.design.costs
    best = {one: found for one in costs if (found := cheapest(summary, one)) is not None}
    if not best:
        return
    winners: dict[str, list[str]] = {}
    for one, place in best.items():
        entry = summary.comparison.entries[place]
        winners.setdefault(f"{entry.contender.name} and its {entry.rule} threshold", []).append(str(one))
    by = "" if summary.comparison.kind == "stages" else ", by mean rank,"
    winning = [f"{listed(at)} with {who}" for who, at in winners.items()]
    more = "; and so on" if len(winning) > MAX_NAMED else ""
    yield f"Decisions cost least{by} at {'; at '.join(winning[:MAX_NAMED])}{more}."
    yield from _cheaper_than_baseline(summary, best)


def _cheaper_than_baseline(summary: Summary, best: Mapping[Costs, int]) -> Iterator[str]:
    means, differences = summary.overall["cost"].mean, summary.overall_differences["cost"]
    less, alike = [], []
    for costs, place in best.items():
        baseline = summary.baseline_of(place, "cost")
        if baseline is None or baseline == place:
            continue
        numbers = f"{costs} ({share(means[place])} against {share(means[baseline])})"
        if differences.verdict(place) is Verdict.BETTER:
            less.append(numbers)
        elif differences.verdict(place) is Verdict.ALIKE:
            alike.append(numbers)
    clauses = [f"that is less at {listed(less)}"] if less else []
    clauses += [f"there is no significant difference at {listed(alike)}"] if alike else []
    if clauses:
        yield f"Compared with AdaBoost's minimum-cost threshold, {'; '.join(clauses)}."


def _ranked(summary: Summary) -> Iterator[str]:
    """Tell from how many others ranks over datasets tell the best."""
    clauses = []
    for costs, rank_test in summary.cost_rank_tests.items():
        if not np.isnan(rank_test.difference):
            behind = int((rank_test.ranks - rank_test.ranks.min() >= rank_test.difference).sum())
            clauses.append(f"{behind} of {len(rank_test.entries) - 1} others at {costs}")
    if clauses:
        yield f"Ranks over the {summary.kind}s tell the best apart (Nemenyi's test, 95%) from {listed(clauses)}."


def _swapped(summary: Summary) -> Iterator[str]:
    natural = [
        (entry, place)
        for place, entry in enumerate(summary.comparison.entries)
        if entry.rule is Rule.NATURAL and entry.costs.ratio != 1
        if entry.contender.uses_costs and not entry.contender.shuffled
    ]
    if not natural:
        return
    means = summary.overall["swapped"].mean
    swapped: dict[str, list[str]] = {}
    for entry, place in natural:
        if means[place] > CHANCE:
            swapped.setdefault(entry.contender.name, []).append(str(entry.costs))
    meaning = "the class whose mistakes cost more has the larger error rate, at the natural threshold,"
    if not swapped:
        yield f"With none of the boosters that mind costs does asymmetry swap ({meaning} in most rounds)."
        return
    names = [f"{name} (at {listed(costs)})" for name, costs in swapped.items()]
    yield f"Asymmetry swaps ({meaning} in most rounds) with {listed(names)}."


def _natural(summary: Summary) -> Iterator[str]:
    places = [
        place
        for place, entry in enumerate(summary.comparison.entries)
        if entry.rule is Rule.NATURAL and not entry.contender.shuffled
    ]
    if not places:
        return
    design = summary.comparison.design
    reached = summary.reached[list(summary.complete)].mean(axis=0)
    best = max(places, key=lambda place: float(reached[place]))
    targets = (
        f"a hit rate of {share(design.hit_rate)} with a false-alarm rate of {share(design.false_alarm_rate)}"
    )
    if reached[best] == 0:
        yield f"No natural threshold ever holds the targets, {targets}."
        return
    yield (
        f"Natural thresholds hold the targets, {targets}, in {share(float(reached[places].mean()))} of the runs; "
        f"most often that of {pair_name(summary.comparison.entries[best])}, in {share(float(reached[best]))}."
    )


def _sanity(summary: Summary) -> Iterator[str]:
    places = [place for place, entry in enumerate(summary.comparison.entries) if entry.contender.shuffled]
    if not places:
        return
    found = summary.overall["auc"].at(places[0])
    text = f"AdaBoost on shuffled labels has an AUC of {found.mean:.3f}{_interval(found, '{:.3f}'.format)}"
    if np.isnan(found.low):
        yield f"{text}; more splits would tell whether that is chance."
    elif found.low <= CHANCE <= found.high:
        yield f"{text}: it ended at chance, as it must."
    else:
        yield f"{text}: that is not chance, so something is wrong with the samples or the program; trust nothing here."


def _is_baseline(summary: Summary, entry: int) -> bool:
    return summary.comparison.entries[entry].contender == Contender(BASELINE)


def _together(summary: Summary) -> str:
    n = len(summary.complete)
    return f"the {n:,} {summary.kind}s together" if n > 1 else f"the {summary.kind}"


def _interval(found: Interval, words: Callable[[float], str]) -> str:
    return "" if np.isnan(found.low) else f" (95 % CI {words(found.low)} to {words(found.high)})"


def _versus(difference: Interval, words: Callable[[float], str], lower: str) -> str:
    """Say how the best differs from the baseline; `lower` is the word for a lower number."""
    verdict = Verdict.of(difference)
    if verdict is Verdict.UNKNOWN:
        return "one split cannot tell whether that is a difference"
    if verdict is Verdict.ALIKE:
        return f"no significant difference (95 % CI {words(difference.low)} to {words(difference.high)})"
    ends = sorted([abs(difference.low), abs(difference.high)])
    word = lower if verdict is Verdict.BETTER else "more"
    return f"the best has {words(abs(difference.mean))} {word} (95 % CI {words(ends[0])} to {words(ends[1])})"
