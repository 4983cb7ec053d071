"""``vjcascade train``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, get_type_hints

from cyclopts import Parameter, Token

from vjcascade.boosters import booster_names
from vjcascade.boosters.costs import SPELLINGS, Costs, parse_costs
from vjcascade.cli.options import (
    WHOLE,
    CountOption,
    FlagOption,
    MemoryOption,
    SizeOption,
    spelt_as_options,
)
from vjcascade.cli.outputs import check_output_file
from vjcascade.errors import SettingsError, TrainingError
from vjcascade.training import Preset, TrainingSettings, preset_settings

_NAMES = {"max_stages": "--stages", "n_negatives": "--negatives"}
_HELP = {  # where the command line needs other words than Python
    "booster": f"Boosting algorithm: {', '.join(booster_names())}.",
    "costs": f"What misses and false alarms cost: {SPELLINGS}.",
    "copies": "Augmentation: altered copies of each crop, shifted, scaled and rotated a little; if not given, as many "
    "as bring crops and copies to about 3,200, at most 15 of each.",
    "n_negatives": "Negatives for each stage; if not given, twice the positives, at least 1,000 and at most half of "
    "--max-samples.",
    "seed": "Random seed: the same seed and data give the same model.",
}


def _costs(type_: Any, tokens: Sequence[Token]) -> Costs:
    del type_
    return parse_costs(tokens[0].value)


CostsOption = Annotated[Costs, Parameter(converter=_costs, n_tokens=1, accepts_keys=False)]
"""Costs in one of the spellings of `parse_costs`."""


def _setting(name: str, kind: Any) -> Any:
    """Return the option for a field of `TrainingSettings`, its help naming what each preset says."""
    values = {preset: getattr(preset_settings(preset), name) for preset in Preset}
    shared = len(set(values.values())) == 1
    default = str(values[Preset.NORMAL]) if shared else ", ".join(f"{k} {v}" for k, v in values.items())
    if isinstance(values[Preset.NORMAL], StrEnum):
        default = default.lower()  # as choices are spelt
    shown = False if values[Preset.NORMAL] is None else default
    words: dict[str, Any] = {"help": _HELP[name]} if name in _HELP else {}
    own = Parameter(name=_NAMES.get(name), show_default=shown, **words)
    if kind in (int, int | None):
        return Annotated[kind, WHOLE, own]
    return Annotated[CostsOption if kind is Costs else kind, own]


_OPTIONS = {
    field.name: _NAMES.get(field.name, f"--{field.name.replace('_', '-')}")
    for field in fields(TrainingSettings)
    if "_" in field.name
} | {"continue_from": "--continue"}
"""Settings whose names nobody takes for ordinary words."""


@contextmanager
def _spelt_as_options(settings_file: Path | None) -> Iterator[None]:
    """Let messages name settings as the command line does; those of a file are spelt as there."""
    try:
        yield
    except (SettingsError, TrainingError) as error:
        if settings_file is not None:
            raise
        raise type(error)(spelt_as_options(str(error), _OPTIONS)) from error


if TYPE_CHECKING:
    Settings = dict[str, Any]
else:
    _hints = get_type_hints(TrainingSettings)
    Settings = TypedDict(
        "Settings", {f.name: _setting(f.name, _hints[f.name]) for f in fields(TrainingSettings)}, total=False
    )
    Settings.__doc__ = TrainingSettings.__doc__  # where the options' help comes from


def train(  # noqa: PLR0913  each is a user's choice
    positives: Path,
    negatives: Path,
    /,
    *,
    output: Annotated[Path, Parameter(alias="-o")] = Path("model"),
    preset: Annotated[Preset | None, Parameter(show_default=str(Preset.NORMAL))] = None,
    settings: Path | None = None,
    window: SizeOption | None = None,
    min_side: CountOption | None = None,
    label: str | None = None,
    continue_from: Annotated[Path | None, Parameter(name="--continue")] = None,
    more_negatives: Annotated[list[Path] | None, Parameter(negative="", consume_multiple=True)] = None,
    validate: Path | None = None,
    resume: FlagOption = False,
    overwrite: FlagOption = False,
    strict: FlagOption = False,
    events: Path | None = None,
    memory: MemoryOption | None = None,
    threads: CountOption | None = None,
    cluster: str | None = None,
    changes: Annotated[Settings | None, Parameter(name="*")] = None,
) -> None:
    """Train a cascade.

    Parameters
    ----------
    positives : path
        Folder of crops that each show the object and little else, a list of boxes in photos (info.dat), annotations
        (COCO, YOLO, Pascal VOC, CSV, VIA, LabelMe, imglab, FDDB, WIDER, a table of MATLAB), or a .vec.
    negatives : path
        Folder of photos without the object, or a list of them (bg.txt; boxes as in info.dat are objects to ignore).
        Or annotations, even those of the positives: negatives are taken from outside their boxes.
    output : path
        Folder for the model, cascade.xml.
    preset : Preset
        quick for a first try, normal for everyday use, thorough for the best model.
    settings : path
        TOML file of settings, by their names in Python with hyphens or underscores (hit-rate, max-stages), and preset;
        options override it.
    window : Size
        Training window in pixels, for example 24x24; chosen from the crops if not given.
    min_side : int
        Leave out crops whose shorter side has fewer pixels.
    label : str
        The kind of object, where annotations have several.
    continue_from : path
        Model to add stages to, trained here or elsewhere; its stages do not change, and --stages counts them.
    more_negatives : path
        More folders or lists of photos without the object, such as vjcascade negatives makes; all are trained on.
    validate : path
        Labelled scenes that are not trained on (a list like info.dat, CSV, COCO JSON, or VOC XML): recall and false
        alarms are measured on them after each stage. Training stops early when the best F1 no longer improves, and
        vjcascade detect uses the best number of stages.
    resume : bool
        Continue the model in the output folder.
    overwrite : bool
        Replace the model in the output folder.
    strict : bool
        Stop before training if any file cannot be used.
    events : path
        File to append all events to, as JSON lines.
    memory : size
        Memory to use, for example 1GiB or 800MB; most of the machine's if not given. The model does not depend on it.
    threads : int
        Processors to use; all if not given. The model does not depend on it.
    cluster : str
        Address of a Dask scheduler (tcp://host:8786) whose workers search photos and features; local:4 starts four
        processes on this machine. The model does not depend on it.
    changes : dict
        Changes to the preset and to what the file says.
    """
    from vjcascade.cli.compiling import SECONDS_FOR_TRAINING, compile_notice
    from vjcascade.cli.training_log import TrainingLog
    from vjcascade.files import MODEL_NAME
    from vjcascade.training import read_settings, train
    from vjcascade.training.event_log import check_event_file, log_events

    if events is not None:
        check_output_file(events)
        check_event_file(events)
    with _spelt_as_options(settings):
        wanted = (
            preset_settings(preset or Preset.NORMAL, **(changes or {}))
            if settings is None
            else read_settings(settings, preset=preset, **(changes or {}))
        )
    model = output / MODEL_NAME
    with (
        TrainingLog() as log,
        log_events(events, log) as listener,
        compile_notice(SECONDS_FOR_TRAINING),
        _spelt_as_options(settings),
    ):
        try:
            cascade = train(
                positives,
                negatives,
                output,
                wanted,
                window=window,
                min_side=min_side,
                label=label,
                more_negatives=more_negatives or (),
                continue_from=continue_from,
                validate=validate,
                resume=resume,
                overwrite=overwrite,
                strict=strict,
                memory=memory,
                n_threads=threads,
                listener=listener,
                client=cluster,
            )
        except KeyboardInterrupt as interrupt:
            raise type(interrupt)(log.what_is_left(model, resumed=resume)) from None
    log.finish(cascade, model)
