"""A user's script gets completions and errors: type checkers read it with the package's own types."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from vjcascade.boosters import registry
from vjcascade.evaluation import matching
from vjcascade.training.settings import SettingsChanges, TrainingSettings

ROOT = Path(__file__).parents[1]
SCRIPT = Path(__file__).parent / "typing" / "user_script.py"


def expected():
    """Return the lines that must be wrong, each with the kinds of its errors."""
    marks = {}
    for number, line in enumerate(SCRIPT.read_text().splitlines(), 1):
        if found := re.search(r"# error: (.+)$", line):
            marks[number] = sorted(found[1].split(", "))
    return marks


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed (extra dev)")
def test_mypy_knows_every_name_and_sees_every_mistake():
    """By the project's own settings: what the check of the package has read before need not be read again."""
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--no-error-summary", "--no-color-output"),
            *("--hide-error-context", str(SCRIPT.relative_to(ROOT))),
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    told = {}
    for line in ran.stdout.splitlines():
        if found := re.search(r"user_script\.py:(\d+): error: .*\[([\w-]+)\]$", line):
            told.setdefault(int(found[1]), []).append(found[2])
    assert {number: sorted(kinds) for number, kinds in told.items()} == expected(), ran.stdout + ran.stderr


@pytest.mark.skipif(find_spec("pyright") is None, reason="pyright is not installed (extra dev)")
def test_pyright_sees_the_same_mistakes(tmp_path):
    """It is what editors complete by; it has other names for kinds of errors."""
    (tmp_path / SCRIPT.name).write_text(SCRIPT.read_text())
    config = {"extraPaths": [str(ROOT)], "typeCheckingMode": "standard"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "pyright", "--outputjson", "--project", str(tmp_path)),
            *("--pythonpath", sys.executable),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
        check=False,
    )
    told = json.loads(ran.stdout)
    assert told["summary"]["filesAnalyzed"] == 1
    assert {one["range"]["start"]["line"] + 1 for one in told["generalDiagnostics"]} == set(expected()), (
        ran.stdout
    )


def test_keyword_arguments_of_settings_are_the_settings():
    assert set(SettingsChanges.__annotations__) == set(TrainingSettings.__dataclass_fields__)


def test_keyword_arguments_of_boosters_and_rules_are_all_there_are():
    options = {
        name
        for booster in registry._BUILT_IN
        for name in inspect.signature(booster).parameters
        if name not in {"costs", "n_rounds"}
    }
    assert set(registry.BoosterOptions.__annotations__) == options
    settings = {name for rule in matching.RULES.values() for name in type(rule).__dataclass_fields__} - {
        "name"
    }
    assert set(matching.RuleSettings.__annotations__) == settings
