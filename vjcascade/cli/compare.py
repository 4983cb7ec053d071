"""``vjcascade compare``."""

from __future__ import annotations

import inspect
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from vjcascade.boosters import booster_names
from vjcascade.cli.options import CountOption, FlagOption, SizeOption
from vjcascade.cli.outputs import make_output_folder
from vjcascade.cli.report import REPORT_NAME
from vjcascade.errors import SettingsError
from vjcascade.features import HaarMode
from vjcascade.types import FeatureType

if TYPE_CHECKING:
    from vjcascade.comparison import Comparison, Design, FullComparison
    from vjcascade.training.events import Event, Listener

ALL = "all"

USUAL_BOOSTERS = (
    "adaboost",
    "asymboost",
    "adac2",
    "cost-generalized",
    "cost-sensitive",
    "gentle",
    "cost-generalized-gentle",
)
USUAL_COSTS = ("1", "2", "5", "10")

N_STAGES, N_STAGES_OF_WHOLE = 3, 10
"""Stages that are compared one by one, and of cascades that are trained whole."""

N_SAMPLES = 1000
"""Positives, and as many negatives, to train a stage on."""

RESULTS_NAME, SUMMARY_NAME, JSON_NAME = "results.csv", "summary.csv", "results.json"

FULL_REPORT_NAME, FULL_CSV_NAME, FULL_JSON_NAME = "full.html", "full.csv", "full.json"

_Words = Annotated[list[str] | None, Parameter(negative="", consume_multiple=True)]
_Paths = Annotated[list[Path] | None, Parameter(negative="", consume_multiple=True)]


class TablePreset(StrEnum):
    """A design that was published."""

    NIKOLAOU = "nikolaou"


def compare(  # noqa: PLR0913  each is a user's choice
    positives: Path | None = None,
    negatives: Path | None = None,
    /,
    *,
    output: Annotated[Path, Parameter(alias="-o")] = Path("comparison"),
    boosters: Annotated[_Words, Parameter(show_default=" ".join(USUAL_BOOSTERS))] = None,
    costs: Annotated[_Words, Parameter(show_default=" ".join(USUAL_COSTS))] = None,
    rules: _Words = None,
    seeds: Annotated[CountOption | None, Parameter(show_default="5")] = None,
    rounds: Annotated[CountOption | None, Parameter(show_default="60")] = None,
    hit_rate: float = 0.995,
    false_alarm_rate: float = 0.5,
    sanity: FlagOption = False,
    stages: Annotated[CountOption | None, Parameter(show_default="3, or 10 with --full")] = None,
    samples: Annotated[CountOption | None, Parameter(show_default="1000")] = None,
    pool: CountOption | None = None,
    features: Annotated[FeatureType | None, Parameter(show_default="haar")] = None,
    mode: Annotated[HaarMode | None, Parameter(show_default="basic")] = None,
    window: SizeOption | None = None,
    reference: Path | None = None,
    full: FlagOption = False,
    scenes: Path | None = None,
    table: _Paths = None,
    target: str | None = None,
    positive: str | None = None,
    ignore_column: _Words = None,
    preset: TablePreset | None = None,
    resume: FlagOption = False,
    overwrite: FlagOption = False,
    seed: int = 0,
    threads: CountOption | None = None,
) -> None:
    """Compare boosters.

    Parameters
    ----------
    positives : path
        Folder of crops of the object or list of boxes, as for vjcascade train.
    negatives : path
        Folder of photos without the object, or a list of them.
    output : path
        Folder for the report, the tables and finished runs.
    boosters : list of str
        Who is compared; all for every one there is. One that is named twice takes part twice.
    costs : list of str
        Cost ratios, each as 4 (a missed positive costs 4 false alarms) or 4:1.
    rules : list of str
        How thresholds are found: natural (0), theory, adamec, hit-rate, minimum-cost, calibrated; all but adamec if not
        given.
    seeds : int
        How many times the samples are split anew into those to train, to tune thresholds and to test on.
    rounds : int
        Weak classifiers at most.
    hit_rate : float
        Share of positives that a stage must pass.
    false_alarm_rate : float
        Share of negatives that a stage may pass.
    sanity : bool
        Add AdaBoost on shuffled labels, which must end at chance.
    stages : int
        Stages to compare on, from the first; with --full, stages of each cascade.
    samples : int
        Positives, and as many negatives, that a stage is trained on, where there are so many.
    pool : int
        Draw so many features of the pool at random, to be done sooner; all if not given.
    features : FeatureType
        haar or lbp.
    mode : HaarMode
        Kinds of Haar features.
    window : Size
        Training window in pixels, for example 24x24; proposed from the crops if not given.
    reference : path
        Model whose stages decide what reaches the next one; trained with the default booster if not given.
    full : bool
        Let each booster train a whole cascade with its own negatives, and compare them on the scenes.
    scenes : path
        With --full: list of pictures and the boxes of all objects in them, as info.dat.
    table : list of path
        Compare on the rows of CSV files instead of pictures.
    target : str
        With --table: the column to be learnt.
    positive : str
        With --table: value of the target that makes a row a positive.
    ignore_column : list of str
        With --table: columns to leave out.
    preset : TablePreset
        With --table: boosters, costs, rules and rounds of Nikolaou et al. 2016, and 30 seeds.
    resume : bool
        Go on with the comparison in the output folder; boosters, costs, rules and seeds may be others.
    overwrite : bool
        Forget the comparison in the output folder.
    seed : int
        Number that decides all random choices.
    threads : int
        Processors to use; all if not given. No result but the seconds depends on it.
    """
    given = dict(locals())
    _refuse_contradictions(given)
    from vjcascade.report.templates import template

    template("comparison.html")  # nobody should learn after an hour that a report cannot be drawn
    if full:
        _compare_full(given)
    else:
        _compare_parts(given)


def _refuse_contradictions(given: Mapping[str, Any]) -> None:
    with_table = {"target", "positive", "ignore_column", "preset"}
    with_pictures = {"positives", "negatives", "stages", "samples", "pool", "features", "mode", "window"}
    with_pictures |= {"reference", "full", "scenes"}
    kind, foreign = ("--table", with_pictures) if given["table"] else ("crops and photos", with_table)
    wrong = [name for name in given if name in foreign and given[name] not in (None, False)]
    if wrong:
        raise SettingsError(f"{_option(wrong[0])} does not go with {kind}: leave one of them out")
    if given["table"]:
        if given["target"] is None:
            raise SettingsError("--table needs --target: the name of the column to be learnt")
        return
    if given["negatives"] is None:
        raise SettingsError(
            "give a folder of crops and a folder of photos, or a table with --table FILE --target COLUMN"
        )
    if given["full"] != (given["scenes"] is not None):
        raise SettingsError(
            "--full and --scenes go together: a list of pictures and of the boxes in them to test on"
        )
    if given["full"] and (
        refused := [name for name in ("rules", "pool", "reference", "sanity") if given[name]]
    ):
        raise SettingsError(
            f"{_option(refused[0])} does not go with --full, in which whole cascades are trained"
        )


def _design(given: Mapping[str, Any]) -> Design:
    from vjcascade.comparison import Design, nikolaou_design

    names = {"seeds": "n_seeds", "rounds": "n_rounds"}
    told = {
        names.get(name, name): given[name] for name in ("costs", "rules", "seeds", "rounds") if given[name]
    }
    if given["boosters"]:
        told["boosters"] = [
            name for one in given["boosters"] for name in (booster_names() if one == ALL else [one])
        ]
    told |= {name: given[name] for name in ("hit_rate", "false_alarm_rate", "sanity", "seed")}
    if given["preset"]:
        return replace(nikolaou_design(), **told)
    return Design(**{"boosters": USUAL_BOOSTERS, "costs": USUAL_COSTS, **told})


def _compare_parts(given: Mapping[str, Any]) -> None:
    """Compare stage by stage, or table by table."""
    from vjcascade.cli.console import PlainConsole
    from vjcascade.comparison import StagePlan, compare_stages, compare_tables

    design, output = _design(given), given["output"]
    make_output_folder(output, "--output")
    shared = {name: given[name] for name in ("resume", "overwrite")} | {"n_threads": given["threads"]}
    with _listener(output) as listener:
        if given["table"]:
            comparison = compare_tables(
                given["table"],
                given["target"],
                output,
                design,
                positive=given["positive"],
                ignored=given["ignore_column"] or (),
                listener=listener,
                **shared,
            )
        else:
            plan = StagePlan(
                n_stages=given["stages"] or N_STAGES,
                n_samples=given["samples"] or N_SAMPLES,
                n_features=given["pool"],
                features=given["features"] or FeatureType.HAAR,
                mode=given["mode"] or HaarMode.BASIC,
                seed=given["seed"],
            )
            comparison = compare_stages(
                given["positives"],
                given["negatives"],
                output,
                design,
                plan,
                window=given["window"],
                reference=given["reference"],
                listener=listener,
                **shared,
            )
    told = {**comparison.told, "command": {"compare": _command(given)}}
    _write_parts(replace(comparison, told=told), output, PlainConsole(sys.stdout).print)


def _write_parts(comparison: Comparison, output: Path, say: Callable[[str], None]) -> None:
    """Write the report and the tables, and say what was found."""
    from vjcascade.comparison import answer, results_csv, results_json, summary_csv
    from vjcascade.report.comparison import build_comparison_report

    _write(output / RESULTS_NAME, results_csv(comparison))
    _write(output / SUMMARY_NAME, summary_csv(comparison))
    _write(output / JSON_NAME, results_json(comparison))
    _write(output / REPORT_NAME, build_comparison_report(comparison))
    say("\n" + "\n".join(answer(comparison)))
    say(f"\nreport: {output / REPORT_NAME}; open it in a browser")
    say(f"numbers: {output / SUMMARY_NAME}, {output / RESULTS_NAME} and {output / JSON_NAME}")


def _compare_full(given: Mapping[str, Any]) -> None:
    """Compare whole cascades."""
    from vjcascade.cli.console import PlainConsole
    from vjcascade.comparison import compare_full, full_entries, read_scenes
    from vjcascade.comparison.stages import PHOTOS_MEMORY
    from vjcascade.parallel import checked_threads
    from vjcascade.training import TrainingSettings
    from vjcascade.training.data.reading import Reader, Sources
    from vjcascade.training.run import refuse_one_for_both

    design, output = _design(given), given["output"]
    settings = TrainingSettings(
        features=given["features"] or FeatureType.HAAR,
        mode=given["mode"] or HaarMode.BASIC,
        hit_rate=given["hit_rate"],
        false_alarm_rate=given["false_alarm_rate"],
        max_stages=given["stages"] or N_STAGES_OF_WHOLE,
        max_weak=design.n_rounds,
        max_samples=2 * (given["samples"] or N_SAMPLES),
        baseline=False,
        seed=given["seed"],
    )
    refuse_one_for_both(given["positives"], [given["negatives"]])
    scenes = read_scenes(given["scenes"])
    make_output_folder(output, "--output")
    with _listener(output) as listener:
        reader = Reader(checked_threads(given["threads"]), strict=False, listener=listener)
        crops = reader.positives(given["positives"], given["window"], None)
        photos = reader.photos(given["negatives"], crops, PHOTOS_MEMORY)
        full = compare_full(
            Sources(crops, photos, photos.subset([])),
            scenes,
            output,
            full_entries(design.contenders, design.costs),
            settings,
            n_seeds=design.n_seeds if given["seeds"] else 1,
            resume=given["resume"],
            overwrite=given["overwrite"],
            n_threads=given["threads"],
            listener=listener,
        )
    told = {**full.told, "command": {"compare": _command(given)}}
    _write_full(replace(full, told=told), output, PlainConsole(sys.stdout).print)


def _write_full(full: FullComparison, output: Path, say: Callable[[str], None]) -> None:
    from vjcascade.comparison.full_results import full_csv, full_json
    from vjcascade.report.full import build_full_report, full_answer

    _write(output / FULL_CSV_NAME, full_csv(full))
    _write(output / FULL_JSON_NAME, full_json(full))
    _write(output / FULL_REPORT_NAME, build_full_report(full))
    say("\n" + "\n".join(full_answer(full)))
    say(f"\nreport: {output / FULL_REPORT_NAME}; open it in a browser")
    say(f"numbers: {output / FULL_CSV_NAME} and {output / FULL_JSON_NAME}")


def _write(path: Path, text: str) -> None:
    from vjcascade.files import write_atomic

    write_atomic(path, text.encode("utf-8", "backslashreplace"))


@contextmanager
def _listener(output: Path) -> Iterator[Listener]:
    """Yield a listener that prints notes and shows progress; an interrupt says what is left."""
    from vjcascade.cli.compiling import SECONDS_FOR_TRAINING, compile_notice
    from vjcascade.cli.console import PlainConsole, ProgressLine
    from vjcascade.training.events import Note, Progress

    console = PlainConsole(sys.stdout)
    with ProgressLine(console, remaining="about") as progress, compile_notice(SECONDS_FOR_TRAINING):

        def listen(event: Event) -> None:
            if isinstance(event, Progress):
                progress.update(event)
            elif isinstance(event, Note):
                progress.clear()
                console.print(event.text)

        try:
            yield listen
        except KeyboardInterrupt as interrupt:
            left = f"finished runs are in {output}: go on with --resume (and without --overwrite)"
            raise type(interrupt)(left) from None


def _command(given: Mapping[str, Any]) -> str:
    """Return the command line that repeats the comparison."""
    defaults = {name: one.default for name, one in inspect.signature(compare).parameters.items()}
    words = [
        "vjcascade",
        "compare",
        *(str(given[name]) for name in ("positives", "negatives") if given[name]),
    ]
    for name, value in given.items():
        if name in {"positives", "negatives", "resume", "overwrite", "threads"} or value == defaults[name]:
            continue
        values: Sequence[object] = value if isinstance(value, list) else [] if value is True else [value]
        words += [
            _option(name),
            *(str(one).lower() if isinstance(one, StrEnum) else str(one) for one in values),
        ]
    return shlex.join(words)


def _option(name: str) -> str:
    return name if name in {"positives", "negatives"} else f"--{name.replace('_', '-')}"
