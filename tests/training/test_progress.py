from __future__ import annotations

import io

import pytest

from vjcascade.training import (
    Ended,
    Note,
    Progress,
    ProgressPrinter,
    Rates,
    RunBegun,
    StageBegun,
    StageDone,
    StageRecord,
)

RECORD = StageRecord(
    stage=2,
    n_weak=10,
    natural=Rates(0.0, 0.9, 0.1),
    tuned=Rates(-1.0, 0.995, 0.38),
    baseline=None,
    hit_rate_on="held-out",
    false_alarm_rate_on="training",
    n_positives=100,
    n_negatives=200,
    n_held_out_positives=20,
    n_held_out_negatives=0,
    windows_searched=1000,
    overall_hit_rate=0.99,
    overall_false_alarm_rate=0.004,
    overall_held_out_hit_rate=0.98,
    ended_by="targets reached",
)
BEGIN = RunBegun("24x24", {"max_weak": 15, "false_alarm_rate": 0.4, "target_false_alarm_rate": 1e-9}, {})


@pytest.fixture
def printed():
    return io.StringIO()


def test_a_stage_is_one_line(printed):
    printer = ProgressPrinter(printed)
    done = StageDone(RECORD, 4, 8.0)
    for event in (BEGIN, StageBegun(2), done, done, Ended("the stages asked for are there")):
        printer(event)
    first, second, last = printed.getvalue().splitlines()
    assert first.endswith(
        "windows; 8s"
    )  # the first may have compiled kernels: it tells nothing of the others
    assert second == (
        "stage 2 of at most 4: 10 weak classifiers, hit rate 99.5% (held-out), false-alarm rate 38.0% (training); "
        "all stages: 98.0%, one in 250 windows; 8s, about 24s left"  # two stages as large as one may be
    )
    assert last == "the stages asked for are there"


def test_the_last_stage_leaves_nothing(printed):
    printer = ProgressPrinter(printed)
    printer(BEGIN)
    printer(StageDone(RECORD, 2, 8.0))
    assert printed.getvalue().rstrip().endswith("windows; 8s")


def test_progress_is_told_now_and_then(printed):
    often, seldom = ProgressPrinter(printed, seconds_between=0.0), ProgressPrinter(printed)
    often(Progress("stage 1: boosting", 3, 2000))
    often(Progress("stage 1: mining", 3, 9, "3 of 9, 5s more"))
    seldom(Progress("stage 1: boosting", 3, 200))
    assert printed.getvalue() == "stage 1: boosting: 3 of 2,000\nstage 1: mining: 3 of 9, 5s more\n"


def test_it_prints_to_standard_output_and_no_commands_to_terminals(capsys):
    ProgressPrinter()(Note("a\x1b[2Jb"))
    assert capsys.readouterr().out == "a\\x1b[2Jb\n"
