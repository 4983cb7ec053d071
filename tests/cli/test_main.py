"""Both programs: help, version, errors that nobody foresaw."""

import subprocess
import sys

import pytest

from vjcascade.cli import main

HEAVY = {"numpy", "numba", "cv2", "PIL", "skimage", "scipy"}


def test_help_imports_nothing_heavy():
    code = "import sys; from vjcascade.cli.main import run; run(['--help']); print(*sys.modules, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(name in ran.stdout for name in ("train", "detect", "inspect", "demo"))
    assert not HEAVY & set(ran.stderr.split())


def test_without_a_command_there_is_help(run):
    ran = run()
    assert ran.code == 0
    assert "Usage: vjcascade COMMAND" in ran.out


@pytest.mark.parametrize("command", ["train", "detect", "inspect", "demo"])
def test_every_command_has_help(run, command):
    ran = run(command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert f"Usage: vjcascade {command}" in ran.out


def test_version(run, monkeypatch):
    monkeypatch.setattr(main, "version", lambda name: f"{name} 1.2.3")
    assert run("--version").out == "vjcascade 1.2.3\n"


def test_an_unknown_command(run):
    ran = run("trian", "pos", "neg")
    assert ran.code == 2
    assert "train" in ran.err


@pytest.mark.parametrize(("program", "words"), [(main.main, ["train", "pos"]), (main.train_main, ["pos"])])
def test_programs(monkeypatch, capsys, program, words):
    monkeypatch.setattr(sys, "argv", ["program", *words])
    with pytest.raises(SystemExit) as end:
        program()
    assert end.value.code == 2
    assert "NEGATIVES" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (RuntimeError("odd"), 1, "internal error: RuntimeError('odd')"),
        (
            PermissionError(13, "Permission denied", "out/cascade.xml"),
            2,
            "out/cascade.xml: Permission denied",
        ),
        (OSError("disk"), 2, "error: disk"),
        (KeyboardInterrupt(), 130, "stopped"),
    ],
)
def test_errors_are_sentences(run, accept_all, monkeypatch, error, code, sentence):
    from vjcascade import Cascade

    def fail(path):
        raise error

    monkeypatch.setattr(Cascade, "load", fail)
    monkeypatch.delenv("VJCASCADE_DEBUG", raising=False)
    ran = run("inspect", accept_all)
    assert ran.code == code
    assert sentence in ran.err


def test_debugging_shows_where(run, accept_all, monkeypatch):
    from vjcascade import Cascade

    def fail(path):
        raise RuntimeError("odd")

    monkeypatch.setattr(Cascade, "load", fail)
    monkeypatch.setenv("VJCASCADE_DEBUG", "1")
    with pytest.raises(RuntimeError, match="odd"):
        run("inspect", accept_all)
