"""A model in a few lines, for `print` and for notebooks: what it is, how it was trained, how good it is."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from vjcascade.cascade import OPERATING_POINT, Cascade
from vjcascade.errors import ModelError
from vjcascade.evaluation.operating_point import OperatingPoint
from vjcascade.messages import pluralize, printable
from vjcascade.training.events import StageRecord
from vjcascade.training.records import read_records


def summary_lines(cascade: Cascade) -> list[str]:
    """Say in some lines what a model is and what is known of it.

    Parameters
    ----------
    cascade : Cascade
        Its metadata may be anything: what cannot be understood is left out.

    Returns
    -------
    list of str
        The first line is the model, as `repr` shows it.

    Examples
    --------
    >>> summary_lines(Cascade((24, 24)))
    ['<Cascade: window 24x24, 0 stages, 0 weak classifiers, 0 Haar features>']
    """
    return [repr(cascade), *(printable(f"{name}: {value}") for name, value in _facts(cascade))]


def summary_html(cascade: Cascade) -> str:
    """Return what `summary_lines` says, and a table of the stages, as HTML for notebooks.

    Examples
    --------
    >>> summary_html(Cascade((24, 24)))
    '<p><b>Cascade</b>: window 24x24, 0 stages, 0 weak classifiers, 0 Haar features</p>'
    """
    title = repr(cascade).removeprefix("<Cascade: ").removesuffix(">")
    facts = "".join(f"<br>{escape(name)}: {escape(value)}" for name, value in _facts(cascade))
    first = f"<p><b>Cascade</b>: {title}{facts}</p>"
    if not cascade.n_stages:
        return first
    records = {record.stage: record for record in _records(cascade)}
    heading = "".join(
        f"<th>{name}</th>"
        for name in (
            "stage",
            "weak classifiers",
            "threshold",
            *(("hit rate", "false-alarm rate") if records else ()),
        )
    )
    rows = []
    for stage, (size, threshold) in enumerate(
        zip(cascade.stage_sizes, cascade.stage_thresholds, strict=True), 1
    ):
        record = records.get(stage)
        rates = (
            (f"{record.tuned.hit_rate:.1%}", f"{record.tuned.false_alarm_rate:.1%}") if record else ("", "")
        )
        cells = (str(stage), str(size), f"{threshold:.4g}", *(rates if records else ()))
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    return f"{first}<table><thead><tr>{heading}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _facts(cascade: Cascade) -> Iterator[tuple[str, str]]:
    """Yield what metadata say, each with its name."""
    records = _records(cascade)
    settings = cascade.metadata.get("settings")
    match settings:
        case {"booster": str(booster), "costs": [int() | float() as miss, int() | float() as false_alarm]}:
            yield "trained by", f"{booster}, costs {miss:g}:{false_alarm:g}"
    if records:
        first, last = records[0], records[-1]
        counts = (
            f"{pluralize(first.n_positives, 'positive')}, {pluralize(first.n_negatives, 'negative')} a stage"
        )
        yield "trained on", counts
        held_out = "held-out" if last.overall_held_out_hit_rate is not None else "training"
        yield (
            "passes"
            if last.stage == cascade.n_stages
            else f"passes the first {pluralize(last.stage, 'stage')}",
            (
                f"{last.hit_rate_so_far:.1%} of the {held_out} positives, about one in "
                f"{1 / last.overall_false_alarm_rate:,.0f} windows of background"
            ),
        )
    if cascade.metadata.get(OPERATING_POINT) is not None:
        try:
            yield "tuned to", str(OperatingPoint.of(cascade))
        except ModelError as error:
            yield "tuned to", str(error)


def _records(cascade: Cascade) -> list[StageRecord]:
    """Return the records of the stages; none where there is none that can be understood."""
    try:
        return read_records(cascade.metadata)
    except (LookupError, TypeError, ValueError):
        return []
