"""Both programs: help, version, errors that nobody foresaw."""

import errno
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import builders
import numpy as np
import pytest

import vjcascade
from vjcascade.cli import main
from vjcascade.cli.compiling import cache_folder
from vjcascade.cli.options import spelt_as_options
from vjcascade.cli.respelling import COMPARISONS
from vjcascade.imaging import write_image

COMMANDS = tuple(name for name in main.command_app() if not name.startswith("-"))
EXAMPLES = ("For example", "or: ", "and then: ")
HEAVY = {"numpy", "numba", "cv2", "PIL", "skimage", "scipy"}


def test_help_imports_nothing_heavy():
    code = "import sys; from vjcascade.cli.main import run; run(['--help']); print(*sys.modules, file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(name in ran.stdout for name in COMMANDS)
    assert not HEAVY & set(ran.stderr.split())


def test_without_a_command_there_is_help(run):
    ran = run()
    assert ran.code == 0
    assert "Usage: vjcascade COMMAND" in ran.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run, command):
    ran = run(command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert f"Usage: vjcascade {command}" in ran.out


@pytest.mark.parametrize("command", [*COMMANDS, *(f"compare {name}" for name in COMPARISONS)])
def test_help_breaks_lines_only_at_the_edge_of_the_terminal(run, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "2000")
    page, _, panels = run(*command.split(), "--help").out.partition("╭")
    sentences = [line for line in page.splitlines() if line and not line.startswith(tuple(EXAMPLES))]
    assert [line for line in sentences[1:] if not line.endswith(".")] == []
    assert [line for line in panels.splitlines() if line.startswith("│        ")] == []


def test_help_of_a_command_needs_no_compiler_and_no_pictures():
    code = (
        "import sys\nfrom vjcascade.cli.main import run\n"
        f"for command in {list(COMMANDS)}:\n"
        f"    run([command, '--help'])\n"
        f"    print('heavy:', command, *{HEAVY - {'numpy'}} & sys.modules.keys())\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = [line for line in ran.stdout.splitlines() if line.startswith("heavy:")]
    assert lines == [f"heavy: {command}" for command in COMMANDS]


def test_every_option_is_explained(run):
    comparisons = [f"compare {name}" for name in COMPARISONS]
    for command in (
        "train",
        "detect",
        "negatives",
        "tune",
        *comparisons,
        "convert",
        "samples",
        "warmup",
        "demo",
    ):
        page = run(*command.split(), "--help").out
        for entry in page.split("│ --")[1:]:
            text = " ".join(line.strip("│ ")[24:] for line in f"  --{entry}".splitlines())
            assert len(text.split("[")[0].split()) >= 3, entry


def test_bytes_are_given_as_a_size(run):
    assert "--memory SIZE" in run("train", "--help").out


def test_version_without_an_installation(tmp_path):
    project = Path(vjcascade.__file__).parents[1]
    code = f"import sys; sys.path.insert(0, {str(project)!r}); sys.argv = ['vjcascade', '--version']\n"
    code += "from importlib import metadata; metadata.version = None\n"
    code += "from vjcascade.cli.main import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert ran.stdout == f"{vjcascade.__version__}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell that can close streams")
@pytest.mark.parametrize(
    ("picture", "code", "closed"),
    [
        ("a.png", 0, ">&-"),
        ("a.png", 0, ">&- 2>&-"),
        ("missing.png", 2, "2>&-"),
        ("missing.png", 2, ">&- 2>&-"),
    ],
)
def test_closed_streams(accept_all, rng, closed, picture, code):
    write_image(accept_all.parent / "a.png", builders.smooth_noise(rng, 24, 24))
    words = [sys.executable, "-m", "vjcascade", "detect", accept_all.name, picture]
    environment = {"PYTHONPATH": ":".join([str(Path(vjcascade.__file__).parents[1]), *sys.path])}
    ran = subprocess.run(
        f"{shlex.join(words)} {closed}",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        cwd=accept_all.parent,
        env=environment,
    )
    assert ran.returncode == code
    assert "error" not in ran.stdout + ran.stderr


def test_detect_imports_nothing_that_it_could_do_without(accept_all, rng):
    """With them, a search in one picture would take twice as long."""
    write_image(accept_all.parent / "a.png", builders.smooth_noise(rng, 40, 40))
    code = """import atexit, sys
atexit.register(lambda: print(*sys.modules))
from vjcascade.cli.main import main
main()"""
    words = [sys.executable, "-c", code, "detect", accept_all, accept_all.parent / "a.png"]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    modules = set(ran.stdout.splitlines()[-1].split())
    assert "numba" in modules
    spared = {"scipy.linalg", "skimage", "sklearn", "rich.console", "numpy.f2py"}
    spared |= {"vjcascade.boosters", "vjcascade.training.trainer", "vjcascade.estimators"}
    assert not spared & modules


def test_a_program_collects_garbage_seldom_and_heeds_the_system():
    code = """import gc, os, signal
from vjcascade.cli import main
def run(words):
    assert gc.isenabled() and gc.get_threshold()[0] >= 100_000
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()
main.command_app = lambda: run
main.main()"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 143
    assert ran.stderr == "vjcascade: error: stopped\n"


def test_an_unknown_command(run):
    ran = run("trian", "pos", "neg")
    assert ran.code == 2
    assert "train" in ran.err


def test_endless_words_are_cut_in_the_middle(run):
    ran = run("inspect", "9" * 5000)
    assert ran.code == 2
    assert "9" * 200 + "…" + "9" * 99 + ": cannot be read" in ran.err
    assert len(ran.err) < 500


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
        (
            OSError(errno.ENOSPC, "No space left on device"),
            2,
            "error: No space left on device: a disk is full: that of the standard output or of ",
        ),
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


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["tune", "{model}", "scenes.txt", "-o", "m.xml", "--recall", "2"], "--recall 2.0 is not in (0, 1]"),
        (["tune", "{model}", "scenes.txt", "-o", "m.xml", "--fppi", "-1"], "--fppi -1.0 is not in [0, inf)"),
        (
            ["tune", "{model}", "s", "-o", "m", "--recall", ".5", "--fppi", "1"],
            "--recall and --fppi cannot both",
        ),
        (["detect", "{model}", "{picture}", "--scale-factor", "1"], "--scale-factor 1.0 is not in (1, inf)"),
        (["detect", "{model}", "{picture}", "--dense", "--overlap", "3"], "--overlap 3.0 is not in [0, 1]"),
        (
            ["detect", "{model}", "{picture}", "--min-size", "9", "--max-size", "8"],
            "--min-size 9x9 is larger than --max-",
        ),
        (["compare", "stages", "pos", "neg", "--hit-rate", "2"], "--hit-rate 2.0 is not in (0, 1)"),
        (["compare", "stages", "pos", "neg", "--samples", "1"], "--samples 1 is not a whole number"),
        (["convert", "{model}", "m.xml", "--stages", "99"], "--stages 99 is not a whole number"),
        (["train", "pos", "neg", "--hit-rate", "2"], "--hit-rate 2.0 is not in (0, 1]"),
    ],
)
def test_settings_are_named_as_the_command_line_spells_them(run, accept_all, words, sentence):
    picture = accept_all.with_name("a.png")
    write_image(picture, np.zeros((30, 30), np.uint8))
    ran = run(*(word.format(model=accept_all, picture=picture) for word in words))
    assert ran.code == 2
    assert f"vjcascade: error: {sentence}" in ran.err


@pytest.mark.parametrize(
    "message",
    ["window: this is a folder", "overlap.txt is no list", "settings.hit_rate: 0.9 in the model, 0.8 now"],
)
def test_what_is_no_setting_is_not_respelt(message):
    assert spelt_as_options(message) == message


def test_a_dead_link_for_a_folder_is_named(run, easy):
    (easy / "gone").symlink_to(easy / "nowhere" / "at all")
    ran = run("train", easy / "pos", easy / "neg", "-o", easy / "gone", "--stages", "1")
    assert (ran.code, "gone: a folder is needed here, not a file or a dead link" in ran.err) == (2, True)


def test_debugging_shows_where(run, accept_all, monkeypatch):
    from vjcascade import Cascade

    def fail(path):
        raise RuntimeError("odd")

    monkeypatch.setattr(Cascade, "load", fail)
    monkeypatch.setenv("VJCASCADE_DEBUG", "1")
    with pytest.raises(RuntimeError, match="odd"):
        run("inspect", accept_all)


def test_an_empty_word_is_no_folder(run):
    ran = run("train", "", "photos")
    assert ran.code == 2
    assert "empty" in ran.err


def test_a_damaged_compile_cache_is_named(run, monkeypatch):
    def fail(*_, **__):
        raise EOFError("Ran out of input")

    monkeypatch.setattr(main, "command_app", lambda: fail)
    ran = run("inspect", "model.xml")
    assert ran.code == 2
    assert "cache of compiled kernels is damaged" in ran.err
    assert f"delete the files *.nbi in {cache_folder()}" in ran.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["train", "pos", "neg", "-w", "24", "-h", "24"],
            "have no words without an option, as 'pos'",
        ),
        (["train", "pos", "neg", "-h", "24"], "as --window WIDTHxHEIGHT for -w and -h"),
        (
            ["train", "-data", "out", "-vec", "pos.vec"],
            "-bg must be given as for opencv_traincascade",
        ),
        (["detect", "a.png", "-h"], "-h is used with other arguments"),
        (["detect", "a.png", "-x"], "Unknown option: -x"),
        (["train", "pos", "neg", "--stages", "1.9"], "'1.9' is not a whole number"),
        (["train", "pos", "neg", "--max-weak", "1e3"], "'1e3' is not a whole number"),
        (["detect", "a.png", "--min-neighbors", "2.5"], "'2.5' is not a whole number"),
        (["detect", "a.png", "--every", "1.5"], "'1.5' is not a whole number"),
    ],
)
def test_words_that_mean_something_else_are_refused(run, words, sentence):
    ran = run(*words)
    assert ran.code == 2
    assert ran.out == ""
    assert sentence in ran.err


def test_a_lone_h_asks_for_help(run):
    ran = run("train", "-h")
    assert (ran.code, ran.err) == (0, "")
    assert "Usage: vjcascade train" in ran.out


def test_an_interrupt_while_starting_is_quiet():
    """What the command line imports takes some tenths of a second, in which Ctrl-C may fall."""
    code = """import builtins, os, signal, sys, vjcascade.__main__ as entry
original = builtins.__import__
def interrupted(name, *args, **kwargs):
    if name == "vjcascade.cli.main":
        os.kill(os.getpid(), signal.SIGINT)
    return original(name, *args, **kwargs)
builtins.__import__ = interrupted
entry.main()"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == -signal.SIGINT
    assert ran.stderr == ""
