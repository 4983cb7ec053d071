"""One run at a time in a folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import vjcascade
from vjcascade.errors import SettingsError
from vjcascade.training.run_lock import LOCK_NAME, NO_LOCKS, only_run_in

PROJECT = Path(vjcascade.__file__).parents[1]


def test_a_second_run_is_refused(tmp_path):
    with only_run_in(tmp_path / "run"):
        with pytest.raises(SettingsError, match="another run is writing into this folder") as caught:
            only_run_in(tmp_path / "run").__enter__()
        assert str(tmp_path / "run") in str(caught.value)
        with only_run_in(tmp_path / "other"):
            pass
    with only_run_in(tmp_path / "run"):
        pass


def test_nothing_is_left_behind(tmp_path):
    with pytest.raises(KeyboardInterrupt), only_run_in(tmp_path / "new" / "run"):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
    with only_run_in(tmp_path / "new" / "run"):
        (tmp_path / "new" / "run" / "model").touch()
    assert [path.name for path in (tmp_path / "new" / "run").iterdir()] == ["model"]
    (tmp_path / "old").mkdir()
    with only_run_in(tmp_path / "old"):
        pass
    assert (tmp_path / "old").is_dir()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a signal that kills")
def test_a_killed_run_keeps_nobody_out(tmp_path):
    code = (
        "import sys; from pathlib import Path; from vjcascade.training.run_lock import only_run_in\n"
        "with only_run_in(Path(sys.argv[1])): print('in', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"PYTHONPATH": str(PROJECT)}
    ) as run:
        assert run.stdout.readline() == b"in\n"
        with pytest.raises(SettingsError, match="another run"):
            only_run_in(tmp_path).__enter__()
        run.kill()
    assert len(list(tmp_path.iterdir())) == 1  # the file is left, but not locked
    with only_run_in(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def flock(monkeypatch):
    """Return `flock(before)`: have a function called before each lock is taken; it gets the calls before its own."""
    fcntl = pytest.importorskip("fcntl", reason="the system has other locks")

    def replace(before):
        real, calls = fcntl.flock, []

        def slow(file, operation):
            if operation & fcntl.LOCK_EX:
                before(calls)
                calls.append(file)
            real(file, operation)

        monkeypatch.setattr(fcntl, "flock", slow)
        return calls

    return replace


def test_a_lock_that_ended_meanwhile_is_taken_anew(tmp_path, flock):
    """The file was removed by the run before between our opening and our locking it."""
    calls = flock(lambda calls: calls or (tmp_path / LOCK_NAME).unlink())
    with only_run_in(tmp_path):
        assert len(calls) == 2
        with pytest.raises(SettingsError):
            only_run_in(tmp_path).__enter__()


@pytest.mark.parametrize("reason", sorted(NO_LOCKS))
def test_without_locks_nobody_is_kept_out(tmp_path, flock, reason):
    def fail(_):
        raise OSError(reason, "no locks here")

    flock(fail)
    with only_run_in(tmp_path / "run"), only_run_in(tmp_path / "run"):
        (tmp_path / "run" / "model").touch()
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["model"]


def test_other_trouble_with_the_file_is_told(tmp_path):
    (tmp_path / LOCK_NAME).mkdir()
    with pytest.raises(OSError, match=LOCK_NAME):
        only_run_in(tmp_path).__enter__()
