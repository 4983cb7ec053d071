"""Command lines of `opencv_createsamples` that crop boxes out of pictures, in the words of ``vjcascade samples``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vjcascade.cli.opencv_words import (
    Meaning,
    OpenCVProgram,
    Translation,
    in_other_words,
    note_on_values,
    notes_on,
    option_words,
    used,
    window_of,
)

_DEFAULTS = {"-w": "24", "-h": "24"}


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
        If a value cannot be understood.

    Examples
    --------
    >>> translate({"-info": "info.dat", "-vec": "faces.vec", "-num": "900"}, []).commands
    [['samples', 'info.dat', 'faces.vec', '--window', '24x24', '--limit', '900']]
    """
    window = window_of({**_DEFAULTS, **given})
    meanings = {
        "-info": Meaning((), "used as the positives"),
        "-vec": Meaning((), "written"),
        "-w": window,
        "-h": window,
        **({"-num": used("--limit", given["-num"])} if "-num" in given else {}),
    }
    command = ["samples", given["-info"], given["-vec"], *option_words(meanings, given, own), *own]
    notes = [
        "options of opencv_createsamples:",
        *notes_on(given, {name: meaning.remark for name, meaning in meanings.items()}),
        *note_on_values(
            "not given, so as there", {name: _DEFAULTS[name] for name in _DEFAULTS if name not in given}
        ),
        in_other_words(command),
    ]
    return Translation([command], notes)


PROGRAM = OpenCVProgram(
    name="opencv_createsamples",
    here={
        "-info": "the first word",
        "-vec": "the second word",
        "-num": "--limit",
        "-w": "--window WIDTHxHEIGHT",
        "-h": "--window WIDTHxHEIGHT",
    },
    needed={"-info": "FILE", "-vec": "FILE"},
    translate=translate,
    not_here=frozenset({
        "-img", "-bg", "-bgcolor", "-bgthresh", "-inv", "-randinv", "-maxidev", "-maxxangle", "-maxyangle",
        "-maxzangle", "-show", "-maxscale", "-rngseed",
    }),
    why_not="is not for cropping boxes out of pictures, which is all that is done here: give -info LIST -vec FILE, "
    "with -num, -w and -h",
)  # fmt: skip
"""The program."""
