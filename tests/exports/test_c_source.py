"""The C export: compiled without a warning, and equal."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sample_cascades import accept_all, cascade_with

from vjcascade.exports import c_source
from vjcascade.exports.base import identifier
from vjcascade.exports.c_source import CSource, parsed_tables
from vjcascade.exports.tables import model_tables
from vjcascade.exports.trial import Trial

needs_compiler = pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler here")


@needs_compiler
@pytest.mark.parametrize("name", ["model.h", "my car-2.c"])
def test_it_compiles_without_warnings_and_is_equal(model, trial, name):
    path = Path(name)
    how = CSource().verify(CSource().dump(model, path), trial, path)
    assert how.startswith("identical results, compiled with ")


@needs_compiler
@pytest.mark.parametrize("name", ["model.h", "model.c"])
@pytest.mark.parametrize("compiled", [["-x", "c"], ["-x", "c++"]])
def test_two_models_in_one_program(tmp_path, name, compiled):
    (tmp_path / f"one_{name}").write_bytes(CSource().dump(cascade_with(), Path(f"one_{name}")))
    (tmp_path / f"two_{name}").write_bytes(CSource().dump(accept_all(), Path(f"two_{name}")))
    if compiled == ["-x", "c++"] and not shutil.which("c++"):
        pytest.skip("there is no C++ compiler here")
    (tmp_path / "main.c").write_text(
        f'#include "one_{name}"\n#include "two_{name}"\n#include "one_{name}"\n'
        "int main(void) { return one_model_default_settings().min_neighbors - TWO_MODEL_STAGES - 2; }\n"
    )
    command = [shutil.which("cc"), "-Wall", "-Wextra", "-Werror", *compiled, "main.c", "-o", "main", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 0


@needs_compiler
def test_the_wrong_answer_is_no_export(model, trial, tmp_path):
    from vjcascade.errors import ModelError

    data = CSource().dump(model, Path("m.h")).replace(b"total < m_stage", b"total <= 1e9 + m_stage")
    with pytest.raises(ModelError, match=r"the export differs for [\d]+ of 2,500 windows"):
        CSource().verify(data, trial, Path("m.h"))


@needs_compiler
def test_what_does_not_compile_is_no_export(model, trial):
    from vjcascade.errors import ModelError

    with pytest.raises(
        ModelError,
        match=r"could not be tested: \w+ failed with exit code 1; nothing is written. Its output: ",
    ):
        CSource().verify(b"#error no\n", trial, Path("m.h"))


@pytest.mark.parametrize("name", ["model.h", "my car-2.c"])
def test_arrays_are_read_back_bit_by_bit(model, name):
    path = Path(name)
    back = parsed_tables(CSource().dump(model, path).decode(), identifier(path))
    expected = model_tables(model)
    for key, value in back.items():
        assert value == expected[key], key


def test_without_a_compiler_the_arrays_are_tried(model, trial, monkeypatch):
    monkeypatch.setattr(c_source, "COMPILERS", ())
    path = Path("m.h")
    data = CSource().dump(model, path)
    assert "the C code was not run" in CSource().verify(data, trial, path)


def test_wrong_numbers_are_found_without_a_compiler(model, trial, monkeypatch):
    from vjcascade.errors import ModelError

    monkeypatch.setattr(c_source, "COMPILERS", ())
    changed = model.with_shifted_thresholds(0.5)
    with pytest.raises(ModelError, match="the export differs for"):
        CSource().verify(CSource().dump(changed, Path("m.h")), trial, Path("m.h"))


def test_the_comment_says_what_the_model_is(model):
    lines = CSource().dump(model, Path("m.h")).decode().splitlines()
    assert lines[0].startswith("/* m.h: an object detector")
    head = "\n".join(lines[:40])
    assert "Window 12x10, 4 stages, 49 weak classifiers over" in head
    assert "Settings (operating point of the model): scale factor 1.2, more than 2 neighbors" in head


def test_hostile_metadata_ends_no_comment():
    bad = "*/ #error \\\n?? \u2028 </script>"
    cascade = cascade_with({"settings": {"booster": bad, "costs": bad}, "data": {"photos": bad * 99}})
    text = CSource().dump(cascade, Path("m.h")).decode()
    assert "#error" not in text
    assert text.count("*/") == text.count("/*")


@needs_compiler
def test_numbers_at_the_edge_of_float32():
    cascade = cascade_with(leaves=(-1e-38, 3e38, 1e-45, -3.4e38, 0.1), thresholds=(-3e38,))
    trial = Trial.of(cascade, 1000)
    assert len(np.unique(trial.passed)) > 1
    CSource().verify(CSource().dump(cascade, Path("m.h")), trial, Path("m.h"))


@needs_compiler
def test_the_comment_says_how_many_bytes_the_data_take(model, tmp_path):
    """As the compiler counts them, array by array."""
    text = CSource().dump(model, Path("m.h")).decode()
    (tmp_path / "m.h").write_text(text)
    names = re.findall(r"^static const \w+ (m_\w+)\[", text, re.MULTILINE)
    total = " + ".join(f"sizeof {name}" for name in names)
    (tmp_path / "main.c").write_text(
        f'#include <stdio.h>\n#include "m.h"\nint main(void) {{ printf("%d", (int)({total})); return 0; }}\n'
    )
    subprocess.run([shutil.which("cc"), "main.c", "-o", "main", "-lm"], cwd=tmp_path, check=True)
    counted = subprocess.run([tmp_path / "main"], capture_output=True, check=True).stdout
    assert f"/* data of the model: {int(counted):,} bytes */" in text
