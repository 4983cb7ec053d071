"""Say how far a published comparison of tables can be trusted: what another test claims, and what would go unseen.

``python tools/comparison_robustness.py samples/comparison`` reads the single results of a comparison of tables
(``tables-cells.csv.gz``), judges them anew, must get the p-values of ``tables-cost.csv`` and ``tables-contrasts.csv``, and writes
``tables-robustness.json``:

* what Wilcoxon's signed-rank test claims, beside the t: it asks for no normal numbers, only symmetric ones;
* how often a whole run claims anything where there is no difference: what each table tells is kept, skewed and dependent as
  it is, but its sign is drawn, the same for all of its differences; or tables are drawn with replacement from differences
  less their mean (of all comparisons, and of those that the t claims); or, for ranks, the costs of each table are dealt out anew;
* the smallest difference that would have been found in 80 % of such runs;
* Friedman's p-values and Nemenyi's critical differences of ranks.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vjcascade.comparison.significance import FAMILIES, SIGNIFICANT, corrected_in_families, p_values
from vjcascade.comparison.statistics import critical_difference, friedman, mean_ranks
from vjcascade.files import write_atomic

CELLS, COST, CONTRASTS, ROBUSTNESS = (
    f"tables-{name}" for name in ("cells.csv.gz", "cost.csv", "contrasts.csv", "robustness.json")
)

POWER = 0.8

WRONG = (
    "signs drawn",
    "tables drawn with replacement",
    "tables drawn with replacement, those that the t claims",
    "ranks: costs dealt out anew",
)
"""How runs without a difference are made, and what counts in them."""

Floats = NDArray[np.float64]
Who = tuple[str, str, str]
"""Booster, costs, threshold rule."""


@dataclass(frozen=True)
class Family:
    """Paired differences that are corrected together.

    Attributes
    ----------
    costs : sequence of str
        Of each difference.
    values : ndarray of shape (n_differences, n_tables)
        Means over the splits of each table.
    corrected : ndarray of shape (n_differences,)
        As published, to four digits.
    """

    costs: Sequence[str]
    values: Floats
    corrected: Floats


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="of the published tables")
    parser.add_argument("--repeats", type=int, default=2000, help="runs to simulate")
    arguments = parser.parse_args()
    path = arguments.folder / ROBUSTNESS
    write_atomic(
        path, (json.dumps(robustness(arguments.folder, arguments.repeats), indent=1) + "\n").encode()
    )
    print(f"{path} written")


def robustness(folder: Path, n_repeats: int) -> dict[str, object]:
    """Return all that is written, as JSON values."""
    costs_of = table_costs(folder / CELLS)
    families = {
        "differences from the baseline": differences(folder / COST, costs_of),
        "contrasts": contrasts(folder / CONTRASTS, costs_of),
    }
    for name, family in families.items():
        if not np.allclose(corrected_by_t(family.values), family.corrected, rtol=1e-3):
            sys.exit(f"error: {folder}: the published p-values of the {name} are not those of its cells")
    by_costs = defaultdict(list)
    for who, costs in costs_of.items():
        by_costs[who[1]].append(costs)
    tables = {name: np.array(rows).T for name, rows in by_costs.items()}
    return {
        "made_of": {
            name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
            for name in (CELLS, COST, CONTRASTS)
        },
        "tests": {name: both_tests(family.values) for name, family in families.items()},
        "runs_with_a_wrong_claim": {
            "repeats": n_repeats,
            **wrong_claims([family.values for family in families.values()], tables, n_repeats),
        },
        "found_in_80_percent": {
            name: detectable(family, n_repeats, seed) for seed, (name, family) in enumerate(families.items())
        },
        "ranks": dict(rank_tests(tables)),
    }


def table_costs(path: Path) -> dict[Who, Floats]:
    """Return the mean cost of each booster, costs and rule on each table, tables in one order."""
    found: dict[Who, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            who = row["booster"], row["costs"], row["rule"]
            found[who][row["block"]].append(float(row["cost"]))
    return {
        who: np.array([np.mean(tables[name]) for name in sorted(tables)]) for who, tables in found.items()
    }


def differences(path: Path, costs_of: Mapping[Who, Floats]) -> Family:
    """Return what is compared with the baseline, at the same costs: all lines that have a corrected p-value."""
    rows = _rows(path)
    prefix = "difference from "
    (column,) = (name for name in rows[0] if name.startswith(prefix))
    booster, rule = column.removeprefix(prefix).split(", ")
    judged = [row for row in rows if row["difference_corrected_p"] != "nan"]
    values = [
        costs_of[row["booster"], row["costs"], row["rule"]] - costs_of[booster, row["costs"], rule]
        for row in judged
    ]
    corrected = [float(row["difference_corrected_p"]) for row in judged]
    return Family([row["costs"] for row in judged], np.array(values), np.array(corrected))


def contrasts(path: Path, costs_of: Mapping[Who, Floats]) -> Family:
    """Return the contrasts of costs."""
    rows = [row for row in _rows(path) if row["measure"] == "cost"]
    sides = (
        [costs_of[row[f"{side}_booster"], row["costs"], row[f"{side}_rule"]] for row in rows]
        for side in ("first", "second")
    )
    first, second = map(np.array, sides)
    return Family(
        [row["costs"] for row in rows], first - second, np.array([float(row["corrected_p"]) for row in rows])
    )


def corrected_by_t(values: Floats) -> Floats:
    """Return corrected p-values of the t over tables."""
    return corrected_in_families(p_values(values, test_share=0.0))


def corrected_by_wilcoxon(values: Floats) -> Floats:
    """Return corrected p-values of Wilcoxon's signed-rank test over tables; 1 where no table differs."""
    from scipy.stats import wilcoxon

    p = [float(wilcoxon(one).pvalue) if one.any() else 1.0 for one in values]
    return corrected_in_families(np.array(p))


def both_tests(values: Floats) -> dict[str, object]:
    """Count what either test claims."""
    claims = {
        name: test(values) < SIGNIFICANT
        for name, test in (("t", corrected_by_t), ("wilcoxon", corrected_by_wilcoxon))
    }
    means = values.mean(axis=1)
    return {
        "compared": len(values),
        **{
            name: {"lower": int((claimed & (means < 0)).sum()), "higher": int((claimed & (means > 0)).sum())}
            for name, claimed in claims.items()
        },
        "both": int((claims["t"] & claims["wilcoxon"]).sum()),
    }


def wrong_claims(
    families: Sequence[Floats], tables: Mapping[str, Floats], n_repeats: int
) -> dict[str, float]:
    """Return shares of simulated runs without a difference that claim one, in differences or contrasts, and in ranks."""
    rng = np.random.default_rng(0)
    n_tables = families[0].shape[1]
    centred = [values - values.mean(axis=1, keepdims=True) for values in families]
    claimed = [corrected_by_t(values) < SIGNIFICANT for values in families]
    n_wrong = dict.fromkeys(WRONG, 0)
    limits = {costs: critical_rank_difference(values, len(tables)) for costs, values in tables.items()}
    for _ in range(n_repeats):
        signs, drawn = rng.choice([-1.0, 1.0], n_tables), rng.integers(n_tables, size=n_tables)
        again = [corrected_by_t(values[:, drawn]) < SIGNIFICANT for values in centred]
        wrong = (
            any((corrected_by_t(values * signs) < SIGNIFICANT).any() for values in families),
            any(map(np.any, again)),
            any((one & before).any() for one, before in zip(again, claimed, strict=True)),
            any(
                np.ptp(mean_ranks(rng.permuted(values, axis=1))) >= limits[costs]
                for costs, values in tables.items()
            ),
        )
        for name, is_wrong in zip(WRONG, wrong, strict=True):
            n_wrong[name] += is_wrong
    return {name: number / n_repeats for name, number in n_wrong.items()}


def detectable(family: Family, n_repeats: int, seed: int) -> dict[str, dict[str, float]]:
    """Return, by costs, the smallest difference that is claimed in 80 % of the runs if it is the only one there is.

    In points of cost: of all comparisons at these costs the median, the least and the greatest.
    """
    from scipy.special import stdtrit

    rng = np.random.default_rng([1, seed])
    n_differences, n_tables = family.values.shape
    varies = family.values.any(axis=1)
    smallest_p = SIGNIFICANT / (FAMILIES * n_differences)  # the first step of Holm's method
    limit = stdtrit(n_tables - 1, 1 - smallest_p / 2)
    needed = np.empty((n_repeats, n_differences))
    for repeat in needed:
        values = family.values * rng.choice([-1.0, 1.0], n_tables)
        repeat[:] = limit * values.std(axis=1, ddof=1) / math.sqrt(n_tables) - values.mean(axis=1)
    points = 100 * np.quantile(needed, POWER, axis=0)
    at = np.array(family.costs)
    return {
        costs: {
            name: round(float(of(points[varies & (at == costs)])), 2)
            for name, of in (("median", np.median), ("least", np.min), ("greatest", np.max))
        }
        for costs in dict.fromkeys(family.costs)
    }


def rank_tests(tables: Mapping[str, Floats]) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield, by costs, Friedman's corrected p-value and how far ranks must lie apart."""
    found = {costs: friedman(values) for costs, values in tables.items()}
    corrected = corrected_in_families(np.array([one.p_value if one else np.nan for one in found.values()]))
    for (costs, values), p in zip(tables.items(), corrected, strict=True):
        yield (
            costs,
            {
                "entries": values.shape[1],
                "friedman_corrected_p": float(f"{p:.4g}"),
                "critical_difference": round(critical_rank_difference(values, len(tables)), 2),
            },
        )


def critical_rank_difference(values: Floats, n_tests: int) -> float:
    """Return Nemenyi's, for one of so many sets of ranks; `values` has a row for each table."""
    n_tables, n_entries = values.shape
    return critical_difference(n_entries, n_tables, 1 - SIGNIFICANT / (FAMILIES * n_tests))


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main()
