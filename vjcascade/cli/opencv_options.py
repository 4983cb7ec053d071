"""Command lines of `opencv_traincascade`, in the words of ``vjcascade``, and what became of each option.

Options that are not given mean what they mean there. Its trainer ignores what it does not know, together with the word
after it; here that is an error.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vjcascade.errors import SettingsError
from vjcascade.files import MODEL_NAME
from vjcascade.messages import pluralize, suggest

if TYPE_CHECKING:
    from vjcascade.formats.opencv_run import OpenCVRun

OLD_MODEL_NAME = "cascade-old.xml"
"""The model in the old format, beside the one that training goes on from."""

_NEEDED = ("-data", "-vec", "-bg")

_SAME = {
    "-data": "--output",
    "-numNeg": "--negatives",
    "-numStages": "--stages",
    "-numThreads": "--threads",
    "-minHitRate": "--hit-rate",
    "-maxFalseAlarmRate": "--false-alarm-rate",
    "-maxDepth": "--max-depth",
    "-maxWeakCount": "--max-weak",
}
"""Options whose values stay as they are."""

_WORDS = {
    "-featureType": ("--features", {"HAAR": "haar", "LBP": "lbp"}),
    "-mode": ("--mode", {"BASIC": "basic", "CORE": "core", "ALL": "all"}),
    "-bt": ("--booster", {"DAB": "adaboost", "RAB": "real", "LB": "logit", "GAB": "gentle"}),
}
"""Options whose values have other names."""

_BUFFERS = "memory is planned from what there is; --memory bounds it"
_SPARED = {
    "-precalcValBufSize": _BUFFERS,
    "-precalcIdxBufSize": _BUFFERS,
    "-weightTrimRate": "no window is left out of a round: the search is exact without it",
}
"""Options that nothing is needed for, and why."""

_OTHERS = {
    "-vec": "the first word",
    "-bg": "the second word",
    "-numPos": "--max-samples",
    "-acceptanceRatioBreakValue": "--target-false-alarm-rate",
    "-stageType": "nothing",
    "-baseFormatSave": "vjcascade convert --format old",
    "-w": "--window WIDTHxHEIGHT",
    "-h": "--window WIDTHxHEIGHT",
}

_FLAG = "-baseFormatSave"
_TARGET = "--target-false-alarm-rate"
_MOST = 10_000_000
"""Of stages, samples and pixels; no run has so many."""

_HERE = (
    _SAME | {name: here for name, (here, _) in _WORDS.items()} | dict.fromkeys(_SPARED, "nothing") | _OTHERS
)
"""What stands in the place of each option."""

_DEFAULTS = {
    "-w": "24",
    "-h": "24",
    "-featureType": "HAAR",
    "-mode": "BASIC",
    "-bt": "GAB",
    "-numPos": "2000",
    "-numNeg": "1000",
    "-numStages": "20",
    "-minHitRate": "0.995",
    "-maxFalseAlarmRate": "0.5",
    "-maxDepth": "1",
    "-maxWeakCount": "100",
}
"""What options mean that are not given, where it matters."""

_RECORDED = {
    "width": "-w",
    "height": "-h",
    "featureType": "-featureType",
    "mode": "-mode",
    "boostType": "-bt",
    "minHitRate": "-minHitRate",
    "maxFalseAlarm": "-maxFalseAlarmRate",
    "weightTrimRate": "-weightTrimRate",
    "maxDepth": "-maxDepth",
    "maxWeakCount": "-maxWeakCount",
}
"""Options by their names in `params.xml`, which count for a run that goes on."""


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


def is_of_opencv(arguments: Sequence[str]) -> bool:
    """Tell whether a command line is one of `opencv_traincascade`: -h is an option of it where a number follows.

    Examples
    --------
    >>> is_of_opencv(["train", "-data", "out"]), is_of_opencv(["train", "crops", "photos"])
    (True, False)
    """
    if arguments[:1] != ["train"]:
        return False
    pairs = zip(arguments, [*arguments[1:], ""], strict=True)
    return any(word in _HERE and (word != "-h" or after.isdecimal()) for word, after in pairs)


def translated(words: Sequence[str]) -> Translation:
    """Return a command line of `opencv_traincascade` in today's words.

    Where ``-data`` holds a run of its that was interrupted, training goes on from its stages, with the parameters in
    `params.xml`, as it would there; with so many stages that none is missing, they are joined. A run that was begun
    here is resumed. Options of ``vjcascade train``, with two hyphens, may stand among the others.

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
        If a file of the run to go on with is damaged.

    Examples
    --------
    >>> translation = translated("-data out -vec faces.vec -bg bg.txt -w 20 -h 20 -precalcValBufSize 2048".split())
    >>> translation.commands[0][:5]
    ['train', 'faces.vec', 'bg.txt', '--window', '20x20']
    >>> print(translation.notes[6])
      -precalcValBufSize 2048: not needed, because memory is planned from what there is; --memory bounds it
    """
    from vjcascade.formats.opencv_run import PARAMETERS_NAME, read_opencv_run

    given, own = _parted(words)
    if missing := [name for name in _NEEDED if name not in given]:
        raise SettingsError(f"{' and '.join(missing)} must be given to train as opencv_traincascade does")
    folder = Path(given["-data"])
    run = read_opencv_run(folder) if (folder / PARAMETERS_NAME).exists() else None
    recorded = {_RECORDED[name]: value for name, value in run.settings.items()} if run else {}
    values = _DEFAULTS | given | recorded
    meanings = {name: _meaning(name, values) for name in values}
    n_wanted = _whole("-numStages", values)
    commands, what_goes_on = _commands(folder, run, n_wanted, _training(meanings, values, given, own))
    if _FLAG in given:
        old = str(folder / OLD_MODEL_NAME)
        commands.append(["convert", str(folder / MODEL_NAME), old, "--format", "old"])
    notes = [
        *_notes(given, recorded, meanings),
        *what_goes_on,
        *(f"in other words: {shlex.join(['vjcascade', *command])}" for command in commands),
    ]
    return Translation(commands, notes)


def _parted(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the options with their values, and the words that belong to options of ours."""
    given: dict[str, str] = {}
    own: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("--"):
            own.append(word)
            while rest and rest[0] not in _HERE and not rest[0].startswith("--"):
                own.append(rest.pop(0))
            continue
        if word not in _HERE:
            _refuse(word, next(name for name in words if name in _HERE))
        if word in given:
            raise SettingsError(f"{word} is given twice: leave one of the two out")
        if word != _FLAG and (not rest or rest[0] in _HERE):
            raise SettingsError(f"{word} has no value: write it behind the option")
        given[word] = "" if word == _FLAG else rest.pop(0)
    return given, own


def _refuse(word: str, option: str) -> None:
    if word.startswith("-"):
        raise SettingsError(f"{word} is no option of opencv_traincascade; {suggest(word, _HERE)}")
    raise SettingsError(
        f"{option} is an option of opencv_traincascade, whose command lines have no words without an option, as "
        f"{word!r}: write -data FOLDER -vec FILE -bg FILE, or, in the place of {option}, {_HERE[option]}"
    )


class _Meaning(NamedTuple):
    """What an option is here: words of ``vjcascade train``, maybe none, and what is said of it."""

    words: tuple[str, ...]
    remark: str


def _meaning(name: str, values: Mapping[str, str]) -> _Meaning:
    if name in _SAME:
        return _used(_SAME[name], values[name])
    if name in _WORDS:
        return _in_our_word(name, values)
    return _RULES[name](values) if name in _RULES else _not_needed(_SPARED[name])


def _used(*words: str) -> _Meaning:
    return _Meaning(words, f"used as {' '.join(words)}")


def _not_needed(reason: str) -> _Meaning:
    return _Meaning((), f"not needed, because {reason}")


def _in_our_word(name: str, values: Mapping[str, str]) -> _Meaning:
    value, (here, names) = values[name], _WORDS[name]
    if name == "-mode" and values["-featureType"] == "LBP":
        return _not_needed("LBP features have no modes")
    if value in names:
        return _used(here, names[value])
    if name == "-featureType" and value == "HOG":
        raise SettingsError(
            "-featureType HOG is not trained here, and no OpenCV since 3.0 detects with it; take HAAR or LBP"
        )
    raise SettingsError(f"{name} {value!r} is not known; {suggest(value, names)}")


def _room_for_positives(values: Mapping[str, str]) -> _Meaning:
    """Make room for as many positives as are asked for; all that are there are trained on."""
    from vjcascade.training import TrainingSettings

    n_positives, n_negatives = _whole("-numPos", values), _whole("-numNeg", values)
    needed = max(2 * n_positives, n_positives + n_negatives)
    if needed > TrainingSettings.max_samples:
        return _used("--max-samples", str(needed))
    return _not_needed("all positives are trained on, and none must be left in reserve")


def _window(values: Mapping[str, str]) -> _Meaning:
    return _used("--window", f"{_whole('-w', values)}x{_whole('-h', values)}")


def _least_rate(values: Mapping[str, str]) -> _Meaning:
    name = "-acceptanceRatioBreakValue"
    return (
        _used(_TARGET, values[name])
        if _number(name, values) > 0
        else _not_needed("0 and less mean that there is none")
    )


def _only_boosted(values: Mapping[str, str]) -> _Meaning:
    if values["-stageType"] != "BOOST":
        raise SettingsError(f"-stageType {values['-stageType']!r} is not known: BOOST is the only one")
    return _not_needed("stages are always boosted")


def _written_beside(values: Mapping[str, str]) -> _Meaning:
    if values["-featureType"] == "LBP":
        raise SettingsError(f"{_FLAG}: the old format has no LBP features; leave it out")
    return _Meaning((), f"the old format goes into {OLD_MODEL_NAME}, for training goes on from {MODEL_NAME}")


_RULES: dict[str, Callable[[Mapping[str, str]], _Meaning]] = {
    "-vec": lambda _: _Meaning((), "used as the positives"),
    "-bg": lambda _: _Meaning((), "used as the negatives"),
    "-w": _window,
    "-h": _window,
    "-numPos": _room_for_positives,
    "-acceptanceRatioBreakValue": _least_rate,
    "-stageType": _only_boosted,
    _FLAG: _written_beside,
}
"""What becomes of options that need more than another name."""


def _target(values: Mapping[str, str]) -> str:
    """Return the false-alarm rate of the whole cascade that many stages are to reach, if below the usual one."""
    from vjcascade.training import TrainingSettings

    rate, depth = _number("-maxFalseAlarmRate", values), _number("-maxDepth", values)
    if not (0 < rate < 1 <= depth):  # said by whoever takes these values
        return ""
    target = max(rate ** _whole("-numStages", values) / depth, sys.float_info.min)
    return f"{target:.3g}" if target < TrainingSettings.target_false_alarm_rate else ""


def _whole(name: str, values: Mapping[str, str]) -> int:
    if not (values[name].isdecimal() and 0 < int(values[name]) < _MOST):
        raise SettingsError(f"{name} {values[name]!r} is not a whole number from 1 to {_MOST - 1}")
    return int(values[name])


def _number(name: str, values: Mapping[str, str]) -> float:
    try:
        return float(values[name])
    except ValueError:
        raise SettingsError(f"{name} {values[name]!r} is not a number") from None


def _training(
    meanings: Mapping[str, _Meaning], values: Mapping[str, str], given: Mapping[str, str], own: Sequence[str]
) -> list[str]:
    """Return the command line that trains, without what it goes on from."""
    own_names = {word.partition("=")[0] for word in own}
    options: dict[str, str] = {}
    for name, (spelt, _) in meanings.items():
        if spelt and spelt[0] not in own_names:
            options[spelt[0]] = spelt[1]
        elif spelt and name in given:
            raise SettingsError(f"{name} and {spelt[0]} say the same: leave one of the two out")
    if _TARGET not in {*options, *own_names} and (target := _target(values)):
        options[_TARGET] = target
    words = [word for option in options.items() for word in option]
    return [
        *("train", given["-vec"], given["-bg"], *words),
        *([] if "--baseline" in own_names else ["--no-baseline"]),
        *own,
    ]


def _commands(
    folder: Path, run: OpenCVRun | None, n_wanted: int, training: list[str]
) -> tuple[list[list[str]], list[str]]:
    """Return what is to be run, and notes on what is gone on with."""
    model = folder / MODEL_NAME
    if _is_ours(model):
        resume = [] if "--overwrite" in training else ["--resume"]
        return [[*training, *resume]], [
            "" if not resume else f"going on with {model}, which was trained here"
        ]
    if run is None:
        return [training], []
    there = run.cascade.n_stages
    begun = f"the run of opencv_traincascade in {folder}, {pluralize(there, 'stage')} so far"
    notes = [f"note: {text}" for text in run.notes]
    if there >= n_wanted:
        notes.append(f"joining {n_wanted} of {begun}: nothing is left to train")
        return [["convert", str(run.path), str(model), "--stages", str(n_wanted)]], notes
    notes.append(f"going on with {begun}")
    continued = ["--continue", str(run.path)] if there else []
    overwritten = ["--overwrite"] if model.exists() and "--overwrite" not in training else []
    return [[*training, *continued, *overwritten]], notes


def _is_ours(model: Path) -> bool:
    """Tell whether a model is there that was trained here, of which more is known than the stages."""
    if not model.exists():
        return False
    from vjcascade.cascade import Cascade

    return "settings" in Cascade.load(model).metadata


def _notes(
    given: Mapping[str, str], recorded: Mapping[str, str], meanings: Mapping[str, _Meaning]
) -> list[str]:
    """Say what became of each option that was given, and what was assumed of the others."""
    lines = ["options of opencv_traincascade:"]
    for name, value in given.items():
        differs = name in recorded and not _equal(recorded[name], value)
        remark = f"not used, because params.xml says {recorded[name]}" if differs else meanings[name].remark
        lines.append(f"  {f'{name} {value}'.rstrip()}: {remark}")
    assumed = {
        "from params.xml": {name: value for name, value in recorded.items() if name not in given},
        "not given, so as there": {
            name: value
            for name, value in _DEFAULTS.items()
            if name not in given and name not in recorded and meanings[name].words
        },
    }
    return lines + [
        f"  {origin}: {', '.join(f'{name} {value}' for name, value in some.items())}"
        for origin, some in assumed.items()
        if some
    ]


def _equal(one: str, other: str) -> bool:
    """Tell whether two values are the same, numbers in the digits that are kept of them."""
    try:
        return f"{float(one):.7g}" == f"{float(other):.7g}"
    except ValueError:
        return one == other
