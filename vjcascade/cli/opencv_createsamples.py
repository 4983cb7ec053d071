"""Command lines of `opencv_createsamples` in the words of ``vjcascade samples``.

What is done there goes by the names that are given: boxes are cropped out of pictures (-info -vec), samples are made of
one picture (-img -vec), or it is pasted into photos (-img -bg -info).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from vjcascade.cli.opencv_words import (
    Meaning,
    OpenCVProgram,
    Translation,
    checked_count,
    in_other_words,
    not_needed,
    note_on_values,
    notes_on,
    option_words,
    used,
    window_of,
)
from vjcascade.errors import SettingsError

_DEFAULTS = {"-w": "24", "-h": "24"}

_OF_ONE_PICTURE = {
    "-bgcolor": "0", "-bgthresh": "80", "-maxidev": "40", "-maxxangle": "1.1", "-maxyangle": "1.1",
    "-maxzangle": "0.5",
}  # fmt: skip
"""What it does to one picture if nothing is said."""

_ANGLES = {"-maxxangle": "--tilt-x", "-maxyangle": "--tilt-y", "-maxzangle": "--turn"}

_FOR_ONE_PICTURE = frozenset({*_OF_ONE_PICTURE, "-bg", "-inv", "-randinv", "-rngseed"})


def translate(given: Mapping[str, str], own: Sequence[str]) -> Translation:
    """Return a command line in today's words.

    Parameters
    ----------
    given : mapping of str to str
        Options with their values.
    own : sequence of str
        Options of ``vjcascade samples`` among them.

    Returns
    -------
    Translation
        Not run yet.

    Raises
    ------
    SettingsError
        If a value cannot be understood, or names of files are missing.

    Examples
    --------
    >>> translate({"-info": "info.dat", "-vec": "faces.vec", "-num": "900"}, []).commands
    [['samples', 'info.dat', 'faces.vec', '--window', '24x24', '--limit', '900']]
    """
    if "-img" not in given:
        return _crops(given, own)
    if "-vec" in given:
        return _samples(given, own)
    if {"-bg", "-info"} <= given.keys():
        return _scenes(given, own)
    raise SettingsError(
        "-img needs -vec FILE, or else -bg LIST and -info FILE, to be given as for opencv_createsamples"
    )


def _crops(given: Mapping[str, str], own: Sequence[str]) -> Translation:
    window = window_of({**_DEFAULTS, **given})
    nothing_made = not_needed("crops are written unaltered, as by OpenCV")
    meanings = {
        "-info": Meaning((), "used as the positives"),
        "-vec": Meaning((), "written"),
        "-w": window,
        "-h": window,
        **({"-num": used("--limit", given["-num"])} if "-num" in given else {}),
        **{name: nothing_made for name in (*_FOR_ONE_PICTURE, "-maxscale") if name in given},
    }
    return _translation([given["-info"], given["-vec"]], meanings, _DEFAULTS, given, own)


def _samples(given: Mapping[str, str], own: Sequence[str]) -> Translation:
    meanings = {
        **_alterations(given),
        "-vec": Meaning((), "written"),
        "-num": used("--make", str(checked_count("-num", {"-num": "1000", **given}))),
        **({"-bg": used("--photos", given["-bg"])} if "-bg" in given else {}),
        "-info": not_needed("samples are made from one picture, as by OpenCV"),
        "-maxscale": not_needed("it is for scenes"),
    }
    defaults = {**_DEFAULTS, **_OF_ONE_PICTURE, "-num": "1000"}
    return _translation([given["-img"], given["-vec"]], meanings, defaults, given, own)


def _scenes(given: Mapping[str, str], own: Sequence[str]) -> Translation:
    folder = Path(given["-info"]).with_suffix("")
    meanings = {
        **_alterations(given),
        "-info": Meaning(
            (), f"in its place is the folder {folder}, with the scenes and their list, info.dat"
        ),
        "-bg": used("--photos", given["-bg"]),
        **({"-num": used("--make", str(checked_count("-num", given)))} if "-num" in given else {}),
        **({"-maxscale": _scale(given["-maxscale"])} if "-maxscale" in given else {}),
        "objects": used("--max-objects", "1"),
    }
    defaults = {**_DEFAULTS, **_OF_ONE_PICTURE}
    return _translation([given["-img"], str(folder), "--scenes"], meanings, defaults, given, own)


def _translation(
    files: Sequence[str],
    meanings: Mapping[str, Meaning],
    defaults: Mapping[str, str],
    given: Mapping[str, str],
    own: Sequence[str],
) -> Translation:
    command = ["samples", *files, *option_words(meanings, given, own), *own]
    notes = [
        "options of opencv_createsamples:",
        *notes_on(given, {name: meaning.remark for name, meaning in meanings.items()}),
        *note_on_values(
            "not given, so OpenCV's default", {name: defaults[name] for name in defaults if name not in given}
        ),
        in_other_words(command),
    ]
    return Translation([command], notes)


def _alterations(given: Mapping[str, str]) -> dict[str, Meaning]:
    """Return what becomes of one picture: what is done there and nothing else."""
    values = {**_DEFAULTS, **_OF_ONE_PICTURE, **given}
    window = window_of(values)
    meanings = {
        "-img": Meaning((), "used as the picture"),
        "-w": window,
        "-h": window,
        "-bgcolor": used("--transparent", values["-bgcolor"]),
        "-bgthresh": used("--tolerance", values["-bgthresh"]),
        "others": used("--strength", "0"),
        "-maxidev": used("--brightness", values["-maxidev"]),
        **{name: used(option, f"{_degrees(name, values[name]):.4g}") for name, option in _ANGLES.items()},
    }
    if "-inv" in given or "-randinv" in given:
        meanings["-randinv" if "-randinv" in given else "-inv"] = used(
            "--inverted", "half" if "-randinv" in given else "yes"
        )
        meanings.setdefault("-inv", not_needed("-randinv is given"))
    if "-rngseed" in given:
        meanings["-rngseed"] = used("--seed", given["-rngseed"])
    return meanings


def _degrees(name: str, text: str) -> float:
    """Return an angle that is given in radians."""
    return math.degrees(_number(name, text))


def _scale(text: str) -> Meaning:
    if text.startswith("-"):
        return not_needed("it is the usual one")
    return used("--max-scale", f"{_number('-maxscale', text):g}")


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (0 <= number < math.inf):
        raise SettingsError(f"{name} {text!r} is not a number, 0 or more")
    return number


PROGRAM = OpenCVProgram(
    name="opencv_createsamples",
    here={
        "-info": "the first word",
        "-vec": "the second word",
        "-img": "the first word",
        "-num": "--limit or --make",
        "-w": "--window WIDTHxHEIGHT",
        "-h": "--window WIDTHxHEIGHT",
        "-bg": "--photos",
        "-bgcolor": "--transparent",
        "-bgthresh": "--tolerance",
        "-inv": "--inverted yes",
        "-randinv": "--inverted half",
        "-maxidev": "--brightness",
        **_ANGLES,
        "-maxscale": "--max-scale",
        "-rngseed": "--seed",
    },
    needed={"-info": "FILE", "-vec": "FILE"},
    translate=translate,
    flags=frozenset({"-inv", "-randinv"}),
    needs_nothing_with=frozenset({"-img"}),
    not_here=frozenset({"-show"}),
    why_not="opens a window, which vjcascade does not: draw the first samples into a picture with --sheet FILE.png",
)
"""The program."""
