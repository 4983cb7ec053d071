"""The table of a cascade's stages: its columns, what they mean, and the cells of a stage.

A log, a terminal and `vjcascade inspect` show the same table, each with the columns that it knows or has room for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from vjcascade.messages import duration
from vjcascade.training.events import Rates, RunBegun, SceneFigures


class Column(NamedTuple):
    """A column of the table.

    Attributes
    ----------
    key : str
        Of the cell.
    group, title : str
        The two lines of its header.
    width : int
        Characters, the gap before it included.
    meaning : str
        What the legend says of it, or of the columns of its group.
    """

    key: str
    group: str
    title: str
    width: int
    meaning: str = ""

    @property
    def label(self) -> str:
        """Name in the legend: the column's, or that of the group of two that it begins."""
        return self.title if self.title == self.key else self.group


COLUMNS = (
    Column("stage", "", "stage", 5),
    Column("weak", "", "weak", 5),
    Column("at", "", "at", 7, "threshold of the stage"),
    Column("hit", "tuned", "hit ", 8, "at the threshold tuned for the hit rate, which the stage uses"),
    Column("false", "", "false ", 8),
    Column("natural_hit", "natural", "hit ", 9, "at threshold 0, where the costs alone decide"),
    Column("natural_false", "", "false ", 8),
    Column(
        "baseline_hit",
        "AdaBoost",
        "hit ",
        9,
        "plain AdaBoost with as many weak classifiers on the same windows, its threshold tuned the same way",
    ),
    Column("baseline_false", "", "false ", 8),
    Column(
        "so_far_hit",
        "so far",
        "hit ",
        9,
        "all stages so far: share of all positives, and of all windows in the photos, that pass",
    ),
    Column("so_far_false", "", "false ", 9),
    Column(
        "scene_recall",
        "scenes",
        "recall ",
        10,
        "on the labelled scenes: recall and false alarms at default settings, and the best F1 over all scores",
    ),
    Column("scene_false", "", "false ", 8),
    Column("scene_f1", "", "best F1", 9),
    Column("pass", "", "pass", 8, "share of the windows scanned that pass all earlier stages"),
    Column("searched", "windows", "searched", 14, "windows scanned to mine this stage's negatives"),
    Column("memory", "", "memory", 9),
    Column("time", "", "time", 9),
    Column(
        "left",
        "",
        "left",
        9,
        "estimate for the remaining stages, each slower than the one before",
    ),
)

SCENES = frozenset({"scene_recall", "scene_false", "scene_f1"})
"""Shown only where scenes are given."""

BASELINE = frozenset({"baseline_hit", "baseline_false"})
"""Shown only where AdaBoost is trained, too."""

RECORDED = tuple(column for column in COLUMNS if column.key not in {"pass", "memory", "time", "left"})
"""What a model tells of its stages."""

LOGGED = tuple(column for column in COLUMNS if column.key not in {"pass", "memory"})

LIVE = tuple(column for column in COLUMNS if column.key != "at")
"""What a terminal shows that is wide enough."""

SPARE = (
    {"memory"},
    {"pass"},
    {"searched"},
    {"natural_hit", "natural_false"},
    BASELINE,
    {"time"},
    {"left"},
    {"weak"},
    {"hit", "false"},
    {"scene_f1"},
    {"so_far_false"},
    {"scene_false"},
    {"scene_recall"},
)
"""Columns that a narrow terminal goes without, the first ones first."""

TRAINING_MARK = "*"

INTRODUCTION = (
    "In each row: what one more stage brings. hit: share of the positives that pass; false: share of the negatives "
    "that do."
)
MARKED = (
    TRAINING_MARK,
    "measured on the training windows, so much too optimistic; the others were held out",
)
"""The first and the last line of the legend."""


def chosen_columns(
    columns: Sequence[Column], *, has_scenes: bool = False, has_baseline: bool = True
) -> tuple[Column, ...]:
    """Return columns, with those of scenes only where there are scenes, and those of AdaBoost where it is trained.

    Parameters
    ----------
    columns : sequence of Column
        All that may be shown.
    has_scenes, has_baseline : bool
        What is measured; see `measured`.

    Returns
    -------
    tuple of Column
        In the same order.
    """
    empty = (frozenset() if has_scenes else SCENES) | (frozenset() if has_baseline else BASELINE)
    return tuple(column for column in columns if column.key not in empty)


def measured(event: RunBegun) -> dict[str, bool]:
    """Return what a run measures, or measured in the stages that are there, as `chosen_columns` takes it."""
    compared = any(record.baseline is not None for record in event.records)
    return {
        "has_scenes": "scenes" in event.counts,
        "has_baseline": compared or event.settings.get("baseline", True),
    }


def columns_for(width: int, *, has_scenes: bool = False, has_baseline: bool = True) -> tuple[Column, ...]:
    """Return the columns that a terminal has room for, so that no figure is cut.

    Parameters
    ----------
    width : int
        Characters of a line.
    has_scenes, has_baseline : bool
        What is measured; see `measured`.

    Returns
    -------
    tuple of Column
        In the order of `COLUMNS`.

    Examples
    --------
    >>> len(columns_for(160)), [column.key for column in columns_for(60)]
    (15, ['stage', 'weak', 'hit', 'false', 'so_far_hit', 'so_far_false', 'left'])
    >>> [column.key for column in columns_for(60, has_scenes=True)]
    ['stage', 'so_far_hit', 'so_far_false', 'scene_recall', 'scene_false', 'scene_f1']
    """
    shown = chosen_columns(LIVE, has_scenes=has_scenes, has_baseline=has_baseline)
    for spare in SPARE:
        if sum(column.width for column in shown) <= width:
            break
        shown = tuple(column for column in shown if column.key not in spare)
    return shown


def legend(columns: Sequence[Column]) -> str:
    """Return what the columns, and marks in them, mean; a line for each."""
    meanings = [(column.label, column.meaning) for column in columns if column.meaning]
    return "\n".join([INTRODUCTION, *(f"  {name:<10} {meaning}" for name, meaning in [*meanings, MARKED])])


def header(columns: Sequence[Column]) -> str:
    """Return the two lines above the rows."""
    groups = "".join(column.group.rjust(column.width) for column in columns)
    return f"{groups.rstrip()}\n{''.join(column.title.rjust(column.width) for column in columns)}"


def row(columns: Sequence[Column], cells: Mapping[str, str]) -> str:
    """Return a line with the cells of a stage, by key; some may be missing, and none is cut."""
    return " ".join(
        cells.get(column.key, "").rjust(column.width - (i > 0)) for i, column in enumerate(columns)
    )


def record_cells(record: Mapping[str, Any]) -> dict[str, str]:
    """Return what the table says of a stage by its record.

    Parameters
    ----------
    record : mapping
        A `StageRecord` as plain values, as models keep it in their metadata.

    Returns
    -------
    dict
        Cells by the keys of their columns.
    """
    hit_mark, false_mark = (
        TRAINING_MARK if record[on] == "training" else " " for on in ("hit_rate_on", "false_alarm_rate_on")
    )
    held_out = record["overall_held_out_hit_rate"]
    so_far, so_far_mark = (record["overall_hit_rate"], TRAINING_MARK) if held_out is None else (held_out, " ")
    cells = {
        "stage": f"{record['stage']:d}",
        "weak": f"{record['n_weak']:d}",
        "at": f"{record['tuned']['threshold']:.2f}",
        "so_far_hit": f"{so_far:.1%}{so_far_mark}",
        "so_far_false": f"{record['overall_false_alarm_rate']:.1e}{false_mark}",
        "searched": f"{record['windows_searched']:,}",
    }
    if record.get("scenes") is not None:
        figures = msgspec.convert(record["scenes"], SceneFigures)
        cells |= {
            "scene_recall": f"{figures.usual.recall:.1%} ",
            "scene_false": f"{figures.n_false_alarms:,} ",
            "scene_f1": f"{figures.best.f1:.3f}",
        }
    for name, rates in (("", "tuned"), ("natural_", "natural"), ("baseline_", "baseline")):
        values = record[rates]
        cells |= rate_cells(name, None if values is None else Rates(**values), hit_mark, false_mark)
    return cells


def left_cell(seconds: float | None) -> dict[str, str]:
    """Return the cell of the time that is left; an empty one while it is not known."""
    return {"left": "" if seconds is None else duration(seconds)}


def rate_cells(name: str, rates: Rates | None, hit_mark: str = " ", false_mark: str = " ") -> dict[str, str]:
    """Return the two cells of a pair of rates.

    Parameters
    ----------
    name : str
        What their keys begin with.
    rates : Rates or None
        None where they are not known.
    hit_mark, false_mark : str
        One character each, behind the figures.

    Returns
    -------
    dict
        Cells by the keys of their columns.
    """
    if rates is None:
        return {f"{name}hit": "- ", f"{name}false": "- "}
    return {
        f"{name}hit": f"{rates.hit_rate:.1%}{hit_mark}",
        f"{name}false": f"{rates.false_alarm_rate:.1%}{false_mark}",
    }
