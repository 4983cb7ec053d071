"""Fixtures of all tests: random numbers, the OpenCV 4.14 oracle, the real pictures beside the project."""

from __future__ import annotations

import errno
import os
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from library_process import LibraryError, LibraryProcess
from opencv_environment import VARIABLE, absence, opencv_python

from vjcascade.parallel import default_threads

TESTS = Path(__file__).resolve().parent
PROJECT = TESTS.parent
SHARED_DATA = PROJECT.parent / "shared" / "data"
ORACLE_TIMEOUT = 300  # seconds
MAX_WORKERS = 4  # each compiles most kernels again if the cache is empty


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Give the whole suite, file by file, to a worker on each processor; what is named on the command line to none.

    `-n` decides otherwise; without pytest-xdist (`-p no:xdist`) there are no workers.
    """
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    is_worker = "PYTEST_XDIST_WORKER" in os.environ  # or each worker would start workers of its own
    is_free = config.getoption("numprocesses", 0) is None and not config.getoption("usepdb")
    n_workers = min(default_threads(), MAX_WORKERS)
    if is_whole and is_free and not is_worker and n_workers > 1:
        config.option.numprocesses = n_workers
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a worker has one processor
        config.option.dist = "loadfile"  # fixtures of a module are made once
        config.option.loadscopereorder = False  # files of few tests take longest: not last


def pytest_configure() -> None:
    """Give each worker a processor of its own: with threads on the others', small tests take twice as long."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if worker.isdigit() and hasattr(os, "sched_setaffinity"):
        processors = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {processors[int(worker) % len(processors)]})


def pytest_report_header() -> list[str]:
    """Say in the first lines what the tests can be compared with."""
    return [
        f"OpenCV 4.14 oracle: {opencv_python() or f'absent ({absence()})'}",
        f"real pictures: {SHARED_DATA if SHARED_DATA.is_dir() else 'absent'}",
    ]


@pytest.fixture
def rng() -> np.random.Generator:
    """Return random numbers, the same in every run."""
    return np.random.default_rng(440)


@pytest.fixture
def leave_room(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[int]]:
    """Return `leave_room(n_bytes)`: have `os.write` write no more than that; it returns a list of what is left.

    As systems do, it writes what fits, and says at the next attempt that the disk is full.
    """

    def call(n_bytes: int) -> list[int]:
        real, room = os.write, [n_bytes]

        def write(file: int, data: bytes) -> int:
            if not room[0]:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            n_written = real(file, data[: room[0]])
            room[0] -= n_written
            return n_written

        monkeypatch.setattr(os, "write", write)
        return room

    return call


@pytest.fixture(scope="session")
def oracle_python() -> Path:
    """Return the Python of the OpenCV 4.14 environment."""
    python = opencv_python()
    if python is None:
        pytest.skip(f"no OpenCV 4.14 environment ({absence()}): set {VARIABLE} or make .venv-oracle")
    return python


@pytest.fixture(scope="session")
def oracle(oracle_python: Path) -> Iterator[Callable[..., dict[str, Any]]]:
    """Return `oracle(function_name, **arrays) -> dict of arrays`: a call into OpenCV 4.14.

    The functions are those of `oracles/opencv_worker.py`. Arguments may be arrays, numbers, strings and paths.
    """
    with LibraryProcess(oracle_python, "cv2", TESTS / "oracles" / "opencv_worker.py") as process:

        def call(function_name: str, **arguments: Any) -> dict[str, Any]:
            alarm = threading.Timer(ORACLE_TIMEOUT, process.kill)
            alarm.start()
            try:
                return process.ask(function_name, **arguments)
            except LibraryError as error:
                pytest.fail(f"oracle function {function_name} failed: {error}", pytrace=False)
            finally:
                alarm.cancel()

        yield call


@pytest.fixture(scope="session")
def opencv_models(oracle: Callable[..., dict[str, Any]]) -> Path:
    """Return the folder of the Haar cascades that OpenCV 4.14 ships."""
    return Path(str(oracle("data_folder")["path"]))


@pytest.fixture(scope="session")
def shared_data(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return `shared_data(name) -> Path`: the unpacked archive `name` of the real pictures, read only."""
    unpacked: dict[str, Path] = {}

    def folder_of(name: str) -> Path:
        archive = SHARED_DATA / f"{name}.tar.gz"
        if not archive.exists():
            pytest.skip(f"no {archive.name} in {archive.parent}")
        if name not in unpacked:
            target = tmp_path_factory.mktemp("shared")
            with tarfile.open(archive) as tar:
                tar.extractall(target, filter="data")
            unpacked[name] = target / name
        return unpacked[name]

    return folder_of
