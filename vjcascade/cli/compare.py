"""``vjcascade compare stages``, ``compare cascades`` and ``compare tables``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vjcascade.boosters import booster_names, parse_costs
from vjcascade.cli.compare_options import (
    TRAINED_BOOSTERS,
    USUAL_BOOSTERS,
    USUAL_COSTS,
    BoosterOptions,
    CascadeOptions,
    RuleOptions,
    RunOptions,
    StageOptions,
    TableOptions,
    WindowOptions,
)
from vjcascade.cli.outputs import output_folder
from vjcascade.cli.report import REPORT_NAME
from vjcascade.files import MODEL_NAME

if TYPE_CHECKING:
    from vjcascade.comparison import Comparison, Contrast, Design, FullComparison
    from vjcascade.training.events import Event, Listener

ALL = "all"

RESULTS_NAME, SUMMARY_NAME, JSON_NAME = "results.csv", "summary.csv", "results.json"

CURVES_NAME, CONTRASTS_NAME = "curves.csv", "contrasts.csv"

FULL_REPORT_NAME, FULL_CSV_NAME, FULL_JSON_NAME = "full.html", "full.csv", "full.json"


def stages(
    positives: Path,
    negatives: Path,
    /,
    *,
    run: RunOptions | None = None,
    choice: BoosterOptions | None = None,
    thresholds: RuleOptions | None = None,
    samples: WindowOptions | None = None,
    plan: StageOptions | None = None,
) -> None:
    """Compare boosters on the stages of a reference cascade.

    Parameters
    ----------
    positives : path
        Folder of crops of the object, list of boxes, annotations or .vec, as for vjcascade train.
    negatives : path
        Folder of background images (without the object), a list of them, or annotations, maybe the same.
    run : RunOptions
        Where, and how.
    choice : BoosterOptions
        Who.
    thresholds : RuleOptions
        By which rules.
    samples : WindowOptions
        On what.
    plan : StageOptions
        On which stages.
    """
    from vjcascade.comparison import StagePlan, compare_stages

    run, choice, thresholds = run or RunOptions(), choice or BoosterOptions(), thresholds or RuleOptions()
    samples, plan = samples or WindowOptions(), plan or StageOptions()
    design = _design(choice, plan.seeds, thresholds)
    stage_plan = StagePlan(
        n_stages=plan.stages,
        n_samples=samples.samples,
        n_features=plan.pool,
        features=samples.features,
        mode=samples.mode,
        n_draws=plan.seeds if plan.independent else 0,
        seed=choice.seed,
    )
    contrasts = _contrasts(thresholds)
    with _begun(run) as listener:
        comparison = compare_stages(
            positives,
            negatives,
            run.output,
            design,
            stage_plan,
            window=samples.window,
            label=samples.label,
            reference=plan.reference,
            listener=listener,
            **run.keywords(),
        )
    command = _command("stages", [positives, negatives], run, choice, thresholds, samples, plan)
    _write_comparison(comparison, command, run.output, contrasts)


def cascades(
    positives: Path,
    negatives: Path,
    /,
    *,
    plan: CascadeOptions,
    run: RunOptions | None = None,
    choice: BoosterOptions | None = None,
    samples: WindowOptions | None = None,
) -> None:
    """Compare boosters that train a whole cascade each.

    Parameters
    ----------
    positives : path
        Folder of crops of the object, list of boxes, annotations or .vec, as for vjcascade train.
    negatives : path
        Folder of background images (without the object), a list of them, or annotations, maybe the same.
    plan : CascadeOptions
        What is trained, and tested on.
    run : RunOptions
        Where, and how.
    choice : BoosterOptions
        Who.
    samples : WindowOptions
        On what.
    """
    from vjcascade.comparison import compare_full, full_entries
    from vjcascade.comparison.stages import PHOTOS_MEMORY
    from vjcascade.evaluation import read_scenes
    from vjcascade.parallel import checked_threads
    from vjcascade.training import TrainingSettings
    from vjcascade.training.data.reading import Reader, Sources
    from vjcascade.training.run import refuse_one_for_both

    run, choice, samples = run or RunOptions(), choice or BoosterOptions(), samples or WindowOptions()
    named = choice if choice.boosters else replace(choice, boosters=list(TRAINED_BOOSTERS))
    design = _design(named, plan.seeds)
    settings = TrainingSettings(
        features=samples.features,
        mode=samples.mode,
        hit_rate=choice.hit_rate,
        false_alarm_rate=choice.false_alarm_rate,
        max_stages=plan.stages,
        max_weak=design.n_rounds,
        max_samples=2 * samples.samples,
        baseline=False,
        seed=choice.seed,
    )
    refuse_one_for_both(positives, [negatives])
    scenes = read_scenes(plan.scenes, category=samples.label, category_optional=True)
    with _begun(run) as listener:
        reader = Reader(checked_threads(run.threads), strict=False, listener=listener, label=samples.label)
        crops = reader.positives(positives, samples.window, None)
        photos = reader.photos(negatives, crops, PHOTOS_MEMORY)
        full = compare_full(
            Sources(crops, photos, photos.subset([])),
            scenes,
            run.output,
            full_entries(design.contenders, design.costs),
            settings,
            n_seeds=plan.seeds,
            listener=listener,
            **run.keywords(),
        )
    _write_full(full, _command("cascades", [positives, negatives], run, choice, samples, plan), run.output)


def tables(
    *files: Path,
    data: TableOptions,
    run: RunOptions | None = None,
    choice: BoosterOptions | None = None,
    thresholds: RuleOptions | None = None,
) -> None:
    """Compare boosters on the rows of tables.

    Parameters
    ----------
    files : path
        CSV files, each with a header.
    data : TableOptions
        What is learnt.
    run : RunOptions
        Where, and how.
    choice : BoosterOptions
        Who.
    thresholds : RuleOptions
        By which rules.
    """
    from vjcascade.comparison import compare_tables, nikolaou_design

    run, choice, thresholds = run or RunOptions(), choice or BoosterOptions(), thresholds or RuleOptions()
    design = _design(choice, data.seeds, thresholds, nikolaou_design() if data.preset else None)
    contrasts = _contrasts(thresholds)
    with _begun(run) as listener:
        comparison = compare_tables(
            files,
            data.target,
            run.output,
            design,
            positive=data.positive,
            ignored=data.ignore_column or (),
            listener=listener,
            **run.keywords(),
        )
    command = _command("tables", files, run, choice, thresholds, data)
    _write_comparison(comparison, command, run.output, contrasts)


def _design(
    choice: BoosterOptions,
    seeds: int | None,
    thresholds: RuleOptions | None = None,
    base: Design | None = None,
) -> Design:
    """Return the design of a comparison: what is not given is that of the base, or as usual."""
    from vjcascade.comparison import Design

    thresholds = thresholds or RuleOptions()
    boosters = [name for one in choice.boosters or () for name in (booster_names() if one == ALL else [one])]
    given = {
        "boosters": boosters,
        "costs": choice.costs,
        "rules": thresholds.rules,
        "n_seeds": seeds,
        "n_rounds": choice.rounds,
    }
    settings: dict[str, Any] = {name: value for name, value in given.items() if value}
    return replace(
        base or Design(USUAL_BOOSTERS, tuple(map(parse_costs, USUAL_COSTS))),
        hit_rate=choice.hit_rate,
        false_alarm_rate=choice.false_alarm_rate,
        sanity=thresholds.sanity,
        seed=choice.seed,
        **settings,
    )


@contextmanager
def _begun(run: RunOptions) -> Iterator[Listener]:
    """Check where results go, and yield a listener; an interrupt says what is left."""
    from vjcascade.cli.compiling import SECONDS_FOR_TRAINING, compile_notice
    from vjcascade.cli.console import PlainConsole, ProgressLine
    from vjcascade.training.events import Note, Progress

    console = PlainConsole(sys.stdout)
    with (
        output_folder(run.output, "--output"),
        ProgressLine(console, remaining="about") as progress,
        compile_notice(SECONDS_FOR_TRAINING),
    ):

        def listen(event: Event) -> None:
            if isinstance(event, Progress):
                progress.update(event)
            elif isinstance(event, Note):
                progress.clear()
                console.print(event.text)

        try:
            yield listen
        except KeyboardInterrupt as interrupt:
            raise type(interrupt)(_what_is_left(run.output)) from None


def _what_is_left(output: Path) -> str:
    from vjcascade.comparison.run_cache import RUNS_NAME

    runs = output / RUNS_NAME
    n_lines = (
        runs.read_bytes().count(b"\n") if runs.is_file() else 0
    )  # the first says what the runs depend on
    if n_lines > 1 or any(output.glob(f"*/*/{MODEL_NAME}")):
        return f"finished runs are in {output}: continue with --resume (without --overwrite)"
    return "no run was finished"


def _command(kind: str, sources: Sequence[Path], run: RunOptions, *groups: Any) -> str:
    """Return the command line that repeats the comparison: options that are not the usual ones."""
    words = ["vjcascade", "compare", kind, *map(str, sources)]
    for group in (RunOptions(run.output), *groups):
        for field in fields(group):
            value = getattr(group, field.name)
            if value != field.default:
                words += [f"--{field.name.replace('_', '-')}", *_values(value)]
    return shlex.join(words)


def _values(value: Any) -> list[str]:
    """Return an option's values as words; a switch has none."""
    if value is True:
        return []
    return list(map(str, value)) if isinstance(value, list) else [str(value)]


def _contrasts(thresholds: RuleOptions) -> tuple[Contrast, ...]:
    """Return what was asked in advance; read before the work that shall answer it."""
    from vjcascade.comparison import read_contrasts

    return () if thresholds.contrasts is None else read_contrasts(thresholds.contrasts)


def _write_comparison(
    comparison: Comparison, command: str, output: Path, contrasts: tuple[Contrast, ...]
) -> None:
    """Write the report and the tables, and say what was found."""
    from vjcascade.comparison import (
        Summary,
        answer,
        contrasts_csv,
        curves_csv,
        judged,
        results_csv,
        results_json,
        summary_csv,
    )
    from vjcascade.report.comparison import build_comparison_report

    comparison = replace(comparison, metadata={**comparison.metadata, "command": {"compare": command}})
    outcomes = judged(Summary(comparison), contrasts)
    texts = {
        RESULTS_NAME: results_csv(comparison),
        SUMMARY_NAME: summary_csv(comparison),
        CURVES_NAME: curves_csv(comparison),
        JSON_NAME: results_json(comparison),
        REPORT_NAME: build_comparison_report(comparison, outcomes),
    }
    if outcomes:
        texts[CONTRASTS_NAME] = contrasts_csv(outcomes)
    _write(output, texts, output)
    numbers = [CONTRASTS_NAME] if outcomes else []
    numbers += [SUMMARY_NAME, CURVES_NAME, RESULTS_NAME, JSON_NAME]
    asked = {one.contrast for one in outcomes}
    unasked = [one.question for one in contrasts if one not in asked]
    left_out = [f"Left out, as a side or its costs take no part: {'; '.join(unasked)}"] if unasked else []
    _say([*answer(comparison, outcomes), *left_out], output, REPORT_NAME, numbers)


def _write_full(full: FullComparison, command: str, output: Path) -> None:
    """Write the report on whole cascades and its numbers, and say what was found."""
    from vjcascade.comparison.full import FOLDER_NAME
    from vjcascade.comparison.full_results import full_csv, full_json
    from vjcascade.report.full import build_full_report, full_answer

    full = replace(full, metadata={**full.metadata, "command": {"compare": command}})
    texts = {
        FULL_CSV_NAME: full_csv(full),
        FULL_JSON_NAME: full_json(full),
        FULL_REPORT_NAME: build_full_report(full),
    }
    _write(output, texts, output / FOLDER_NAME)
    _say(full_answer(full), output, FULL_REPORT_NAME, [FULL_CSV_NAME, FULL_JSON_NAME])


def _write(output: Path, texts: Mapping[str, str], runs: Path) -> None:
    """Write files that tell of the same results, all or none; `runs` is the folder that the comparison locks."""
    from vjcascade.files import remove_leftovers, write_together
    from vjcascade.training.run_lock import only_run_in

    files = {output / name: text.encode("utf-8", "backslashreplace") for name, text in texts.items()}
    with only_run_in(runs):
        remove_leftovers(output)
        try:
            write_together(files)
        except OSError as error:
            reason = f"{error.strerror}; {_what_is_left(output)}"
            raise OSError(error.errno, reason, error.filename) from error


def _say(answer: Sequence[str], output: Path, report: str, numbers: Sequence[str]) -> None:
    from vjcascade.cli.console import PlainConsole

    say: Callable[[str], None] = PlainConsole(sys.stdout).print
    first, last = ", ".join(str(output / name) for name in numbers[:-1]), output / numbers[-1]
    say("\n" + "\n".join(answer))
    say(f"\nreport: {output / report}; open it in a browser")
    say(f"numbers: {first} and {last}")
