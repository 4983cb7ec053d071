"""The line of progress: when it shows, and that it never stays behind."""

import io
import sys
import time

import pytest

from vjcascade.cli import console as module
from vjcascade.cli.console import PlainConsole, ProgressLine
from vjcascade.training.events import Progress


@pytest.fixture
def clock(monkeypatch):
    """Return a list whose only item is the time."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


class Terminal(io.StringIO):
    def isatty(self):
        return True


def log():
    return PlainConsole(io.StringIO())


@pytest.fixture
def terminal(monkeypatch):
    """Return the console of a terminal, 80 columns wide."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    return PlainConsole(Terminal())


def test_a_log_gets_a_line_every_ten_seconds(clock):
    console = log()
    with ProgressLine(console) as line:
        for second in range(36):
            clock[0] = second
            line.update(Progress("mining", second, 100, f"{second} found"))
    assert console.stream.getvalue() == "mining: 10 found\nmining: 20 found\nmining: 30 found\n"


def test_short_parts_are_silent_on_a_terminal(clock, terminal):
    with ProgressLine(terminal) as line:
        for second in range(60):
            clock[0] += 1
            line.update(Progress(f"part {second}", 0, 1))
    assert terminal.stream.getvalue() == ""


def test_a_log_gets_a_line_every_ten_seconds_of_short_parts(clock):
    """However often the part changes: a log that is silent for a minute looks as if nothing went on."""
    console = log()
    with ProgressLine(console) as line:
        for second in range(1, 36):
            clock[0] = second
            line.update(Progress(f"part {second}", 0, 1))
    assert console.stream.getvalue() == "part 10: 0 of 1\npart 20: 0 of 1\npart 30: 0 of 1\n"


def test_a_log_gets_lines_while_no_event_comes(clock, monkeypatch):
    """Features of many large windows take minutes, without a word of how far they are."""
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LOOKS", 0.001)
    console = log()
    with ProgressLine(console) as line:
        line.update(Progress("boosting", 0, 200, "features"))
        for n_lines in (1, 2, 3):
            clock[0] += 10
            wait_until(lambda n=n_lines: console.stream.getvalue().count("\n") == n)
        watch = line._watch
    watch.join(10)
    assert not watch.is_alive()
    lines = ["boosting: features", "boosting: features, for 10s now", "boosting: features, for 20s now"]
    assert console.stream.getvalue().splitlines() == lines


def wait_until(condition):
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it did not happen within ten seconds")


def test_a_log_counts_where_there_is_no_detail(clock):
    console = log()
    with ProgressLine(console) as line:
        line.update(Progress("reading", 0, 5))
        clock[0] = 11
        line.update(Progress("reading", 3, 5))
    assert console.stream.getvalue() == "reading: 3 of 5\n"


def test_a_terminal_gets_one_line_that_goes_away(clock, terminal):
    console = terminal
    with ProgressLine(console) as line:
        line.update(Progress("mining", 1, 100, "[1] found"))
        clock[0] = 3
        line.update(Progress("mining", 50, 100, "[50] found " + "x" * 200))
        line.clear()
        shown = console.stream.getvalue()
    assert "mining" in shown
    assert "[50] found" in shown
    assert shown.count("\n") == 1
    assert shown.endswith("\r\x1b[1A\x1b[2K")  # to the line's begin, one up, erase


def test_control_characters_are_written_out(clock, terminal):
    console = terminal
    with ProgressLine(console) as line:
        for clock[0] in (0.0, 3.0):
            line.update(Progress("\x1b[31mred", 1, 2, "\x1b]0;title\x07"))
        shown = console.stream.getvalue()
    assert r"\x1b[31mred" in shown
    assert r"\x1b]0;title\x07" in shown


def test_a_dumb_terminal_is_a_log(clock, terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    console = terminal
    with ProgressLine(console) as line:
        line.update(Progress("mining", 0, 10))
        clock[0] = 11
        line.update(Progress("mining", 3, 10))
    assert console.stream.getvalue() == "mining: 3 of 10\n"


def test_text_stays_as_it_is(capsys):
    text = "[bold]x[/bold] :smile: " + "a" * 200
    PlainConsole(sys.stdout).print(text)
    assert capsys.readouterr().out == text + "\n"
