from __future__ import annotations

import shutil
import subprocess

import pytest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_there_is_a_script_for_each_shell(run, shell):
    ran = run("completion", shell)
    assert ran.code == 0
    for word in ("vjcascade", "detect", "evaluate", "min-neighbors"):
        assert word in ran.out


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["vjcascade", "ev"], ["evaluate"]),
        (["vjcascade", "compare", "ca"], ["cascades"]),
        (["vjcascade", "detect", "a.xml", "--min-n"], ["--min-neighbors"]),
        (["vjcascade", "train", "crops", "photos", "--hit-"], ["--hit-rate"]),
    ],
)
def test_bash_completes_commands_and_options(run, words, completed):
    script = run("completion", "bash").out
    typed = " ".join(f"'{word}'" for word in words)
    place = f"COMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}"
    program = f"{script}\n{place}; _vjcascade; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    ran = subprocess.run(["bash"], input=program, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == completed
