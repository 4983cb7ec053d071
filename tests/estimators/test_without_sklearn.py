"""scikit-learn is an extra: without it, everything else works, and the estimators say what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
HIDDEN = "import sys; sys.modules['sklearn'] = None; "  # as if it were not installed


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "wish",
    ["vjcascade.CostBoostClassifier", "vjcascade.HaarTransformer", "__import__('vjcascade.estimators.haar')"],
)
def test_what_is_missing_is_said(wish):
    done = run(f"{HIDDEN}import vjcascade; {wish}")
    last = done.stderr.splitlines()[-1]
    assert last == (
        "vjcascade.errors.MissingLibraryError: vjcascade's estimators need scikit-learn 1.6 or later: "
        "pip install 'scikit-learn>=1.6'"
    )


def test_help_and_completion_work():
    done = run(
        f"{HIDDEN}import inspect, vjcascade; print(*(name for name, _ in inspect.getmembers(vjcascade)))"
    )
    names = done.stdout.split()
    assert (done.stderr, "train" in names, "CostBoostClassifier" in names) == ("", True, False)


def test_all_else_works():
    done = run(f"{HIDDEN}import vjcascade.cli.main, vjcascade.training; print(vjcascade.Size(3, 4))")
    assert (done.stdout, done.stderr) == ("3x4\n", "")


def test_scikit_learn_is_not_loaded_before_it_is_needed():
    done = run(
        "import sys, vjcascade, vjcascade.cli.main, vjcascade.training; print(sys.modules.get('sklearn'))"
    )
    assert done.stdout == "None\n"
