"""How a run looks: plain lines in a log, and on a terminal a table whose last row changes."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import replace

import builders
import doubles
import pytest
from msgspec.structs import replace as replace_struct
from rich.console import Console

from vjcascade.cli.live_table import LiveView
from vjcascade.cli.stage_table import (
    COLUMNS,
    LOGGED,
    SCENES,
    chosen_columns,
    columns_for,
    header,
    legend,
    record_cells,
    row,
)
from vjcascade.cli.training_log import TrainingLog, quality
from vjcascade.training.events import (
    Ended,
    MiningDone,
    Note,
    Progress,
    Rates,
    RoundDone,
    RunBegun,
    SceneFigures,
    StageBegun,
    StageDone,
)
from vjcascade.training.time_left import TimeLeft

SETTINGS = {"false_alarm_rate": 0.5, "target_false_alarm_rate": 1e-6}
BEGIN = RunBegun("24x24", SETTINGS, {})
RATES = Rates(0.0, 0.987, 0.4567)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Return `terminal() -> stream`: from now on, standard output is a terminal 160 columns wide."""

    def begin():
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "160")
        monkeypatch.setattr(sys, "stdout", Terminal())
        return sys.stdout

    return begin


def record(stage=1, rate=0.5, **changes):
    return doubles.stage_record(stage, overall_false_alarm_rate=rate, **changes)


def done(stage=1, seconds=4.0, **changes):
    return StageDone(record(stage), 10, seconds, memory=3 * 2**30, pass_rate=0.25, **changes)


def visible(text):
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


def now(view):
    """Return the changing lines as text."""
    console = Console(file=io.StringIO(), width=160)
    console.print(view._now())
    return console.file.getvalue()


def test_a_log_gets_plain_rows(capsys):
    with TrainingLog() as log:
        for event in (
            BEGIN,
            Note("read"),
            StageBegun(1),
            RoundDone(1, 1, RATES, RATES),
            done(),
            done(2),
            Ended("x"),
        ):
            log(event)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "read"
    assert sum(line.startswith("stage weak") for line in lines) == 1
    assert [line.split()[0] for line in lines[-2:]] == ["1", "2"]
    assert lines[-1].split()[-3:] == [
        "4s",
        "1m",
        "44s",
    ]  # of eight stages more, each longer than the one before
    assert "\x1b" not in "".join(lines)


def test_a_terminal_keeps_the_rows_and_the_cursor(terminal):
    stream = terminal()
    with TrainingLog() as log:
        for event in (BEGIN, Progress("reading", 1, 2), Note("[b]read[/b] \x1b[31m"), StageBegun(1), done()):
            log(event)
        assert stream.getvalue().count("\x1b[?25l") == stream.getvalue().count("\x1b[?25h") + 1
    shown = stream.getvalue()
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h")  # hidden while lines change, shown again
    text = visible(shown)
    assert r"[b]read[/b] \x1b[31m" in text
    row = next(line for line in text.splitlines() if line.lstrip().startswith("1 "))
    assert row.split()[:4] == ["1", "1", "66.7%", "0.0%*"]
    assert "3.0 GiB" in row


@pytest.mark.parametrize(("measured_on", "figure"), [("training", "640,944*"), ("held-out", "640,944")])
def test_the_summary_keeps_the_star(measured_on, figure):
    last = record(rate=1 / 640_944, false_alarm_rate_on=measured_on)
    cascade = replace(builders.accept_all(), metadata={"stages": [last.as_dict()]})
    assert f"about one in {figure} windows" in quality(cascade)


def test_an_interrupt_leaves_the_terminal_clean(terminal):
    stream = terminal()

    def run():
        with TrainingLog() as log:
            log(StageBegun(1))
            log(Progress("stage 1: mining", 1, 9))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    shown = stream.getvalue()
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h")
    assert shown.endswith("\x1b[2K")  # the changing lines are erased


def test_the_row_in_progress_tells_what_is_known(terminal):
    stream = terminal()
    view = LiveView(stream)
    try:
        for event in (
            BEGIN,
            StageBegun(3),
            Note("stage 3: 7 negatives are expected"),
            MiningDone(3, 7, 1234, 0.01),
        ):
            view.show(event)
            if isinstance(event, StageBegun):
                view.show(Progress("stage 3: mining", 1, 7, pass_rate=0.02))
                assert now(view).split()[:2] == ["3", "2.0e-02"]
        view.show(Progress("stage 3: boosting", 2, 8, "false-alarm rate 0.457"))
        view.show(RoundDone(3, 2, RATES, Rates(0.0, 0.9, 0.1)))
        row, note, progress = now(view).splitlines()
        assert row.split()[:8] == ["3", "2", "98.7%", "45.7%", "90.0%", "10.0%", "1.0e-02", "1,234"]
        assert note.strip() == "stage 3: 7 negatives are expected"
        assert progress.startswith("stage 3: boosting")
        assert "false-alarm rate 0.457" in progress
        view.show(done(3))
        assert now(view).strip() == ""
    finally:
        view.close()


def test_a_resumed_run_shows_the_earlier_stages(terminal):
    stream = terminal()
    with TrainingLog() as log:
        log(replace(BEGIN, records=(record(1), record(2))))
        log(StageBegun(3))
    rows = [line.split() for line in visible(stream.getvalue()).splitlines() if line.startswith("    ")]
    assert [row[0] for row in rows if row[0].isdecimal()][:2] == ["1", "2"]


def test_other_notes_are_printed_in_the_middle_of_a_stage(terminal):
    stream = terminal()
    with TrainingLog() as log:
        log(StageBegun(1))
        log(Note("events.jsonl: the events of this run can no longer be written"))
    assert "can no longer be written" in visible(stream.getvalue())


FIGURES = SceneFigures(1, 100, 5000, 5000, 99_999, 4900, 12, 1.5)


@pytest.mark.parametrize("has_scenes", [False, True])
@pytest.mark.parametrize("width", [20, 30, 40, 60, 80, 100, 120, 160, 200])
def test_the_table_fits(width, has_scenes):
    columns = columns_for(width, has_scenes=has_scenes)
    found = record(overall_held_out_hit_rate=1.0, windows_searched=2 * 10**9, scenes=FIGURES)
    cells = record_cells(found.as_dict())
    lines = [*header(columns).splitlines(), row(columns, cells)]
    assert max(map(len, lines)) <= width
    assert [column for column in COLUMNS if column in columns] == list(columns)
    assert {"stage", "so_far_hit"} <= {column.key for column in columns}
    shown = {column.key for column in columns}
    if width >= 60 and not has_scenes:
        assert {"weak", "hit", "false", "left"} <= shown
    assert shown & SCENES == (
        SCENES if has_scenes and width >= 60 else shown & SCENES if has_scenes else set()
    )
    if has_scenes and width >= 30:
        assert "scene_recall" in shown


@pytest.mark.parametrize("is_terminal", [False, True])
def test_scenes_have_columns_where_they_are_given(terminal, monkeypatch, capsys, is_terminal):
    if is_terminal:
        terminal()
        monkeypatch.setenv("COLUMNS", "200")
    shown = {}
    for counts in ({}, {"scenes": 100, "objects_in_scenes": 5000}):
        with TrainingLog() as log:
            tried = replace(done(2), record=record(2, scenes=FIGURES if counts else None))
            for event in (replace(BEGIN, counts=counts), StageBegun(1), done(), StageBegun(2), tried):
                log(event)
        shown[bool(counts)] = visible(sys.stdout.getvalue() if is_terminal else capsys.readouterr().out)
        if is_terminal:
            terminal()
            monkeypatch.setenv("COLUMNS", "200")
    assert "recall" not in shown[False]
    assert "recall and false alarms at default settings" in " ".join(shown[True].split())
    assert re.search(r"2 .* 100\.0% +99,999 +0\.989 ", shown[True])


@pytest.mark.parametrize("is_terminal", [False, True])
def test_adaboost_has_columns_where_it_is_trained(terminal, monkeypatch, capsys, is_terminal):
    if is_terminal:
        terminal()
        monkeypatch.setenv("COLUMNS", "200")
    for baseline in (False, True):
        with TrainingLog() as log:
            begin = replace(BEGIN, settings={**BEGIN.settings, "baseline": baseline})
            for event in (begin, StageBegun(1), replace(done(), record=record(baseline=None))):
                log(event)
        text = visible(sys.stdout.getvalue() if is_terminal else capsys.readouterr().out)
        assert ("AdaBoost" in text) == baseline


def test_the_summary_says_recall_where_scenes_were_given():
    plain, tried = (
        record(1),
        record(2, overall_held_out_hit_rate=0.62, scenes=replace_struct(FIGURES, n_stages=2)),
    )
    cascade = replace(
        builders.accept_all(n_stages=2), metadata={"stages": [plain.as_dict(), tried.as_dict()]}
    )
    assert quality(cascade).startswith(
        "on 100 scenes with 5,000 objects, it reaches: recall 98.0%, precision 99.8%, 0.12 false alarms per picture, "
        "F1 0.989\n62.0% of the held-out positives pass (single, exactly aligned windows); "
    )
    best_before = replace_struct(FIGURES, best_hits=5000)
    stages = [record(1, scenes=best_before).as_dict(), tried.as_dict()]
    assert "it reaches with 1 of its stages: recall 100.0%" in quality(
        replace(cascade, metadata={"stages": stages})
    )
    without = quality(replace(cascade, metadata={"stages": [plain.as_dict()]}))
    assert "--validate measures recall on whole scenes" in without


@pytest.mark.parametrize("width", [20, 40, 60, 160])
def test_a_figure_is_never_cut_and_the_star_is_explained(terminal, monkeypatch, width):
    stream = terminal()
    monkeypatch.setenv("COLUMNS", str(width))
    with TrainingLog() as log:
        for event in (BEGIN, StageBegun(1), replace(done(), record=record(hit_rate_on="training"))):
            log(event)
    text = visible(stream.getvalue())
    assert "…" not in text
    assert "30.0%*" in text
    assert "* measured on the training windows" in " ".join(text.split())
    assert ("5.0e-01*" in text) == (width >= 40)


def test_a_terminal_says_what_a_log_says(terminal):
    events = BEGIN, StageBegun(1), done()
    stream = terminal()
    with TrainingLog() as log:
        for event in events:
            log(event)
    shown = visible(stream.getvalue())
    for key, cell in record_cells(record().as_dict()).items():
        assert cell.strip() in shown or key == "at"
    for line in legend(chosen_columns(LOGGED)).splitlines():
        assert line in shown or line.startswith("  at ")


def test_a_terminal_of_100_columns_has_room_for_the_comparison_with_adaboost():
    shown = {column.key for column in columns_for(100)}
    assert {"baseline_hit", "baseline_false", "natural_hit", "natural_false", "time", "left"} <= shown


def test_time_left_counts_the_stages_that_the_target_needs():
    left = TimeLeft()
    left.begin(BEGIN)
    assert left.in_stage(1.0) is None
    assert left.add(done(1, seconds=50.0)) is None  # it may have compiled kernels
    assert left.in_stage(1.0) is None
    assert left.add(done(2, seconds=2.0)) == 2.0 * sum(range(3, 11)) / 2  # ten stages come before the target
    left = TimeLeft()
    left.begin(BEGIN)
    left.add(done(1, seconds=50.0))
    near = replace(done(2, seconds=3.0), record=record(2, rate=3e-6))
    assert left.add(near) == 3.0 * 3 / 2 + 3.0 * 4 / 2  # 3e-6, 1.5e-6, 7.5e-7
    assert left.in_stage(1.0) == 4.5 - 1.0 + 6.0
    assert left.in_stage(9.0) == 6.0
    assert left.add(replace(done(3), record=record(3, rate=1e-7))) == 0


def test_time_left_knows_that_stages_have_a_largest_size():
    left = TimeLeft()
    left.begin(replace(BEGIN, settings={"max_weak": 15}))
    left.add(done(1))
    assert left.add(replace(done(2, seconds=2.0), record=record(2, n_weak=10), n_stages=5)) == 3 * 3.0


def test_time_left_is_of_the_right_size_where_stages_grow_as_usual():
    """The weak classifiers of `models/frontalface.xml`, as if each took a second."""
    weak = [8, 17, 30, 41, 46, 52, 71, 88, 103, 138, 136, 180, 262]
    left = TimeLeft()
    left.begin(replace(BEGIN, settings={"max_weak": 300}))
    for stage, n_weak in enumerate(weak[:-1], 1):
        event = replace(done(stage, seconds=float(n_weak)), record=record(stage, n_weak=n_weak))
        told = left.add(replace(event, n_stages=len(weak)))
        if stage == 1:
            assert told is None
            continue
        assert 0.5 < told / sum(weak[stage:]) < 2
