"""Command lines of OpenCV's programs in the words of ``vjcascade``: what is common to them.

What became of each option is said. Options that are not given mean what they mean there. OpenCV's programs ignore what
they do not know; here that is an error.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from vjcascade.errors import SettingsError
from vjcascade.messages import suggest

_DIGITS = 8
"""No run has stages, samples or pixels in numbers of so many digits."""


class Translation(NamedTuple):
    """A command line in today's words.

    Attributes
    ----------
    commands : list of list of str
        Command lines of ``vjcascade``, to be run one after the other.
    notes : list of str
        What became of each option.
    """

    commands: list[list[str]]
    notes: list[str]


@dataclass(frozen=True)
class OpenCVProgram:
    """A program whose command lines are understood.

    Attributes
    ----------
    name : str
        As OpenCV calls it.
    here : Mapping of str to str
        What stands in the place of each option.
    needed : Mapping of str to str
        The options that it cannot do without, and what they name.
    translate : callable
        Makes a `Translation` of the options with their values, and of the words that belong to options of ours.
    flags : frozenset of str
        Options without a value.
    not_here : frozenset of str
        Options for what is not done here.
    why_not : str
        What is said of these.
    needs_nothing_with : frozenset of str
        Options with which other ones are needed, as `translate` knows.
    """

    name: str
    here: Mapping[str, str]
    needed: Mapping[str, str]
    translate: Callable[[Mapping[str, str], Sequence[str]], Translation]
    flags: frozenset[str] = frozenset()
    not_here: frozenset[str] = frozenset()
    why_not: str = ""
    needs_nothing_with: frozenset[str] = frozenset()

    def is_meant(self, words: Sequence[str]) -> bool:
        """Tell whether options of it are among words; -h is one where a number follows, else it asks for help."""
        options = self.here.keys() | self.not_here
        pairs = zip(words, [*words[1:], ""], strict=True)
        return any(word in options and (word != "-h" or after.isdecimal()) for word, after in pairs)

    def translated(self, words: Sequence[str]) -> Translation:
        """Return a command line in today's words; options of ours, with two hyphens, may stand among the others.

        Parameters
        ----------
        words : sequence of str
            Without the program's name.

        Returns
        -------
        Translation
            Not run yet.

        Raises
        ------
        SettingsError
            If an option is unknown, lacks its value, or asks for what there is not here.
        ModelError
            If a file of a run to go on with is damaged.
        """
        given, own = self._parted(words)
        missing = [name for name in self.needed if name not in given]
        if missing and not self.needs_nothing_with & given.keys():
            raise SettingsError(f"{' and '.join(missing)} must be given as for {self.name}")
        return self.translate(given, own)

    def _parted(self, words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
        given: dict[str, str] = {}
        own: list[str] = []
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word.startswith("--"):
                own.append(word)
                while rest and rest[0] not in self.here and not rest[0].startswith("--"):
                    own.append(rest.pop(0))
                continue
            if word not in self.here:
                self._refuse(word)
            if word in given:
                raise SettingsError(f"{word} is given twice: leave one of the two out")
            if word not in self.flags and (not rest or rest[0] in self.here):
                raise SettingsError(f"{word} has no value: write it behind the option")
            given[word] = "" if word in self.flags else rest.pop(0)
        return given, own

    def _refuse(self, word: str) -> NoReturn:
        if word in self.not_here:
            raise SettingsError(f"{word} {self.why_not}")
        if word.startswith("-"):
            raise SettingsError(f"{word} is not an option of {self.name}; {suggest(word, self.here)}")
        needed = " ".join(f"{name} {what}" for name, what in self.needed.items())
        raise SettingsError(
            f"command lines with options of {self.name} have no words without an option, as {word!r}: write {needed}, "
            f"or all in the words of vjcascade, as {self.here['-w']} for -w and -h"
        )


class Meaning(NamedTuple):
    """What an option is here.

    Attributes
    ----------
    words : tuple of str
        An option of ``vjcascade`` and its value, or nothing.
    remark : str
        What is said of it.
    """

    words: tuple[str, ...]
    remark: str


def used(*words: str) -> Meaning:
    """Return the meaning of an option that is one of ours."""
    return Meaning(words, f"used as {' '.join(words)}")


def not_needed(reason: str) -> Meaning:
    """Return the meaning of an option that nothing is needed for."""
    return Meaning((), f"not needed, because {reason}")


def window_of(values: Mapping[str, str]) -> Meaning:
    """Return the meaning of -w and -h, which are one option here."""
    return used("--window", f"{checked_count('-w', values)}x{checked_count('-h', values)}")


def checked_count(name: str, values: Mapping[str, str]) -> int:
    """Return the value of an option that counts something."""
    text = values[name]
    if not (text.isdecimal() and len(text) < _DIGITS and int(text) > 0):
        raise SettingsError(f"{name} {text!r} is not a whole number from 1 to {10 ** (_DIGITS - 1) - 1}")
    return int(text)


def option_words(meanings: Mapping[str, Meaning], given: Mapping[str, str], own: Sequence[str]) -> list[str]:
    """Return the words of all options, each once.

    Parameters
    ----------
    meanings : mapping of str to Meaning
        Of options that were given, and of others that matter.
    given : mapping of str to str
        Those that were given.
    own : sequence of str
        Options of ours, with their values, that stand in the place of what was not given.

    Returns
    -------
    list of str
        Without those of `own`.

    Raises
    ------
    SettingsError
        If the same is said twice.
    """
    options: dict[str, str] = {}
    for name, (words, _) in meanings.items():
        if words and words[0] not in own_names(own):
            options[words[0]] = words[1]
        elif words and name in given:
            raise SettingsError(f"{name} and {words[0]} say the same: leave one of the two out")
    return [word for option in options.items() for word in option]


def own_names(own: Sequence[str]) -> set[str]:
    """Return the names of options among words."""
    return {word.partition("=")[0] for word in own}


def in_other_words(command: Sequence[str]) -> str:
    """Return the note on a command line of ours."""
    return f"in other words: {shlex.join(['vjcascade', *command])}"


def notes_on(given: Mapping[str, str], remarks: Mapping[str, str]) -> list[str]:
    """Return a line on what became of each option that was given."""
    from vjcascade.formats.annotations.pictures import brief

    return [f"  {f'{name} {brief(value)}'.rstrip()}: {remarks[name]}" for name, value in given.items()]


def note_on_values(origin: str, values: Mapping[str, str]) -> list[str]:
    """Return the line that says where values come from that were not given; none if there are none."""
    listed = ", ".join(f"{name} {value}" for name, value in values.items())
    return [f"  {origin}: {listed}"] if values else []
