from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from vjcascade import parallel
from vjcascade.errors import SettingsError
from vjcascade.parallel import (
    MAX_THREADS,
    MemoryBudget,
    blocks,
    checked_memory,
    checked_threads,
    default_threads,
    ordered_map,
    run_all,
)


@pytest.mark.parametrize("n_threads", [0, 1, 2, 5])
def test_results_come_in_the_order_of_the_tasks(n_threads):
    def slow_first(i):
        time.sleep(0.02 if i == 0 else 0)
        return -i

    assert list(ordered_map(slow_first, range(20), n_threads)) == [-i for i in range(20)]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_nothing_to_do(n_threads):
    assert list(ordered_map(abs, [], n_threads)) == []


def test_threads_work_at_the_same_time():
    """Each task waits for the other: one thread alone would wait for ever."""
    meeting = threading.Barrier(2, timeout=10)
    assert sorted(ordered_map(lambda _: meeting.wait(), range(2), n_threads=2)) == [0, 1]


def test_one_thread_is_the_callers():
    threads = list(ordered_map(lambda _: threading.get_ident(), range(3), n_threads=1))
    assert threads == [threading.get_ident()] * 3


@pytest.mark.parametrize("n_threads", [1, 2])
def test_tasks_are_read_as_they_are_needed(n_threads):
    read = []

    def tasks():
        for i in range(100):
            read.append(i)
            yield i

    results = ordered_map(lambda i: i, tasks(), n_threads)
    for n_taken in range(1, 6):
        next(results)
        assert len(read) <= n_taken + 4
    results.close()
    assert len(read) <= 9


@pytest.mark.parametrize("n_threads", [1, 3])
def test_all_tasks_are_run_and_errors_raised(n_threads):
    done = []
    run_all(done.append, range(20), n_threads)
    assert sorted(done) == list(range(20))
    with pytest.raises(ZeroDivisionError):
        run_all(lambda i: 1 // i, [1, 0], n_threads)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_errors_reach_the_caller_in_turn(n_threads):
    results = ordered_map(lambda i: 1 // (3 - i), range(100), n_threads)
    assert [next(results) for _ in range(3)] == [0, 0, 1]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_leaving_early_leaves_nothing_to_do():
    """What runs is finished, what waits is not begun."""
    started, finished = [], []

    def work(task):
        started.append(task)
        time.sleep(0.01)
        finished.append(task)

    results = ordered_map(work, range(1000), n_threads=3)
    next(results)
    results.close()
    assert len(started) < 8
    assert sorted(started) == sorted(finished)
    assert list(ordered_map(abs, [-1], n_threads=3)) == [1]


def test_threads_are_started_once():
    def names():
        return {name for _ in range(5) for name in ordered_map(lambda _: threading.get_ident(), range(8), 3)}

    assert len(names() | names()) <= 3


def test_maps_inside_maps_do_not_wait_for_one_another():
    """All threads of the outer map are busy: the inner one has none to wait for."""

    def inner(task):
        return sum(ordered_map(lambda i: i + task, range(10), n_threads=2))

    assert list(ordered_map(inner, range(8), n_threads=2)) == [45 + 10 * task for task in range(8)]


def test_maps_of_several_callers_share_the_threads():
    with ThreadPoolExecutor(4) as callers:
        sums = list(callers.map(lambda _: sum(ordered_map(abs, range(100), n_threads=2)), range(8)))
    assert sums == [4950] * 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_starts_threads_of_its_own():
    assert list(ordered_map(abs, [-1, -2], n_threads=2)) == [1, 2]
    with multiprocessing.get_context("fork").Pool(1) as forked:
        assert forked.apply_async(_absolutes, ([-3, -4],)).get(timeout=30) == [3, 4]


def _absolutes(numbers):
    return list(ordered_map(abs, numbers, n_threads=2))


@pytest.mark.parametrize(("n_items", "size"), [(0, 3), (1, 3), (3, 3), (7, 3), (7, 1)])
def test_blocks_cover_everything_once(n_items, size):
    parts = blocks(n_items, size)
    assert [i for part in parts for i in range(n_items)[part]] == list(range(n_items))
    assert all(0 < part.stop - part.start <= size for part in parts)


def test_default_threads_are_those_of_this_process():
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("no processor affinity on this system")
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert default_threads() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert default_threads() == len(allowed)


def test_numbers_of_threads():
    assert checked_threads(None) == default_threads()
    assert type(checked_threads(np.int64(3))) is int
    for wrong in (0, -3, 2.5, "two"):
        with pytest.raises(SettingsError, match=f"n_threads {wrong!r} is not a whole number, at least 1"):
            checked_threads(wrong)


def test_more_threads_than_a_system_starts_are_not_asked_for():
    assert checked_threads(10**30) == MAX_THREADS


@pytest.mark.parametrize(
    ("limit", "n_bytes"),
    [
        ("1GiB", 2**30),
        ("1gib", 2**30),
        ("1 Gi", 2**30),
        ("1.5GiB", 3 * 2**29),
        ("0.5TiB", 2**39),
        ("800MB", 800_000_000),
        (" 800 mb ", 800_000_000),
        ("2g", 2_000_000_000),
        ("100000KiB", 102_400_000),
        ("70000000", 70_000_000),
        ("70000000B", 70_000_000),
        (70_000_000, 70_000_000),
    ],
)
def test_memory_is_read_with_its_unit(limit, n_bytes):
    assert checked_memory(limit) == n_bytes


@pytest.mark.parametrize(
    "limit", ["", "GiB", "1 gallon", "-1GiB", "1e9", "1,5GiB", "\u0661GiB", "9" * 400, 1.5, True]
)
def test_what_is_no_size_is_refused(limit):
    with pytest.raises(SettingsError, match=r"is not a size; write it like 800MB or 1\.5GiB"):
        checked_memory(limit)


@pytest.mark.parametrize("limit", [0, -5, "63MiB", 10**6])
def test_too_little_memory_is_refused(limit):
    with pytest.raises(SettingsError, match="is too small: at least 64MiB are needed"):
        checked_memory(limit)


def test_most_of_the_machine_is_used_where_nothing_is_said(monkeypatch):
    for physical, limit in ((10.0 * 2**30, 8 * 2**30), (float("inf"), sys.maxsize)):
        monkeypatch.setattr(parallel, "physical_memory", lambda physical=physical: physical)
        assert checked_memory(None) == limit


def test_tasks_wait_for_memory():
    """Of three that need two thirds each, one runs at a time; two that need half of it meet."""
    budget, at_once, most = MemoryBudget(300), 0, 0

    def hold(n_bytes):
        nonlocal at_once, most
        with budget.hold(n_bytes):
            at_once += 1
            most = max(most, at_once)
            time.sleep(0.01)
            at_once -= 1

    run_all(hold, [200] * 3, n_threads=3)
    assert most == 1
    meeting = threading.Barrier(2, timeout=10)

    def meet(n_bytes):
        with budget.hold(n_bytes):
            meeting.wait()

    run_all(meet, [150, 150], n_threads=2)
    assert budget.n_held == 0


def test_a_task_that_needs_more_than_there_is_runs_alone():
    budget = MemoryBudget(10)
    with budget.hold(1000):
        assert budget.n_held == 1000
    assert budget.n_held == 0
