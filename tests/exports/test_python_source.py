"""The Python export: it runs alone."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vjcascade.errors import ModelError
from vjcascade.exports.python_source import PythonSource


def test_it_runs_and_is_equal(model, trial):
    assert (
        PythonSource()
        .verify(PythonSource().dump(model, Path("m.py")), trial, Path("m.py"))
        .startswith("identical results, run in Python")
    )


def test_it_imports_numpy_and_the_standard_library_alone(model):
    tree = ast.parse(PythonSource().dump(model, Path("m.py")))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} - sys.stdlib_module_names == {"numpy"}


def test_it_detects_from_the_command_line(model, trial, tmp_path):
    (tmp_path / "m.py").write_bytes(PythonSource().dump(model, Path("m.py")))
    np.save(tmp_path / "picture.npy", trial.picture)
    command = [sys.executable, "-I", "m.py", "picture.npy"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    line = json.loads(done.stdout)
    assert line["image"] == "picture.npy"
    assert line["boxes"] == trial.found.boxes.tolist()
    assert line["ranking_scores"] == trial.found.ranking_scores.tolist()


def test_a_changed_number_is_found(model, trial):
    data = PythonSource().dump(model.with_shifted_thresholds(0.3, 1), Path("m.py"))
    with pytest.raises(ModelError, match="the export differs for"):
        PythonSource().verify(data, trial, Path("m.py"))


def test_what_does_not_run_is_no_export(model, trial):
    with pytest.raises(
        ModelError,
        match=r"(?s)could not be tested: python.* failed with exit code 1; .* Its output: .*SyntaxError",
    ):
        PythonSource().verify(b"no python\n", trial, Path("m.py"))


def test_the_head_says_what_the_model_is(model):
    head = ast.get_docstring(ast.parse(PythonSource().dump(model, Path("my car.py"))))
    assert "Window 12x10, 4 stages, 49 weak classifiers over" in head
    assert "python my_car.py PICTURE.pgm" in head
