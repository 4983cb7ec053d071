"""The line of progress: when it shows, and that it never stays behind."""

import io

import pytest
from rich.console import Console

from vjcascade.cli import console as module
from vjcascade.cli.console import ProgressLine, plain_console
from vjcascade.training.events import Progress


@pytest.fixture
def clock(monkeypatch):
    """Return a list whose only item is the time."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def log():
    return Console(file=io.StringIO(), width=80)


def terminal():
    return Console(file=io.StringIO(), width=80, force_terminal=True, _environ={"TERM": "xterm"})


def test_a_log_gets_a_line_every_ten_seconds(clock):
    console = log()
    with ProgressLine(console) as line:
        for second in range(36):
            clock[0] = second
            line.update(Progress("mining", second, 100, f"{second} found"))
    assert console.file.getvalue() == "mining: 10 found\nmining: 20 found\nmining: 30 found\n"


def test_short_parts_are_silent(clock):
    for console in (log(), terminal()):
        with ProgressLine(console) as line:
            for second in range(60):
                clock[0] += 1
                line.update(Progress(f"part {second}", 0, 1))
        assert console.file.getvalue() == ""


def test_a_log_counts_where_there_is_no_detail(clock):
    console = log()
    with ProgressLine(console) as line:
        line.update(Progress("reading", 0, 5))
        clock[0] = 11
        line.update(Progress("reading", 3, 5))
    assert console.file.getvalue() == "reading: 3 of 5\n"


def test_a_terminal_gets_one_line_that_goes_away(clock):
    console = terminal()
    with ProgressLine(console) as line:
        line.update(Progress("mining", 1, 100, "[1] found"))
        clock[0] = 3
        line.update(Progress("mining", 50, 100, "[50] found " + "x" * 200))
        line.clear()
        shown = console.file.getvalue()
    assert "mining" in shown
    assert "[50] found" in shown
    assert shown.count("\n") == 1
    assert shown.endswith("\r\x1b[1A\x1b[2K")  # to the line's begin, one up, erase


def test_control_characters_are_written_out(clock):
    console = terminal()
    with ProgressLine(console) as line:
        for clock[0] in (0.0, 3.0):
            line.update(Progress("\x1b[31mred", 1, 2, "\x1b]0;title\x07"))
        shown = console.file.getvalue()
    assert r"\x1b[31mred" in shown
    assert r"\x1b]0;title\x07" in shown


def test_a_dumb_terminal_is_a_log(clock):
    console = Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"})
    with ProgressLine(console) as line:
        line.update(Progress("mining", 0, 10))
        clock[0] = 11
        line.update(Progress("mining", 3, 10))
    assert console.file.getvalue() == "mining: 3 of 10\n"


def test_text_stays_as_it_is(capsys):
    text = "[bold]x[/bold] :smile: " + "a" * 200
    plain_console().print(text)
    assert capsys.readouterr().out == text + "\n"
