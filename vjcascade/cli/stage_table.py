"""What a stage reached, as a row of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LEGEND = """\
In each row: what one more stage brings. hit: share of the positives that pass; false: share of the negatives that do.
  tuned      at the threshold tuned for the hit rate, which the stage uses (at: that threshold)
  natural    at threshold 0, where the costs alone decide
  AdaBoost   plain AdaBoost with as many weak classifiers on the same windows, its threshold tuned likewise
  so far     all stages together: share of all positives, and of all windows in the photos, that pass
  searched   windows looked at to find this stage's negatives
  *          measured on the windows of the training itself, so too good to be true; the others were held out"""

HEADER = """\
                      tuned            natural         AdaBoost           so far         windows
stage weak  at       hit   false      hit   false      hit   false      hit     false    searched"""

TIME_LEGEND = """\
  left       for the stages that should still come, if each takes as long as the slower of the last two"""

TIME_HEADER = "     time     left"


def stage_row(record: Mapping[str, Any]) -> str:
    """Return a row below `HEADER`.

    Parameters
    ----------
    record : mapping
        A `StageRecord` as plain values, as models keep it in their metadata.

    Returns
    -------
    str
        One line, in the columns of `HEADER`.
    """
    hit_mark, false_mark = (
        "*" if record[on] == "training" else " " for on in ("hit_rate_on", "false_alarm_rate_on")
    )

    def pair(rates: Mapping[str, float] | None) -> str:
        if rates is None:
            return f"{'-':>6}  {'-':>6}  "
        return f"{_percent(rates['hit_rate'])}{hit_mark} {_percent(rates['false_alarm_rate'])}{false_mark}  "

    held_out = record["overall_held_out_hit_rate"]
    so_far, so_far_mark = (record["overall_hit_rate"], "*") if held_out is None else (held_out, " ")
    return (
        f"{record['stage']:5} {record['n_weak']:4} {record['tuned']['threshold']:6.2f} "
        f"{pair(record['tuned'])}{pair(record['natural'])}{pair(record['baseline'])}"
        f"{_percent(so_far)}{so_far_mark}  {record['overall_false_alarm_rate']:.1e}{false_mark} "
        f"{record['windows_searched']:11,}"
    )


def _percent(rate: float) -> str:
    return f"{100 * rate:5.1f}%"
