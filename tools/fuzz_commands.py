"""Command lines for ``fuzz.py``: real commands with real options, good and bad values, and files that may be spoiled."""

from __future__ import annotations

import contextlib
import functools
import io
import tempfile
from pathlib import Path

import numpy as np
from fuzz_inputs import (
    FOLDER,
    LINK,
    Input,
    Rng,
    a_byte,
    a_cut,
    a_line,
    a_number,
    a_piece,
    builders,
    good_models,
    good_pictures,
    pick,
    picture_file,
)

from vjcascade import Size
from vjcascade.cli.main import command_app as commands, run as run_command
from vjcascade.cli.opencv_createsamples import PROGRAM as CREATESAMPLES
from vjcascade.cli.opencv_traincascade import PROGRAM as TRAINCASCADE
from vjcascade.formats.annotations.vec_files import write_vec
from vjcascade.formats.cascade_files import dump_cascade
from vjcascade.video import VideoSink

import opencv_runs  # isort: skip  of the tests, which `fuzz_inputs` puts on the path

OPENCV_SHARE = 0.15
"""Of the command lines, those of OpenCV's programs."""

SPOILED_SHARE = 0.3
"""Of the command lines, those for which a file is spoiled."""


def make_command(rng: Rng) -> Input:
    """Return a command line of a real command, of real options, with good and bad values."""
    if rng.random() < OPENCV_SHARE:
        return _opencv_command(rng)
    command = pick(rng, list(_COMMANDS))
    options = dict(_options(command))
    line = [word for name in _COMMANDS[command] for word in _argument(name, rng)]
    if command.startswith("compare"):
        del options["--threads"]  # more than one of them start processes, which takes seconds
    given = {name: options[name] for name in (pick(rng, list(options)) for _ in range(rng.integers(0, 5)))}
    for name, n_words in given.items():
        line += _option(name, n_words, rng)
    for name, value in _SMALL.get(command, {}).items():
        if name not in given:
            line += [name, *value.split()]
    if command != "demo" and rng.random() < 0.15:
        line = _another_line(line, rng)
    files = _good_files() | _made_files()
    named = [name for name in files if name in line and files[name] != FOLDER and name != "circle"]
    return Input(_spoiled(files, named or sorted(_made_files()), rng), (*command.split(), *line))


def _spoiled(files: dict[str, bytes], names: list[str], rng: Rng) -> dict[str, bytes]:
    """Return files of which one of these may be spoiled."""
    if rng.random() < SPOILED_SHARE:
        name = pick(rng, names)
        files[name] = pick(rng, (a_byte, a_cut, a_line, a_number, a_number, a_piece))(files[name], rng)
    return files


def _opencv_command(rng: Rng) -> Input:
    """Return a command line of a program of OpenCV, with an interrupted run of its trainer."""
    command = pick(rng, list(_OPENCV))
    program, needed, small = _OPENCV[command]
    words = {name: pick(rng, values) for name, values in needed.items()}
    for name in (pick(rng, list(program.here)) for _ in range(rng.integers(0, 6))):
        right = _OPENCV_CHOICES.get(name, _VALUES["whole"] + _VALUES["number"])
        words[name] = pick(rng, right if rng.random() < 0.8 else _WRONG)
    line = [
        word for name, value in words.items() for word in ([name] if name in program.flags else [name, value])
    ]
    if rng.random() < 0.3:
        line = _another_line(line, rng)
    names = [*_opencv_run(), "positives.vec", "bg.txt", "info.dat"]
    files = _good_files() | _made_files() | _opencv_run()
    return Input(_spoiled(files, names, rng), (command, *line, *small))


_OPENCV = {
    "train": (
        TRAINCASCADE,
        {
            "-data": ("out", "opencv", "opencv", "run"), "-vec": ("positives.vec", "info.dat", "crops"), "-bg": ("bg.txt", "photos"),
            "-w": ("8",), "-h": ("8",), "-numStages": ("2", "3"), "-numNeg": ("30",), "-maxWeakCount": ("2",),
        },
        ("--max-windows", "5000", "--threads", "1"),
    ),
    "samples": (
        CREATESAMPLES,
        {"-info": ("info.dat", "positives.vec", "crops"), "-vec": ("out.vec", "new.vec"), "-w": ("8",), "-h": ("8",)},
        ("--threads", "1"),
    ),
}  # fmt: skip
"""Commands that take the command lines of a program of OpenCV: what each needs, and what keeps it short."""

_OPENCV_CHOICES = {
    "-featureType": ("HAAR", "LBP", "HOG"), "-mode": ("BASIC", "CORE", "ALL"), "-bt": ("GAB", "DAB", "RAB", "LB"), "-stageType": ("BOOST",),
}  # fmt: skip

_COMMANDS = {
    "train": ("crops", "photos"), "detect": ("model", "picture"), "negatives": ("model", "picture"), "report": ("model",),
    "inspect": ("model", "picture"), "convert": ("model", "output"), "compare stages": ("crops", "photos"),
    "compare cascades": ("crops", "photos"), "compare tables": ("table",), "demo": ("wrong",), "samples": ("object", "vec"),
    "check": ("crops", "photos"), "evaluate": ("model", "scenes"), "tune": ("model", "scenes"),
}  # fmt: skip
"""Commands, and the kinds of values that their words without a name have. A whole demo takes too long."""

_SMALL = {
    "train": {"--window": "8x8", "--stages": "2", "--max-weak": "2", "--negatives": "30", "--max-windows": "5000", "--threads": "1"},
    "detect": {"--threads": "1"},
    "inspect": {"--threads": "1"},
    "negatives": {"--threads": "1"},
    "samples": {"--window": "8x8", "--threads": "1"},
    "check": {"--window": "8x8", "--threads": "1"},
    "evaluate": {"--threads": "1"},
    "tune": {"--output": "tuned.xml", "--threads": "1"},
    "compare stages": {
        "--window": "8x8", "--stages": "1", "--rounds": "2", "--seeds": "1", "--samples": "30", "--pool": "50",
        "--boosters": "adaboost", "--costs": "2", "--threads": "1",
    },
    "compare cascades": {
        "--window": "8x8", "--stages": "1", "--rounds": "2", "--samples": "30", "--boosters": "adac2", "--costs": "2",
        "--scenes": "scenes.txt", "--threads": "1",
    },
    "compare tables": {"--target": "ill", "--rounds": "2", "--seeds": "2", "--boosters": "adaboost", "--costs": "2", "--threads": "1"},
}  # fmt: skip
"""Options that every line has, so that what is right takes little time."""

_VALUES = {
    "crops": ("crops", "crops", "info.dat", "positives.txt", "positives.vec"),
    "object": ("crops", "info.dat", "positives.vec", "crops/3.png", "photos/0.png", "deep.png"),
    "vec": ("out.vec", "out.vec", "new.vec", "out", "made"),
    "photos": ("photos", "photos", "bg.txt", "./photos/"),
    "scenes": ("scenes.txt", "scenes.txt", "info.dat"),
    "model": ("model.xml", "model.xml", "lbp.xml", "old.xml", "run", "run/cascade.xml", "model.yml.gz"),
    "picture": ("photos/0.png", "photos", "crops", "video.mp4", "photos/0.png crops/0.png", "deep.png"),
    "table": ("table.csv", "table.csv table.csv", "table.csv other.csv"),
    "output": ("out", "out.txt", "out.xml", "out.gz", "new/out", "out.png", "run --resume", "done --resume", "run --overwrite"),
    "wrong": ("--threads 0", "--output photos/0.png", "-o photos/0.png/demo", "more words", "--help"),
    "size": ("8x8", "12x10", "24x24", "8"), "whole": ("1", "2", "3"), "number": ("0.5", "0.9", "1.1", "2"),
}  # fmt: skip
"""Good values by kind; blanks part several words."""

_KINDS = {
    "--output": "output", "-o": "output", "--html": "output", "--draw": "output", "--events": "output", "--continue": "model", "--reference": "model",
    "--more-negatives": "photos", "--photos": "photos", "--sheet": "output", "--mask": "picture", "--window": "size", "--min-size": "size", "--max-size": "size",
    "--hit-rate": "number", "--false-alarm-rate": "number", "--target-false-alarm-rate": "number", "--held-out": "number",
    "--scale-factor": "number", "--overlap": "number",
}  # fmt: skip
"""Kinds of values that options have; those that are not named here count."""

_CHOICES = {
    "--preset": ("quick", "normal", "thorough", "nikolaou"), "--settings": ("settings.toml",), "--memory": ("1GiB", "200MB", "2"),
    "--booster": ("adaboost", "cost-sensitive", "real", "logit", "adac2"), "--costs": ("2", "4:1", "gamma=0.8", "matrix=0,4;1,0"),
    "--boosters": ("adaboost gentle", "csb0 adac1"), "--features": ("haar", "lbp"), "--mirror": ("auto", "yes", "no"), "--inverted": ("no", "yes", "half"), "--mode": ("basic", "core", "all"),
    "--format": ("text", "jsonl", "csv", "new", "old", "coco", "yolo", "voc"), "--group": ("average", "weighted", "nms", "none"), "--angles": ("0,20", "-20 20"),
    "--region": ("2,2,20,20", "0 0 10 10"), "--rules": ("natural", "natural theory", "calibrated"), "--positive": ("1", "0"),
    "--ignore-column": ("age", "age name"), "--target": ("ill", "name"), "--scenes": ("scenes.txt", "info.dat"), "--camera": ("99",),
}  # fmt: skip

_WRONG = (
    *[
        "-1",
        "0",
        "1",
        "nan",
        "inf",
        "1e308",
        "2147483648",
        "-2147483649",
        "1.5",
        "x",
        "1x",
        "x1",
        "0x0",
        "1x1",
        "3x99999",
        "99999x99999",
        "8x8x8",
        "1,2,3",
        ",",
        ";",
        ":",
        "1:0",
        "-1:1",
    ],
    *[
        "1e308:1e-308",
        "gamma=2",
        "matrix=",
        "٣",
        "²",
        "nowhere",
        "nowhere/none.xml",
        "photos/0.png/x",
        ".",
        "..",
        "empty",
        "circle",
        "broken.xml",
    ],
    *[
        "broken.png",
        "%s{}",
        "-",
        "--",
        "--help",
        "--x",
        "-x",
        "/dev/full",
        "https://host/a.png",
        "model.xml",
        "photos",
        "crops",
        "run",
        "done",
        "table.csv",
        "bad.csv",
    ],
    *["bad.toml", "true", "no", "None", "out/x/y"],
    *("", " ", "9" * 30, "9" * 5000, "a" * 300, "a/" * 3000, "\u00e9 \u2014", "\udcff", "a\nb", "\x1b[31m"),
)
"""Values that no option, or few, have."""


@functools.cache
def _options(command: str) -> dict[str, tuple[int, bool]]:
    """Return the options of a command, and how many words each takes: a number, and whether more may follow."""
    app = commands()
    for name in command.split():
        app = app[name]
    arguments = app.assemble_argument_collection()
    return {name: one.token_count() for one in arguments for name in one.names if name.startswith("-")} | {
        "--help": (0, False)
    }


def _option(name: str, n_words: tuple[int, bool], rng: Rng) -> list[str]:
    if n_words == (0, False):
        return [name]
    if name in _CHOICES and rng.random() < 0.7:
        words = pick(rng, _CHOICES[name]).split()
    else:
        words = _argument(_KINDS.get(name, "whole"), rng)
    return [f"{name}={words[0]}", *words[1:]] if words and rng.random() < 0.1 else [name, *words]


def _argument(kind: str, rng: Rng) -> list[str]:
    """Return the words of a value, good or wrong."""
    if rng.random() < 0.2 and kind != "wrong":
        return [pick(rng, _WRONG)]
    return pick(rng, _VALUES[kind]).split()


def _another_line(line: list[str], rng: Rng) -> list[str]:
    """Lose, repeat, exchange, misspell or add a word."""
    place, other = int(rng.integers(len(line))), int(rng.integers(len(line)))
    word = line[place]
    other_words = (
        [],
        [word, word],
        [line[other]],
        [word[:-1] or "x"],
        [word, pick(rng, _WRONG)],
        [word.upper()],
    )
    return [*line[:place], *pick(rng, (*other_words, ["--", word])), *line[place + 1 :]]


@functools.cache
def _good_files() -> dict[str, bytes]:
    """Return what command lines talk of."""
    rng = np.random.default_rng(0)
    crops = [
        builders.smooth_noise(rng, 8, 8) // np.array([4, 4, 4, 4, 1, 1, 1, 1], np.uint8) for _ in range(16)
    ]
    files = {f"crops/{i}.png": picture_file(crop, "PNG") for i, crop in enumerate(crops)}
    photos = [builders.smooth_noise(rng, 30, 40) for _ in range(5)]
    photos[4][10:18, 10:18] = crops[0]
    files |= {f"photos/{i}.png": picture_file(photo, "PNG") for i, photo in enumerate(photos)}
    models = good_models()
    scene = b"photos/4.png 1 10 10 8 8\nphotos/3.png 0\n"
    rows = [f"{i % 7}.5,{chr(97 + i % 3)},{int(rng.integers(2))}" for i in range(40)]
    small = dump_cascade(builders.random_cascade(rng, Size(8, 8), (1, 1)))
    return files | {
        "model.xml": small, "lbp.xml": models["lbp trees"], "old.xml": models["old.xml"], "model.yml.gz": models["new.yml.gz"],
        "broken.xml": small[:900], "broken.png": files["photos/0.png"][:300], "empty": FOLDER, "circle": LINK + b"circle",
        "deep.png": good_pictures()["PNG deep"], "scenes.txt": scene, "info.dat": scene * 2, "video.mp4": _video(photos),
        "positives.vec": _vec(np.stack(crops)),
        "bg.txt": b"photos/0.png\nphotos/1.png\nphotos/2.png\n", "positives.txt": "\n".join(list(files)[:16]).encode(),
        "table.csv": "\n".join(["age,name,ill", *rows]).encode(), "other.csv": "\n".join(["age,name,ill", *rows[::-1]]).encode(),
        "bad.csv": b"age,ill\n1,2,3\n\0", "settings.toml": b'preset = "quick"\nmax_weak = 2\n', "bad.toml": b"max_weak = \n",
    }  # fmt: skip


@functools.cache
def _made_files() -> dict[str, bytes]:
    """Return the folders of a run of training and of a comparison; only times in them differ, from process to process."""
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        Input(_good_files(), ()).write(Path())
        small = {
            name: [word for item in options.items() for word in item] for name, options in _SMALL.items()
        }
        run_command(["train", "crops", "photos", *small["train"], "--output", "run"])
        run_command(["compare", "tables", "table.csv", *small["compare tables"], "--output", "done"])
        return {
            path.as_posix(): path.read_bytes()
            for name in ("run", "done")
            for path in sorted(Path(name).rglob("*"))
            if path.is_file()
        }


@functools.cache
def _opencv_run() -> dict[str, bytes]:
    """Return the folder of an interrupted run of `opencv_traincascade`."""
    pool = opencv_runs.pool_of(Size(8, 8), "basic")
    cascade = opencv_runs.trained_cascade(np.random.default_rng(0), pool, Size(8, 8), (1, 1))
    with tempfile.TemporaryDirectory() as folder:
        run = opencv_runs.write_run(Path(folder) / "opencv", cascade, "basic", pool)
        return {f"opencv/{path.name}": path.read_bytes() for path in sorted(run.iterdir())}


def _vec(crops: np.ndarray) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write_vec(Path(folder) / "positives.vec", crops)
        return (Path(folder) / "positives.vec").read_bytes()


def _video(photos: list[np.ndarray]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        with VideoSink(Path(folder) / "video.mp4", 10, Size(40, 30)) as sink:
            for photo in photos:
                sink.write(np.dstack([photo] * 3))
        return (Path(folder) / "video.mp4").read_bytes()
