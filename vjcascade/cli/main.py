"""The programs ``vjcascade`` and ``train-cascade``: commands by name, errors as sentences."""

from __future__ import annotations

import errno
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import NoReturn

from cyclopts import App, CycloptsError, UnusedCliTokensError

from vjcascade import __version__
from vjcascade.cli.help_pages import HelpFormatter, paragraphs
from vjcascade.cli.opencv_createsamples import PROGRAM as CREATESAMPLES
from vjcascade.cli.opencv_traincascade import PROGRAM as TRAINCASCADE
from vjcascade.cli.process import ExitCode, code_of, end_quickly, own_process
from vjcascade.cli.respelling import COMPARISONS, respelled
from vjcascade.errors import CascadeError, SettingsError
from vjcascade.messages import one_line, printable

_COMMANDS = {
    "label": """Draw boxes in photos on a page in the browser.

A model can propose boxes, put the most informative photos first, and be retrained on the page.

The page is served to this machine only. Every box is saved at once, as COCO JSON beside the photos, and can be
written in other formats. Needs the extra label (in the project's folder: pip install '.[label]').

For example: vjcascade label photos --model signs/cascade.xml
and then: vjcascade train photos/labels.json photos/labels.json --output better""",
    "samples": """Write crops of the object, altered copies of them or of one picture, or synthetic scenes.

Crops, from files or from boxes in pictures, go unaltered into a .vec for OpenCV's trainer, just as vjcascade train sees
them; it reads the file, too. Altered copies are shifted, rotated, tilted, relit, blurred, ...; copies of
one picture stay together when training holds samples out. Copies are no new data: photograph more objects first.
Command lines of opencv_createsamples (-img logo.png -vec logo.vec -num 500) work unchanged.

For example: vjcascade samples info.dat faces.vec --window 24x24
or: vjcascade samples logo.png --photos photos --sheet look.png
and then: vjcascade samples logo.png logos --photos photos --make 2000""",
    "check": """Check crops and photos before training on them for hours.

It lists duplicates, crops that are rotated, off-centre, low in contrast or of something else, and photos that show
the object.

For example: vjcascade check crops photos --html check.html""",
    "train": """Train a cascade from a folder of crops and a folder of photos.

The model is saved after every stage: --resume continues an interrupted run.

Command lines of opencv_traincascade (-data out -vec faces.vec -bg bg.txt ...) work unchanged.

For example: vjcascade train crops photos --output signs --preset quick""",
    "report": """Write a report on a training run: one self-contained HTML file.

It shows rounds, features, worst false alarms, costs and times; for a model trained elsewhere, what its file contains.

For example: vjcascade report signs""",
    "inspect": """Show what is in a model file: stages, features, what is odd in them, how it was trained.

With pictures: the share of windows that each stage rejects, and the features evaluated per window.

For example: vjcascade inspect signs/cascade.xml photos --html inspection.html""",
    "evaluate": """Evaluate models on labelled scenes, side by side.

It says which model is better, with confidence intervals: recall against false alarms, precision, average precision.

For example: vjcascade evaluate signs older/cascade.xml scenes.txt --output measured""",
    "tune": """Choose stages, threshold and settings of a model on labelled scenes.

For the best F1, or for a given recall, precision or number of false alarms per picture.

The output is the model with these stages and this threshold, and with the settings in its metadata.

For example: vjcascade tune signs/cascade.xml scenes.txt --recall 0.95 --output tuned.xml""",
    "negatives": """Mine hard negatives: keep a model's false alarms in pictures and videos without the object.

Each picture or frame with false alarms is kept once, unless its false alarms look like those already kept.

For example: vjcascade negatives signs/cascade.xml street.mp4 --output false-alarms
and then: vjcascade train crops photos --continue signs/cascade.xml --more-negatives false-alarms --stages 20
--output better""",
    "review": """Review a model's errors on photos with boxes, the worst first, on a page in the browser.

With one key, mark a false alarm as a negative to train on, or as an object without a box. Needs the extra label.

For example: vjcascade review signs/cascade.xml scenes.json""",
    "detect": """Find the object in pictures, folders, videos or a camera.

Results go to standard output, messages to standard error. If a picture cannot be read, the exit code is 2.

Without a model, it finds frontal faces.

For example: vjcascade detect signs/cascade.xml holiday --draw drawn""",
    "live": """Try a model on the webcam or a video file, on a page in the browser, and keep frames for training.

Needs the extra label.

For example: vjcascade live signs/cascade.xml --output kept""",
    "convert": """Write a model in another format, or for other programs: C, JavaScript, a web page, Python, OpenMV.

An export is run on test windows and compared with the model before it is written.

For example: vjcascade convert signs/cascade.xml signs.h""",
    "models": """List the model files on this machine, by the names that commands take; or fetch OpenCV's own.

For example: vjcascade models fetch
and then: vjcascade detect haarcascade_eye holiday""",
    "demo": """Train a small face detector from pictures that are already installed, and try it.""",
    "warmup": """Compile kernels ahead of their first use, for example in a container image.

The compiled kernels are cached beside the package, or in the folder named by the environment variable
NUMBA_CACHE_DIR.""",
    "completion": """Print a script that makes bash, zsh, fish or PowerShell complete commands and options.

For example, for bash: vjcascade completion bash > ~/.local/share/bash-completion/completions/vjcascade""",
}
_COMPARE = """Compare boosters at cost ratios, with plain AdaBoost and a threshold set afterwards as the baseline.

The output folder gets a report and the numbers behind it.

For example: vjcascade compare stages crops photos --output comparison"""
_COMPARISONS = {
    "stages": """Compare boosters stage by stage of a cascade, all on the same windows.

Which needs the fewest weak classifiers to reach a stage's targets? A reference cascade decides which windows reach it.

For example: vjcascade compare stages crops photos --output comparison""",
    "cascades": """Compare boosters that train a whole cascade each, on labelled scenes.

All get the same pictures, targets and limits; each mines its own negatives.

For example: vjcascade compare cascades crops photos --scenes scenes.txt --output cascades""",
    "tables": """Compare boosters on the rows of tables.

For example: vjcascade compare tables patients.csv --target ill --output tables""",
}
_USAGES = {
    "samples": "Usage: vjcascade samples [OPTIONS] POSITIVES [OUTPUT]",
    "tables": "Usage: vjcascade compare tables FILES... --target COLUMN [OPTIONS]",
    "detect": "Usage: vjcascade detect [OPTIONS] [MODEL] SOURCES...",
    "inspect": "Usage: vjcascade inspect [OPTIONS] MODEL [PICTURES...]",
    "negatives": "Usage: vjcascade negatives [OPTIONS] MODEL SOURCES...",
    "evaluate": "Usage: vjcascade evaluate [OPTIONS] MODELS... SCENES",
    "live": "Usage: vjcascade live [OPTIONS] [MODEL]",
    "tune": "Usage: vjcascade tune [OPTIONS] MODEL SCENES --output FILE",
    "models": "Usage: vjcascade models [fetch] [OPTIONS]",
}
"""Where cyclopts would be vague."""

_FILES = {"models": "model_files"}
"""Where a command is not in the file of its name."""

_OPENCV_PROGRAMS = {"train": TRAINCASCADE, "samples": CREATESAMPLES}
"""Whose command lines are understood, too, by the command that does the same."""

_LONG_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"


def main() -> NoReturn:
    """Run ``vjcascade``, and leave Python."""
    _run_alone(sys.argv[1:])


def train_main() -> NoReturn:
    """Run ``train-cascade``, which is ``vjcascade train``, and leave Python."""
    _run_alone(["train", *sys.argv[1:]])


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return the exit code; errors are printed.

    Parameters
    ----------
    arguments : sequence of str
        Without the program's name.

    Returns
    -------
    int
        0 done, 2 the input or the command line is wrong, 1 a fault of ours, 130 interrupted from the keyboard,
        143 ended by the system, 141 whoever read our output stopped reading.
    """
    _prepare_streams()
    try:
        _refuse_slips(arguments)
        for words in _in_words_of_today(arguments):
            code = command_app()(words)
        sys.stdout.flush()
        return code if isinstance(code, int) else ExitCode.DONE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains as it ends
        return ExitCode.READER_GONE
    except KeyboardInterrupt as interrupt:
        _complain("; ".join(["stopped", *interrupt.args]))
        return code_of(interrupt)
    except (CycloptsError, CascadeError, OSError) as error:
        _complain(_sentence(error, list(arguments[:1])))
        return ExitCode.WRONG_INPUT
    except (EOFError, UnpicklingError) as error:  # only the compiler's cache holds pickles
        from vjcascade.cli.compiling import cache_folder

        _complain(
            f"the cache of compiled kernels is damaged ({error}): delete the files *.nbi in {cache_folder()}"
        )
        return ExitCode.WRONG_INPUT
    except Exception as error:
        if os.environ.get("VJCASCADE_DEBUG"):
            raise
        _complain(f"internal error: {error!r}\nplease report it; VJCASCADE_DEBUG=1 shows where it happened")
        return ExitCode.OUR_FAULT


def _run_alone(arguments: Sequence[str]) -> NoReturn:
    own_process()
    code = run(arguments)
    end_quickly()
    sys.exit(code)


def command_app() -> App:
    """Return the commands; the module of each is imported when it is called."""
    app = App(
        name="vjcascade",
        help="Train Viola-Jones cascades from image folders, and detect with them.",
        version=__version__,
        help_format="plaintext",
        help_formatter=HelpFormatter(),
        result_action="return_value",
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
    )
    for place, (name, text) in enumerate(_COMMANDS.items()):
        app.command(
            f"vjcascade.cli.{_FILES.get(name, name)}:{name}",
            name=name,
            help=paragraphs(text),
            usage=_USAGES.get(name),
            sort_key=place,
        )
    compare = App(
        name="compare", help=paragraphs(_COMPARE), sort_key=len(_COMMANDS)
    )  # those above in the order of the work
    for name, text in _COMPARISONS.items():
        compare.command(
            f"vjcascade.cli.compare:{name}", name=name, help=paragraphs(text), usage=_USAGES.get(name)
        )
    app.command(compare)
    return app


def _prepare_streams() -> None:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller, who does not want to see it
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  stays open
        stream = getattr(sys, name)
        if hasattr(stream, "reconfigure"):  # a name that the terminal cannot show must stop nothing
            stream.reconfigure(errors="backslashreplace")


def _refuse_slips(arguments: Sequence[str]) -> None:
    """Refuse empty words, options that a word processor has given a long dash, and -h among other words."""
    for word in arguments:
        if word == "--":
            return
        if not word:
            raise SettingsError("one argument is empty: is a shell variable not set?")
        is_help = word == "-h" and not _is_of_opencv(arguments)
        if is_help and len(arguments) > (3 if arguments[1] in COMPARISONS else 2):
            raise SettingsError("-h is used with other arguments; for help, write --help, or -h alone")
        if word.startswith(tuple(_LONG_DASHES)):
            name = word.lstrip("-" + _LONG_DASHES)
            raise SettingsError(
                f"{word!r} begins with a long dash: write --{name} with two hyphens (or ./{word} if it is a file)"
            )


def _is_of_opencv(arguments: Sequence[str]) -> bool:
    return arguments[0] in _OPENCV_PROGRAMS and _OPENCV_PROGRAMS[arguments[0]].is_meant(arguments[1:])


def _in_words_of_today(arguments: Sequence[str]) -> list[list[str]]:
    """Return a command line without former spellings, and tell of them; OpenCV's may become several."""
    if arguments and _is_of_opencv(arguments):
        commands, notes = _OPENCV_PROGRAMS[arguments[0]].translated(arguments[1:])
        sys.stderr.write("".join(f"{one_line(note)}\n" for note in notes))
        return commands
    words = respelled(arguments)
    if words != list(arguments):
        sys.stderr.write(f"note: this is now spelled: {printable(shlex.join(['vjcascade', *words]))}\n")
    return [words]


def _sentence(error: Exception, command: Sequence[str]) -> str:
    """Say what is wrong, and for a command line that is, where help is."""
    if isinstance(error, CycloptsError):
        words = error.unused_tokens if isinstance(error, UnusedCliTokensError) else None
        problem = f"unexpected: {' '.join(map(repr, words))}" if words else str(error)
        return f"{problem}\nsee: {' '.join(['vjcascade', *(error.command_chain or ())])} --help"
    if isinstance(error, SettingsError) and command != ["train"]:  # which has spelt its own, but for a file's
        from vjcascade.cli.options import spelt_as_options

        return spelt_as_options(str(error))
    if isinstance(error, FileExistsError) and not isinstance(error, CascadeError) and error.filename:
        return f"{error.filename}: a folder is needed here, not a file or a dead link; give another name, or remove it"
    if isinstance(error, OSError) and not isinstance(error, CascadeError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        # Files that we open by name are named above.
        import tempfile

        return f"{error.strerror}: a disk is full: that of the standard output or of {tempfile.gettempdir()}"
    return str(error)


def _complain(message: str) -> None:
    message = _LONG_WORD.sub(r"\1…\2", message)
    sys.stderr.write(f"vjcascade: error: {printable(message)}\n")


_LONG_WORD = re.compile(r"(\S{200})\S{100,}(\S{100})")
"""A number or a path of thousands of characters hides what is said of it."""
