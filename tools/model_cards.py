"""What the cards of all models share."""

from __future__ import annotations

from vjcascade import Cascade

STAGE_COLUMNS = (
    "stage",
    "weak",
    "threshold",
    "hit rate",
    "false-alarm rate",
    "natural: hit",
    "natural: false",
    "so far: hit",
    "so far: false",
    "windows searched",
)


def stage_rows(cascade: Cascade, first: int = 1) -> str:
    """Return the table of a model's stages by its own record, from `first` on, in Markdown."""
    rows = [
        f"| {s['stage']} | {s['n_weak']} | {s['tuned']['threshold']:.2f} | {s['tuned']['hit_rate']:.4f} "
        f"| {s['tuned']['false_alarm_rate']:.3f} | {s['natural']['hit_rate']:.4f} "
        f"| {s['natural']['false_alarm_rate']:.3f} | {s['overall_hit_rate']:.4f} "
        f"| {s['overall_false_alarm_rate']:.1e} | {s['windows_searched']:,} |"
        for s in cascade.metadata["stages"]
        if s["stage"] >= first
    ]
    return "\n".join([f"| {' | '.join(STAGE_COLUMNS)} |", "|---" * len(STAGE_COLUMNS) + "|", *rows])
