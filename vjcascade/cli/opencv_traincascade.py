"""Command lines of `opencv_traincascade`, in the words of ``vjcascade train``; its runs that were interrupted go on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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
    own_names,
    used,
    window_of,
)
from vjcascade.errors import SettingsError
from vjcascade.files import MODEL_NAME
from vjcascade.messages import pluralize, suggest

if TYPE_CHECKING:
    from vjcascade.formats.opencv_run import OpenCVRun

OLD_MODEL_NAME = "cascade-old.xml"
"""The model in the old format, beside the one that training goes on from."""

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

_FLAG = "-baseFormatSave"

_TARGET = "--target-false-alarm-rate"

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


def translate(given: Mapping[str, str], own: Sequence[str]) -> Translation:
    """Return a command line in today's words.

    Where ``-data`` holds a run of OpenCV's that was interrupted, training goes on from its stages, with the parameters
    in `params.xml`, as it would there; with so many stages that none is missing, they are joined. A run that was begun
    here is resumed.

    Parameters
    ----------
    given : mapping of str to str
        Options with their values.
    own : sequence of str
        Options of ``vjcascade train`` among them.

    Returns
    -------
    Translation
        Not run yet.

    Raises
    ------
    SettingsError
        If a value cannot be understood, or asks for what there is not here.
    SourceError
        If the samples do not look like the size that is said, as with -w and -h swapped.
    ModelError
        If a file of the run to go on with is damaged.

    Examples
    --------
    >>> translation = translate({"-data": "out", "-vec": "faces.vec", "-bg": "bg.txt", "-w": "20", "-h": "20"}, [])
    >>> translation.commands[0][:5]
    ['train', 'faces.vec', 'bg.txt', '--window', '20x20']
    >>> print(translation.notes[4])
      -w 20: used as --window 20x20
    """
    from vjcascade.formats.opencv_run import PARAMETERS_NAME, read_opencv_run

    folder = Path(given["-data"])
    run = read_opencv_run(folder) if (folder / PARAMETERS_NAME).exists() else None
    recorded = {_RECORDED[name]: value for name, value in run.settings.items()} if run else {}
    values = {**_DEFAULTS, **given, **recorded}
    meanings = {name: _meaning(name, values) for name in values}
    n_wanted = checked_count("-numStages", values)
    if "--window" not in own_names(own):
        _refuse_swapped_sides(Path(given["-vec"]), values)
    commands, what_goes_on = _commands(folder, run, n_wanted, _training(meanings, values, given, own))
    if _FLAG in given:
        old = str(folder / OLD_MODEL_NAME)
        commands.append(["convert", str(folder / MODEL_NAME), old, "--format", "old"])
    notes = [
        *_notes(given, recorded, meanings),
        *what_goes_on,
        *map(in_other_words, commands),
    ]
    return Translation(commands, notes)


def _refuse_swapped_sides(samples: Path, values: Mapping[str, str]) -> None:
    from vjcascade.formats.annotations.vec_files import is_vec, refuse_unlikely_size
    from vjcascade.types import Size

    if samples.is_file() and is_vec(samples):
        refuse_unlikely_size(samples, Size(checked_count("-w", values), checked_count("-h", values)))


def _meaning(name: str, values: Mapping[str, str]) -> Meaning:
    if name in _SAME:
        return used(_SAME[name], values[name])
    if name in _WORDS:
        return _in_our_word(name, values)
    return _RULES[name](values) if name in _RULES else not_needed(_SPARED[name])


def _in_our_word(name: str, values: Mapping[str, str]) -> Meaning:
    value, (here, names) = values[name], _WORDS[name]
    if name == "-mode" and values["-featureType"] == "LBP":
        return not_needed("LBP features have no modes")
    if value in names:
        return used(here, names[value])
    if name == "-featureType" and value == "HOG":
        raise SettingsError(
            "-featureType HOG is not trained here, and no OpenCV since 3.0 detects with it; take HAAR or LBP"
        )
    raise SettingsError(f"{name} {value!r} is not known; {suggest(value, names)}")


def _room_for_positives(values: Mapping[str, str]) -> Meaning:
    """Make room for as many positives as are asked for; all that are there are trained on."""
    from vjcascade.training import TrainingSettings

    n_positives, n_negatives = checked_count("-numPos", values), checked_count("-numNeg", values)
    needed = max(2 * n_positives, n_positives + n_negatives)
    if needed > TrainingSettings.max_samples:
        return used("--max-samples", str(needed))
    return not_needed("all positives are trained on, and none must be left in reserve")


def _least_rate(values: Mapping[str, str]) -> Meaning:
    name = "-acceptanceRatioBreakValue"
    return (
        used(_TARGET, values[name])
        if _number(name, values) > 0
        else not_needed("0 and less mean that there is none")
    )


def _only_boosted(values: Mapping[str, str]) -> Meaning:
    if values["-stageType"] != "BOOST":
        raise SettingsError(f"-stageType {values['-stageType']!r} is not known: BOOST is the only one")
    return not_needed("stages are always boosted")


def _written_beside(values: Mapping[str, str]) -> Meaning:
    if values["-featureType"] == "LBP":
        raise SettingsError(f"{_FLAG}: the old format has no LBP features; leave it out")
    return Meaning((), f"the old format goes into {OLD_MODEL_NAME}, as training continues from {MODEL_NAME}")


_RULES: dict[str, Callable[[Mapping[str, str]], Meaning]] = {
    "-vec": lambda _: Meaning((), "used as the positives"),
    "-bg": lambda _: Meaning((), "used as the negatives"),
    "-w": window_of,
    "-h": window_of,
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
    target = max(rate ** checked_count("-numStages", values) / depth, sys.float_info.min)
    return f"{target:.3g}" if target < TrainingSettings.target_false_alarm_rate else ""


def _number(name: str, values: Mapping[str, str]) -> float:
    try:
        return float(values[name])
    except ValueError:
        raise SettingsError(f"{name} {values[name]!r} is not a number") from None


def _training(
    meanings: Mapping[str, Meaning], values: Mapping[str, str], given: Mapping[str, str], own: Sequence[str]
) -> list[str]:
    """Return the command line that trains, without what it goes on from."""
    words = option_words(meanings, given, own)
    names = own_names(own)
    if _TARGET not in {*words, *names} and (target := _target(values)):
        words += [_TARGET, target]
    no_baseline = [] if "--baseline" in names else ["--no-baseline"]
    return ["train", given["-vec"], given["-bg"], *words, *no_baseline, *own]


def _commands(
    folder: Path, run: OpenCVRun | None, n_wanted: int, training: list[str]
) -> tuple[list[list[str]], list[str]]:
    """Return what is to be run, and notes on what is gone on with."""
    model = folder / MODEL_NAME
    if _is_ours(model) and "--overwrite" not in training:
        resumed = training if "--resume" in training else [*training, "--resume"]
        return [resumed], [f"continuing from {model}, which was trained here"]
    if run is None:
        return [training], []
    there = run.cascade.n_stages
    begun = f"the run of opencv_traincascade in {folder}"
    notes = [f"note: {text}" for text in run.notes]
    if there >= n_wanted:
        which = "all" if there == n_wanted else f"the first {n_wanted} of"
        notes.append(f"joining {which} {pluralize(there, 'stage')} of {begun}: nothing is left to train")
        return [["convert", str(run.path), str(model), "--stages", str(n_wanted)]], notes
    notes.append(f"continuing {begun}, {pluralize(there, 'stage')} so far")
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
    given: Mapping[str, str], recorded: Mapping[str, str], meanings: Mapping[str, Meaning]
) -> list[str]:
    """Say what became of each option that was given, and what was assumed of the others."""
    overruled = {
        name: f"not used, because params.xml says {recorded[name]}"
        for name, value in given.items()
        if name in recorded and not _equal(recorded[name], value)
    }
    remarks = {name: meaning.remark for name, meaning in meanings.items()}
    unsaid = {
        name: value
        for name, value in _DEFAULTS.items()
        if name not in {*given, *recorded} and meanings[name].words
    }
    return [
        "options of opencv_traincascade:",
        *notes_on(given, remarks | overruled),
        *note_on_values(
            "from params.xml", {name: value for name, value in recorded.items() if name not in given}
        ),
        *note_on_values("not given, so OpenCV's default", unsaid),
    ]


def _equal(one: str, other: str) -> bool:
    """Tell whether two values are the same, numbers in the digits that are kept of them."""
    try:
        return f"{float(one):.7g}" == f"{float(other):.7g}"
    except ValueError:
        return one == other


PROGRAM = OpenCVProgram(
    name="opencv_traincascade",
    here={
        **_SAME,
        **{name: here for name, (here, _) in _WORDS.items()},
        **dict.fromkeys([*_SPARED, "-stageType"], "nothing"),
        "-vec": "the first word",
        "-bg": "the second word",
        "-numPos": "--max-samples",
        "-acceptanceRatioBreakValue": _TARGET,
        "-baseFormatSave": "vjcascade convert --format old",
        "-w": "--window WIDTHxHEIGHT",
        "-h": "--window WIDTHxHEIGHT",
    },
    needed={"-data": "FOLDER", "-vec": "FILE", "-bg": "FILE"},
    translate=translate,
    flags=frozenset({_FLAG}),
)
"""The program."""
