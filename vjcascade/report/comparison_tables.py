"""The tables of a comparison's report: which numbers stand where, and which are left to the CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from vjcascade.boosters import Costs
from vjcascade.boosters.state import Floats
from vjcascade.comparison.answer import few, p_words, pair_name, share
from vjcascade.comparison.contrasts import Outcome
from vjcascade.comparison.design import Contender, Entry, Rule
from vjcascade.comparison.results import MEASURES
from vjcascade.comparison.summary import Bands, Differences, RankTest, Summary
from vjcascade.messages import pluralize, shortened
from vjcascade.report.heat import EMPTY, Cell, Grid, cell, grid
from vjcascade.training.stage import BASELINE

MAX_ROWS = 30
"""Rows of a table, the best ones; the baseline is one more."""

MAX_COSTS = 8
"""Costs that tables show; of more, some are picked evenly."""

MAX_ACROSS = 8
"""Datasets side by side: as many as fit on paper."""

MAX_DATASET_ROWS = 10
"""Rows for each costs, where every table has a column."""

MAX_NAME = 24
"""Letters of a dataset's name in a table or chart."""

MAX_ERROR_GRIDS = 4
"""Costs whose class errors are shown over rounds."""

Maker = Callable[[int], Cell]
"""Makes an entry's cell from its number."""

Words = Callable[[float], str]
"""Writes a number."""


def percent(number: float) -> str:
    """Return a share in percent, without the sign.

    Examples
    --------
    >>> percent(0.0123), percent(1.0)
    ('1.23', '100.00')
    """
    return f"{100 * number:.2f}"


def shown_costs(summary: Summary) -> list[Costs]:
    """Return the costs that tables show, the first and the last among them."""
    costs = summary.comparison.design.costs
    n = min(len(costs), MAX_COSTS)
    return [costs[i] for i in np.linspace(0, len(costs) - 1, n).round().astype(int)]


def shown_contenders(summary: Summary) -> list[Contender]:
    """Return those who have a row, the best first: by weak classifiers, over tables by cost."""
    design = summary.comparison.design
    measure = "weak" if summary.comparison.kind == "stages" and summary.weak_rank_test.entries else "cost"
    means = summary.overall[measure].mean
    best = {one: float("inf") for one in design.contenders}
    for place, entry in enumerate(summary.comparison.entries):
        if (measure == "cost" or entry.rule is Rule.HIT_RATE) and not np.isnan(means[place]):
            best[entry.contender] = min(best[entry.contender], float(means[place]))
    order = sorted(best, key=lambda one: (one.shuffled, best[one]))
    return [one for i, one in enumerate(order) if i < MAX_ROWS or one == Contender(BASELINE)]


def by_costs(summary: Summary, rule: Rule, make: Maker, *, title: str = "", low_is_good: bool = True) -> Grid:
    """Return a table with a row for each booster and a column for each costs.

    Parameters
    ----------
    summary : Summary
        Of the comparison.
    rule : Rule
        Of the entries to show.
    make : callable
        Makes their cells.
    title : str
        Above the table.
    low_is_good : bool
        Of the cells' values.

    Returns
    -------
    Grid
        Without rows if no entry has the rule.
    """
    costs = shown_costs(summary)
    rows = [
        (who.name, [_made(summary, Entry(who, one, rule), make) for one in costs])
        for who in shown_contenders(summary)
    ]
    return grid(title, [str(one) for one in costs], rows, low_is_good=low_is_good)


def weak_cell(summary: Summary) -> Maker:
    """Return what makes the cell of an entry's weak classifiers in all finished datasets."""
    complete = list(summary.complete)
    most = summary.comparison.design.n_rounds * len(complete)

    def make(entry: int) -> Cell:
        bands = summary.overall["weak"], summary.overall_differences["weak"]
        made = _compared(summary, "weak", bands, few, entry)
        return _as_known(made, summary.reached[complete, entry], most)

    return make


def features_cell(summary: Summary) -> Maker:
    """Return what makes the cell of an entry's expected features per window."""
    found = summary.features
    if found is None:
        return lambda _: EMPTY
    differences = summary.overall_differences["features"]

    def make(entry: int) -> Cell:
        made = _compared(summary, "weak", (found, differences), few, entry)
        return _as_known(made, summary.reached[list(summary.complete), entry])

    return make


def seconds_cell(summary: Summary) -> Maker:
    """Return what makes the cell of an entry's processor time."""
    return lambda entry: cell(summary.overall["seconds"].at(entry), few)


def errors_cell(summary: Summary) -> Maker:
    """Return what makes the cell of class errors: misses and false alarms; below, their ratio."""
    hits, false_alarms = summary.overall["hit_rate"].mean, summary.overall["false_alarm_rate"].mean

    def make(entry: int) -> Cell:
        return _errors(1 - float(hits[entry]), float(false_alarms[entry]))

    return make


def errors_over_rounds(summary: Summary) -> list[Grid]:
    """Return for some costs a table of class errors at the natural threshold: rows of boosters, columns of rounds."""
    unequal = [costs for costs in shown_costs(summary) if costs.ratio != 1][:MAX_ERROR_GRIDS]
    rounds = summary.comparison.design.kept_rounds
    picked = np.unique(np.linspace(0, len(rounds) - 1, MAX_COSTS).round().astype(int)).tolist()

    def cells(place: int | None) -> list[Cell]:
        if place is None or not summary.complete:
            return [EMPTY for _ in picked]
        hits, false_alarms = (
            summary.curves(place, name).mean(axis=0) for name in ("hit_rate", "false_alarm_rate")
        )
        return [_errors(1 - float(hits[i]), float(false_alarms[i])) for i in picked]

    found = [
        grid(
            f"costs {costs}",
            [pluralize(rounds[i], "round") for i in picked],
            [
                (who.name, cells(summary.place_of(Entry(who, costs, Rule.NATURAL))))
                for who in shown_contenders(summary)
            ],
        )
        for costs in unequal
    ]
    return [one for one in found if one.rows]


def contrast_row(outcome: Outcome) -> list[str]:
    """Return the words of a contrast's row: question, costs, sides with their means, difference, p-values, verdict."""
    asked, found = outcome.contrast, outcome.difference
    words = few if asked.measure == "weak" else share
    pairs = zip((asked.first, asked.second), outcome.means, strict=True)
    ends = "" if np.isnan(found.low) else f" ({words(found.low)} to {words(found.high)})"
    known = not np.isnan(found.mean)
    return [
        asked.question,
        MEASURES[asked.measure].title,
        str(outcome.costs),
        *(f"{side.booster}, {side.rule}: {words(mean)}" for side, mean in pairs),
        f"{words(found.mean)}{ends}" if known else "–",
        p_words(outcome.corrected) if not np.isnan(outcome.corrected) else "–",
        str(outcome.verdict),
    ]


def calibration_cell(summary: Summary) -> Maker:
    """Return what makes the cell of an AUC; below, the calibration errors without and with Platt's sigmoid."""
    plain, platt = (summary.overall[name].mean for name in ("calibration_error", "calibration_error_platt"))

    def make(entry: int) -> Cell:
        found = summary.overall["auc"].at(entry)
        if np.isnan(found.mean):
            return Cell("–")
        half = "" if np.isnan(found.low) else f" ± {(found.high - found.low) / 2:.3f}"
        return Cell(f"{found.mean:.4f}{half}", f"{plain[entry]:.3f} → {platt[entry]:.3f}", found.mean)

    return make


def cost_grids(summary: Summary) -> list[Grid]:
    """Return for each costs a table of what decisions cost, a row for each booster, a column for each rule."""
    rules = summary.comparison.design.rules
    bands = summary.overall["cost"], summary.overall_differences["cost"]

    def make(entry: int) -> Cell:
        return _compared(summary, "cost", bands, percent, entry)

    return [
        grid(
            f"costs {costs}",
            [str(rule) for rule in rules],
            [
                (who.name, [_made(summary, Entry(who, costs, rule), make) for rule in rules])
                for who in shown_contenders(summary)
            ],
        )
        for costs in shown_costs(summary)
    ]


def weak_rows(summary: Summary) -> list[int]:
    """Return the entries that have a row where weak classifiers are told, best first."""
    first = Entry(Contender(BASELINE), summary.comparison.design.costs[0], Rule.HIT_RATE)
    return best_of(summary.weak_rank_test, MAX_ROWS, summary.place_of(first))


def weak_by_dataset(summary: Summary) -> list[Grid]:
    """Return tables of the weak classifiers that each stage takes, a row for each pair of booster and costs."""
    rows = weak_rows(summary)
    names = [pair_name(summary.comparison.entries[entry]) for entry in rows]
    return list(_by_dataset(summary, "weak", rows, names, ""))


def cost_by_dataset(summary: Summary) -> list[Grid]:
    """Return for each costs tables of what decisions cost on each table, a row for each pair of booster and rule."""
    grids: list[Grid] = []
    for costs in shown_costs(summary):
        rule = summary.baseline_rule("cost")
        baseline = None if rule is None else summary.place_of(Entry(Contender(BASELINE), costs, rule))
        rows = best_of(summary.cost_rank_tests[costs], MAX_DATASET_ROWS, baseline)
        entries = [summary.comparison.entries[entry] for entry in rows]
        names = [f"{entry.contender.name}, {entry.rule}" for entry in entries]
        grids += _by_dataset(summary, "cost", rows, names, f"costs {costs}")
    return grids


def best_of(rank_test: RankTest, most: int, baseline: int | None) -> list[int]:
    """Return a rank test's best entries by mean rank, and the baseline.

    Parameters
    ----------
    rank_test : RankTest
        Of whom.
    most : int
        How many.
    baseline : int or None
        Entry to be kept however it ranks.

    Returns
    -------
    list of int
        Entries, best first.
    """
    order = [rank_test.entries[place] for place in rank_test.order]
    return [entry for i, entry in enumerate(order) if i < most or entry == baseline]


def thresholds_rows(summary: Summary) -> list[tuple[str, list[str]]]:
    """Return natural beside tuned thresholds: hit rate, false-alarm rate, and how often the targets are held.

    Parameters
    ----------
    summary : Summary
        Of the comparison.

    Returns
    -------
    list of (str, list of str)
        Rows with their names, the best of the tuned ones first: three numbers for the natural threshold and three
        for the tuned one.
    """
    design, entries = summary.comparison.design, summary.comparison.entries
    if not {Rule.NATURAL, Rule.HIT_RATE} <= set(design.rules) or not summary.complete:
        return []
    reached = summary.reached[list(summary.complete)].mean(axis=0)

    def numbers(entry: int) -> list[str]:
        rates = [summary.overall[name].mean[entry] for name in ("hit_rate", "false_alarm_rate")]
        return [f"{rate:.1%}" for rate in [*rates, reached[entry]]]

    rows = []
    for tuned in weak_rows(summary):
        one = entries[tuned]
        natural = summary.place_of(Entry(one.contender, one.costs, Rule.NATURAL))
        if natural is not None:
            rows.append((pair_name(one), [*numbers(natural), *numbers(tuned)]))
    return rows


def _made(summary: Summary, entry: Entry, make: Maker) -> Cell:
    place = summary.place_of(entry)
    return EMPTY if place is None else make(place)


def _errors(missed: float, false: float) -> Cell:
    """Return the cell of two error rates and of their ratio."""
    if np.isnan(missed):
        return Cell("–")
    ratio = f"ratio {few(missed / false)}" if false else ""
    return Cell(f"{missed:.1%} / {false:.1%}", ratio)


def _compared(
    summary: Summary, measure: str, bands: tuple[Bands, Differences], words: Words, *place: int
) -> Cell:
    """Return the cell of a mean that is compared with the baseline; `place` ends with the entry."""
    found, differences = bands
    baseline = summary.baseline_of(place[-1], measure)
    if baseline == place[-1]:
        return cell(found.at(*place), words)._replace(mark="base")
    return cell(found.at(*place), words, None if baseline is None else differences.verdict(*place))


def _as_known(made: Cell, reached: Floats, most: int | None = None) -> Cell:
    """Say so if a number is only known to be as large, or weak classifiers to be more than were trained."""
    if np.isnan(made.value) or reached.min() == 1:
        return made
    if most is not None and reached.max() == 0:
        return made._replace(words=f"> {most:,}", small="")
    return made._replace(words=f"≥ {made.words}")


def _by_dataset(
    summary: Summary, measure: str, rows: Sequence[int], names: Sequence[str], title: str
) -> Iterator[Grid]:
    """Yield tables with a column for each dataset, as many as it takes."""
    datasets = summary.comparison.datasets
    for across in np.array_split(np.arange(len(datasets)), max(-(-len(datasets) // MAX_ACROSS), 1)):
        cells = [[_dataset_cell(summary, measure, dataset, entry) for dataset in across] for entry in rows]
        heads = [shortened(datasets[dataset].name, MAX_NAME) for dataset in across]
        yield grid(title, heads, list(zip(names, cells, strict=True)), by_column=True)


def _dataset_cell(summary: Summary, measure: str, dataset: int, entry: int) -> Cell:
    bands = summary.means[measure], summary.differences[measure]
    if measure == "cost":
        return _compared(summary, measure, bands, percent, dataset, entry)
    made = _compared(summary, measure, bands, few, dataset, entry)
    return _as_known(made, summary.reached[dataset, [entry]], summary.comparison.design.n_rounds)
