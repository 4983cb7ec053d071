"""The answer of a comparison in plain sentences, computed from its numbers and clear about what is not known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from vjcascade.boosters import Costs
from vjcascade.comparison.contrasts import Outcome
from vjcascade.comparison.design import Contender, Entry, Rule
from vjcascade.comparison.results import MEASURES, Comparison
from vjcascade.comparison.summary import Claim, Summary, Verdict
from vjcascade.evaluation.intervals import Interval
from vjcascade.messages import pluralize
from vjcascade.training.settings import TrainingSettings
from vjcascade.training.stage import BASELINE

MAX_NAMED = 6
"""Things of a kind that a sentence names."""

MIN_SEEDS = 3
"""With fewer, confidence intervals may be narrow by luck."""

BASELINE_WORDS = "AdaBoost with a threshold set afterwards"

CHANCE = 0.5


def answer(comparison: Comparison, contrasts: Sequence[Outcome] = ()) -> list[str]:
    """Return what a comparison shows.

    A difference is only said to be one if its p-value is below 0.05 after Holm's correction for all comparisons with
    the baseline, and then times three, as contrasts and ranks may claim something, too.

    Parameters
    ----------
    comparison : Comparison
        Finished or not.
    contrasts : sequence of Outcome
        Of `vjcascade.comparison.contrasts.judged`.

    Returns
    -------
    list of str
        Sentences: the verdict, then what was compared, then figures, the most important first.

    Examples
    --------
    >>> answer(compare_tables(["patients.csv"], "ill", "tables", design))  # doctest: +SKIP
    """
    summary = Summary(comparison)
    sentences = [_what(summary), *_what_is_missing(summary)]
    if not summary.complete:
        return sentences
    sentences = [verdict(summary), *sentences, *_contrasts(contrasts), *_ranked(summary)]
    if comparison.kind == "stages":
        sentences += [*_fewest(summary), *_equal_weak(summary), *_features(summary), *_cheapest(summary)]
        sentences += _natural(summary)
    else:
        sentences += _cheapest(summary)
    return [*sentences, *_errors(summary), *_sanity(summary)]


def verdict(summary: Summary) -> str:
    """Return in a sentence or two whether there is evidence of any difference, and what to do.

    Parameters
    ----------
    summary : Summary
        Of a comparison with a finished dataset.

    Returns
    -------
    str
        The same as the marks of the report say.
    """
    claims = summary.claims
    if not claims:
        return _nothing_judged(summary)
    n_compared = f"{pluralize(len(claims), 'comparison')} with AdaBoost, whose threshold was set afterwards"
    better = [claim for claim in claims if claim.verdict is Verdict.BETTER]
    worse = [claim for claim in claims if claim.verdict is Verdict.WORSE]
    least = f"the least corrected p-value is {p_words(claims[0].corrected)}"
    if not better and not worse:
        whose = " from AdaBoost" if any(_ranked(summary)) else ""  # among others, there is some
        return (
            f"No evidence of a difference{whose}; {_keep(summary)}. None of the {n_compared}, is significant after "
            f"Holm's correction: {least}."
        )
    stand = f"Of the {n_compared}, {_significant(len(better) + len(worse))} after Holm's correction; {least}."
    if not better:
        nothing = f"No evidence that anything is better than AdaBoost; {_keep(summary)}."
        return f"{nothing} {stand} Worse: {_named(summary, worse)}."
    less = f" Worse: {_named(summary, worse)}." if worse else ""
    return f"There is evidence of a difference. {stand} Better: {_named(summary, better)}.{less}"


def p_words(p: float) -> str:
    """Return a p-value in words.

    Examples
    --------
    >>> p_words(0.0312), p_words(0.71234), p_words(0.00002), p_words(1.0)
    ('0.031', '0.71', 'below 0.0001', '1')
    """
    return "below 0.0001" if p < 1e-4 else f"{p:.2g}"


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


def default_name() -> str:
    """Return the booster that training takes by itself, and its costs."""
    usual = TrainingSettings()
    return Contender(usual.booster).at(usual.costs)


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


def _what(summary: Summary) -> str:
    comparison = summary.comparison
    design, kind = comparison.design, summary.kind
    boosters = pluralize(len(design.boosters), "booster")
    is_drawn = any(dataset.independent for dataset in comparison.datasets)
    word = "independent draw of crops and photos" if is_drawn else "split of the samples"
    splits = f"{design.n_seeds} {word.replace(' of', 's of', 1)}"
    if summary.counts_tables:
        splits = f"{pluralize(design.n_seeds, 'split')} of the rows of each"
    elif design.n_seeds == 1:
        splits = f"one {word}, so there are no confidence intervals"
    elif design.n_seeds < MIN_SEEDS:
        splits = f"{splits}, too few for reliable confidence intervals"
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
        f"The comparison is not finished: {there}; the answer is based on {pluralize(n, f'finished {kind}')}."
        if n
        else f"The comparison is not finished: {there}, and no {kind} is finished, so there is no answer yet."
    )


def _fewest(summary: Summary) -> Iterator[str]:
    design, rank_test = summary.comparison.design, summary.weak_rank_test
    if not rank_test.entries:
        return
    targets = f"a false-alarm rate of {share(design.false_alarm_rate)}"
    tuned = f"With thresholds tuned for a hit rate of {share(design.hit_rate)}"
    best = fewest_weak(summary)
    if best is None:
        yield f"{tuned}, no booster reaches {targets} within {pluralize(design.n_rounds, 'weak classifier')}."
        return
    found = summary.overall["weak"].at(best)
    least = "" if summary.reached[list(summary.complete), best].min() == 1 else "at least "
    yield (
        f"{tuned}, {pair_name(summary.comparison.entries[best])} reaches {targets} with the fewest weak "
        f"classifiers: {least}{few(found.mean)} in {_together(summary)}{_interval(found, few)}."
    )
    yield from _against_baseline(summary, best)
    n = len(rank_test.entries)
    if n > 2 and not _is_baseline(summary, best):
        yield f"It was chosen as the best of {n:,} on these samples, so this is optimistic."


def _against_baseline(summary: Summary, best: int) -> Iterator[str]:
    baseline = summary.baseline_of(best, "weak")
    if baseline is None:
        return
    if _is_baseline(summary, best):
        yield f"That is {BASELINE_WORDS}, the baseline itself."
        return
    least = "" if summary.reached[list(summary.complete), baseline].min() == 1 else "at least "
    needs = f"{least}{few(summary.overall['weak'].mean[baseline])}"
    versus = _versus(summary, "weak", best, few, "fewer")
    yield f"{BASELINE_WORDS} needs {needs}: {versus}."


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
    versus = _versus(summary, "false_alarm_rate", best, share, "less")
    yield (
        f"At equal size, after {pluralize(design.n_rounds, 'weak classifier')} per {summary.kind} and with thresholds "
        f"tuned the same way, {pair_name(summary.comparison.entries[best])} lets {share(rates.mean[best])} of the "
        f"negatives pass and {BASELINE_WORDS} {share(baseline)}: {versus}."
    )


def _features(summary: Summary) -> Iterator[str]:
    best = fewest_weak(summary)
    if best is None or summary.features is None:
        return
    found, baseline = summary.features, summary.baseline_of(best, "weak")
    text = (
        f"A window of the photos would take {few(found.mean[best])} features in {_together(summary)} with "
        f"{pair_name(summary.comparison.entries[best])}{_interval(found.at(best), few)}"
    )
    if baseline is None or _is_baseline(summary, best):
        yield f"{text}."
        return
    yield (
        f"{text}, and {few(found.mean[baseline])} with {BASELINE_WORDS}: "
        f"{_versus(summary, 'features', best, few, 'fewer')}."
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
        p = p_words(float(differences.corrected[place]))
        name = summary.comparison.entries[place].contender.name
        numbers = f"{costs} ({name} {share(means[place])} against {share(means[baseline])}; corrected p {p})"
        if differences.verdict(place) is Verdict.BETTER:
            less.append(numbers)
        elif differences.verdict(place) is Verdict.ALIKE:
            alike.append(numbers)
    clauses = [f"that is less at {listed(less)}"] if less else []
    clauses += [f"there is no evidence of a difference at {listed(alike)}"] if alike else []
    if clauses:
        yield f"Compared with AdaBoost's {summary.baseline_rule('cost')} threshold, {'; '.join(clauses)}."


def _ranked(summary: Summary) -> Iterator[str]:
    """Tell from whom ranks over tables tell the best, at a level that holds for all costs together."""
    clauses = []
    for costs, rank_test in summary.cost_rank_tests.items():
        if np.isnan(rank_test.difference):
            continue
        behind = rank_test.ranks - rank_test.ranks.min() >= rank_test.difference
        names = [
            f"{one.contender.name} ({one.rule})"
            for place in reversed(rank_test.order)
            if behind[place]
            for one in [summary.comparison.entries[rank_test.entries[place]]]
        ]
        if names:
            clauses.append(f"at {costs} from {listed(names)}")
    if clauses:
        test = "(Nemenyi's test, corrected for all costs)"
        yield f"Ranks over the tables separate the best {test} {'; '.join(clauses)}."


def _errors(summary: Summary) -> Iterator[str]:
    """Tell both error rates at the natural threshold and the first costs that are not equal."""
    costs = next((one for one in summary.comparison.design.costs if one.ratio != 1), None)
    hits, false_alarms = (summary.overall[name].mean for name in ("hit_rate", "false_alarm_rate"))
    rates = [
        f"{share(1 - hits[place])} and {share(false_alarms[place])} with {entry.contender.name}"
        for place, entry in enumerate(summary.comparison.entries)
        if entry.rule is Rule.NATURAL and entry.costs == costs and not entry.contender.shuffled
    ]
    if rates:
        rounds = pluralize(summary.comparison.design.n_rounds, "round")
        yield (
            f"At {costs} and the natural threshold, the shares of positives missed and of false alarms after {rounds} "
            f"are {listed(rates)}."
        )


def _contrasts(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Tell what was asked before the results were there."""
    if not outcomes:
        return
    stand = [one for one in outcomes if one.verdict in (Verdict.BETTER, Verdict.WORSE)]
    yield (
        f"Of {pluralize(len(outcomes), 'contrast')} fixed in advance, {_significant(len(stand))} after Holm's "
        f"correction{': ' if stand else ''}{listed([one.in_words() for one in stand]) if stand else ''}."
    )


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
        yield f"No natural threshold ever meets the targets, {targets}."
        return
    yield (
        f"Natural thresholds meet the targets, {targets}, in {share(float(reached[places].mean()))} of the runs; "
        f"most often that of {pair_name(summary.comparison.entries[best])}, in {share(float(reached[best]))}."
    )


def _sanity(summary: Summary) -> Iterator[str]:
    places = [place for place, entry in enumerate(summary.comparison.entries) if entry.contender.shuffled]
    if not places:
        return
    found = summary.overall["auc"].at(places[0])
    text = f"AdaBoost on shuffled labels has an AUC of {found.mean:.3f}{_interval(found, '{:.3f}'.format)}"
    if np.isnan(found.low):
        yield f"{text}; more splits would show whether that is chance."
    elif found.low <= CHANCE <= found.high:
        yield f"{text}: this is chance level, as it must be."
    else:
        yield (
            f"{text}: this is not chance level, so something is wrong with the samples or the program; do not "
            "trust these results."
        )


def _is_baseline(summary: Summary, entry: int) -> bool:
    return summary.comparison.entries[entry].contender == Contender(BASELINE)


def _together(summary: Summary) -> str:
    n = len(summary.complete)
    return f"the {n:,} {summary.kind}s together" if n > 1 else f"the {summary.kind}"


def _interval(found: Interval, words: Callable[[float], str]) -> str:
    return "" if np.isnan(found.low) else f" (95 % CI {words(found.low)} to {words(found.high)})"


def _versus(summary: Summary, measure: str, entry: int, words: Callable[[float], str], lower: str) -> str:
    """Say how an entry differs from the baseline; `lower` is the word for a lower number."""
    differences = summary.overall_differences[measure]
    found, judged = differences.at(entry), differences.verdict(entry)
    if judged is Verdict.UNKNOWN:
        return "one split cannot show whether the difference is significant"
    p = f"corrected p {p_words(float(differences.corrected[entry]))}"
    if judged is Verdict.ALIKE:
        size = f"{words(found.mean)}, by itself with a 95 % CI of {words(found.low)} to {words(found.high)}"
        return f"no evidence of a difference ({size}; {p})"
    ends = sorted([abs(found.low), abs(found.high)])
    word = lower if judged is Verdict.BETTER else "more"
    return f"it has {words(abs(found.mean))} {word} (95 % CI {words(ends[0])} to {words(ends[1])}, {p})"


def _significant(n: int) -> str:
    return f"{n:,} {'is' if n == 1 else 'are'} significant"


def _nothing_judged(summary: Summary) -> str:
    if summary.comparison.design.n_seeds < 2 and not summary.counts_tables:
        return f"One split of the samples is no evidence of a difference: add seeds, or {_keep(summary)}."
    return f"Nothing was compared with a baseline, as AdaBoost or its threshold is not included; {_keep(summary)}."


def _keep(summary: Summary) -> str:
    """Say what to do where nothing is shown to be better than AdaBoost."""
    if summary.comparison.kind == "tables":
        return f"{BASELINE_WORDS} will do"
    usual = TrainingSettings()
    worse = [
        claim
        for claim in summary.claims
        if claim.verdict is Verdict.WORSE and claim.measure != "cost"
        if summary.comparison.entries[claim.entry].contender == Contender(usual.booster)
        and summary.comparison.entries[claim.entry].costs == usual.costs
    ]
    return (
        f"AdaBoost is better than the default, {default_name()}"
        if worse
        else f"keep the default, {default_name()}"
    )


def _named(summary: Summary, claims: Sequence[Claim]) -> str:
    """Name claims, those of least p-value first."""
    names = []
    for claim in claims:
        entry = summary.comparison.entries[claim.entry]
        title = MEASURES[claim.measure].title if claim.measure in MEASURES else f"{claim.measure} a window"
        who = f"{pair_name(entry)}, {entry.rule}" if claim.measure != "cost" else entry.name
        names.append(f"{title} of {who} (p {p_words(claim.corrected)})")
    return listed(names)
