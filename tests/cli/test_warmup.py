"""``vjcascade warmup`` reaches every kernel; who comes first is told that kernels are compiled."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]


def python(code, **environment):
    words = [sys.executable, "-c", code]
    environment = os.environ | {"PYTHONPATH": str(PROJECT)} | environment
    return subprocess.run(words, capture_output=True, text=True, check=False, env=environment, cwd=PROJECT)


KERNELS = """
import ast, sys
from pathlib import Path
def called_from_python():
    paths = (path for path in Path("vjcascade").rglob("*.py") if path.parent.name != "kernels")
    nodes = (node for path in paths for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    imports = (node for node in nodes if isinstance(node, ast.ImportFrom))
    return {(node.module, alias.name) for node in imports for alias in node.names}
def compiled():
    return {
        (module, name): set(map(str, kernel.signatures))
        for module, names in list(sys.modules.items()) if module.startswith("vjcascade.kernels")
        for name, kernel in vars(names).items()
        if hasattr(kernel, "signatures") and kernel.py_func.__module__ == module
    }
"""


def test_everything_that_python_calls_is_compiled_and_nothing_is_left_for_later(tmp_path):
    """Kernels that only other kernels call have no signatures of their own: they are part of their callers."""
    code = f"""{KERNELS}
from vjcascade.cli.main import run
assert run(["warmup"]) == 0
before = compiled()
called = called_from_python() & before.keys()
assert len(called) > 10
print("not compiled:", sorted(key for key in called if not before[key]))
from vjcascade.imaging import read_image, write_image
import skimage
data = Path(skimage.__file__).parent / "data"
folder = Path({str(tmp_path)!r})
for name in ("camera.png", "astronaut.png"):  # grey, RGB
    write_image(folder / name, read_image(data / name)[::8, ::8].copy())
pictures = [str(path) for path in sorted(folder.glob("*.png"))]
assert run(["detect", *pictures]) == 0
assert run(["detect", *pictures, "--min-neighbors", "0"]) == 0
assert run(["detect", *pictures, "--dense", "--angles", "-20,0", "--group", "nms"]) == 0
from vjcascade import Size
from vjcascade.video import VideoSink
with VideoSink(folder / "clip.avi", 10, Size(64, 64)) as sink:
    for _ in range(2):
        sink.write(read_image(folder / "astronaut.png"))
assert run(["detect", str(folder / "clip.avi"), "--dense", "--memory", "2", "--region", "3,4,50,51"]) == 0
after = compiled()
print("compiled later:", sorted(key for key in after if after[key] - before.get(key, set())))
"""
    ran = python(code)
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert "not compiled: []" in lines
    assert "compiled later: []" in lines
    assert any(line.startswith("kernels of detection and training: ") for line in lines)
    assert any(line.startswith("kept in ") for line in lines)


NOTICE = """
from numba import njit
from vjcascade.cli.compiling import compile_notice, count_compiled
@njit
def double(x): return 2 * x
with compile_notice(7), count_compiled() as counter:
    double(1)
    print(counter.n_compiled)
    double(2)
    double(2.0)
    print(counter.n_compiled)
double(1j)
print(counter.n_compiled)
"""


def test_who_waits_for_the_compiler_is_told_once():
    ran = python(NOTICE)
    assert ran.stdout.split() == ["1", "2", "2"]
    assert ran.stderr.splitlines() == [
        "compiling kernels, which takes about 7 s: once; `vjcascade warmup` does it in advance"
    ]


def test_it_is_said_if_kernels_cannot_be_kept(monkeypatch, capsys):
    from vjcascade.cli import compiling

    monkeypatch.setattr(compiling, "cache_folder", lambda: None)
    compiling.CompileNotice(7).on_start(None)
    assert "every time" in capsys.readouterr().err


def test_a_warm_cache_is_not_spoken_of(accept_all, rng):
    import builders

    from vjcascade.imaging import write_image

    picture = accept_all.parent / "a.png"
    write_image(picture, builders.smooth_noise(rng, 40, 40))
    words = [sys.executable, "-m", "vjcascade", "detect", str(accept_all), str(picture)]
    for _ in range(2):  # the first one may compile
        ran = subprocess.run(words, capture_output=True, text=True, check=True, cwd=PROJECT)
    assert ran.stderr == "searched: 1; detections: 1\n"


def test_what_is_said(run, monkeypatch, tmp_path):
    from vjcascade.cli import compiling, warmup

    done = []
    monkeypatch.setattr(warmup, "detect_a_little", lambda: done.append("detect"))
    monkeypatch.setattr(warmup, "train_a_little", lambda: done.append("train"))
    monkeypatch.setattr(warmup, "search_a_little", lambda: done.append("search"))
    monkeypatch.setattr(compiling, "cache_folder", lambda: tmp_path)
    ran = run("warmup", "--detection-only")
    assert ran.out == f"kernels of detection: 0 compiled, in 0 s\nkept in {tmp_path}\n"
    assert done == ["detect"]
    assert run("warmup").code == 0
    assert done == ["detect", "detect", "train", "search"]


def test_kernels_that_cannot_be_kept_are_not_compiled(run, monkeypatch):
    """The build of a container must fail where it would have to compile at every start."""
    from vjcascade.cli import compiling, warmup

    monkeypatch.setattr(warmup, "detect_a_little", None)
    monkeypatch.setattr(compiling, "cache_folder", lambda: None)
    ran = run("warmup")
    assert (ran.code, ran.out) == (2, "")
    assert "could not be cached" in ran.err
    assert "set NUMBA_CACHE_DIR" in ran.err


@pytest.mark.parametrize("code", ["", "import scipy.linalg.cython_blas\n"])
def test_the_compiler_starts_without_linear_algebra_in_processes_of_our_own_only(code):
    program = f"""{code}import sys
from vjcascade.cli import process
had = "scipy.linalg.cython_blas" in sys.modules
process.start_compiler()
assert "numba" not in sys.modules  # somebody else's process
process.own_process()
process.start_compiler()
assert had or "scipy.linalg" not in sys.modules
import scipy.linalg.cython_blas  # still there for those who want it
from numba import njit
print(njit(lambda x: 2 * x)(1))
"""
    ran = python(program)
    assert ran.returncode == 0, ran.stderr
