"""``vjcascade inspect``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from vjcascade.cascade import CHANGES, OPERATING_POINT
from vjcascade.cli.options import WHOLE, CountOption, FlagOption
from vjcascade.cli.outputs import check_page, refuse_overwriting
from vjcascade.errors import ModelError, SettingsError
from vjcascade.files import write_atomic
from vjcascade.formats.cascade_files import recorded_settings
from vjcascade.messages import few_names, pluralize
from vjcascade.types import FeatureType

if TYPE_CHECKING:
    from vjcascade.cascade import Cascade
    from vjcascade.evaluation.scan_costs import ScanCosts
    from vjcascade.inspection import Inspection, PictureScan


_BOOST_TYPES = {
    "DAB": " (discrete AdaBoost)",
    "RAB": " (real AdaBoost)",
    "LB": " (LogitBoost)",
    "GAB": " (gentle AdaBoost)",
}


def inspect(
    model: Path,
    /,
    *pictures: Path,
    html: Path | None = None,
    json: FlagOption = False,
    seed: Annotated[int, WHOLE, Parameter(validator=Number(gte=0))] = 0,
    threads: CountOption | None = None,
) -> None:
    """Show what is in a model file.

    Parameters
    ----------
    model : path
        Cascade file, as trained here or by OpenCV, folder of a training run, or name of a model on this machine.
    pictures : path
        Pictures and folders of pictures to scan: what share of their windows does each stage reject, and how many
        features does a window take? If there are very many, a random sample is used.
    html : path
        Page to write, with the features drawn.
    json : bool
        Print JSON, with all that is in the model.
    seed : int
        Random seed of the sample.
    threads : int
        Processors to use; all if not given. The result does not depend on it.
    """
    from vjcascade.cascade import Cascade
    from vjcascade.cli.console import PlainConsole
    from vjcascade.cli.models import named_model
    from vjcascade.inspection import inspect_model

    model = named_model(model)
    if html is not None:
        from vjcascade.report.inspection import build_inspection_page
        from vjcascade.report.training_run import run_of

        refuse_overwriting([html], [model, *pictures])
        check_page(html)
    cascade = Cascade.load(model)
    scan = _scan(cascade, pictures, seed, threads) if pictures else None
    inspection = inspect_model(str(model), cascade, scan)
    if html is not None:
        page = build_inspection_page(inspection, run_of(model, cascade), recorded_settings(model))
        write_atomic(html, page.encode("utf-8", "backslashreplace"))
    console = PlainConsole(sys.stdout)
    if json:
        console.print(inspection.as_json(recorded_settings(model)).rstrip("\n"))
        return
    for line in _lines(model, inspection):
        console.print(line)
    if html is not None:
        console.print(f"\npage: {html}; open it in a browser")


def _scan(cascade: Cascade, pictures: Sequence[Path], seed: int, threads: int | None) -> PictureScan:
    from vjcascade.cli.compiling import SECONDS_FOR_DETECTION, compile_notice
    from vjcascade.cli.console import PlainConsole, ProgressLine
    from vjcascade.cli.inputs import find_inputs
    from vjcascade.inspection import scan_pictures
    from vjcascade.training.events import Event, Progress

    inputs = find_inputs(pictures)
    for one in inputs:
        if one.is_moving:
            raise SettingsError(f"{one.name}: this is a video; give pictures, or folders of pictures")
    with compile_notice(SECONDS_FOR_DETECTION), ProgressLine(PlainConsole(sys.stderr)) as line:

        def show(event: Event) -> None:
            if isinstance(event, Progress):
                line.update(event)

        paths = [one.path for one in inputs if one.path is not None]
        return scan_pictures(cascade, paths, seed=seed, n_threads=threads, listener=show)


def _lines(model: Path, inspection: Inspection) -> Iterator[str]:
    cascade = inspection.cascade
    n_nodes = len(cascade.nodes)
    is_stumps = n_nodes == cascade.n_trees
    trees = pluralize(cascade.n_trees, "stump" if is_stumps else "tree")
    nodes = "" if is_stumps else f" with {pluralize(n_nodes, 'node')}"
    yield f"{model}"
    yield f"window: {cascade.window}"
    yield f"stages: {cascade.n_stages}"
    yield f"weak classifiers: {trees}{nodes}; in each stage: {' '.join(map(str, cascade.stage_sizes))}"
    yield f"features: {len(cascade.features)} {_kinds(cascade)}"
    yield from _change_lines(cascade.metadata.get(CHANGES))
    yield from _tuning_lines(cascade)
    yield from _stage_lines(inspection)
    if inspection.oddities:
        yield "\noddities:"
    yield from (f"  {oddity.sentence}" for oddity in inspection.oddities)
    has_record = bool(set(cascade.metadata) - {CHANGES, OPERATING_POINT, "tuning"})
    yield from _training_lines(cascade) if has_record else _opencv_lines(model, cascade.n_stages)


def _kinds(cascade: Cascade) -> str:
    if cascade.feature_type is FeatureType.LBP:
        return "LBP"
    return f"Haar, {int(cascade.features['tilted'].sum())} of them tilted"


def _stage_lines(inspection: Inspection) -> Iterator[str]:
    """Yield a table of the stages, and what pictures say of them."""
    scan = inspection.scan
    if scan is not None:
        yield f"features in a window, on average: {scan.costs.mean_features:.2f}, in {scan}"
    if not inspection.stages:
        return
    on_pictures = "  reached  rejects  features" if scan is not None else ""
    yield f"\nstage   weak  nodes   threshold   lowest sum  highest sum{on_pictures}"
    for one in inspection.stages:
        numbers = f"{one.threshold:11.4g}  {one.lowest:11.4g}  {one.highest:11.4g}"
        measured = "" if scan is None else _measured(scan.costs, one.stage - 1)
        yield f"{one.stage:5} {one.n_weak:6} {one.n_nodes:6} {numbers}{measured}"
    yield "lowest and highest sum: of the leaf values of its weak classifiers; a window passes from the threshold on"
    if scan is not None:
        yield "reached: share of all windows; rejects: of those; features: evaluated in any window, on average"


def _measured(costs: ScanCosts, stage: int) -> str:
    reached = (
        f"{costs.reached[stage]:.1%}" if costs.reached[stage] >= 0.001 else f"{costs.reached[stage]:.1e}"
    )
    rejects = f"{costs.rejected[stage]:.1%}" if costs.n_reached[stage] else "-"
    return f"  {reached:>7}  {rejects:>7}  {costs.features_of_any_window[stage]:8.3f}"


def _change_lines(changes: object) -> Iterator[str]:
    """Yield what was changed after training; nothing where it is not to be understood."""
    for change in changes if isinstance(changes, list) else []:
        match change:
            case {"first_stages": int(n), "of": int(whole)}:
                yield f"changed after training: cut to the first {n} of {pluralize(whole, 'stage')}"
            case {"followed_by": dict(), "stages": int(n)}:
                yield f"changed after training: followed by the last {pluralize(n, 'stage')} of another model"
            case {"threshold_shift": int(shift) | float(shift), "last_stages": int(n)}:
                stages = f"the last {pluralize(n, 'stage')}"
                yield f"changed after training: thresholds of {stages} shifted by {shift:+g}"


def _tuning_lines(cascade: Cascade) -> Iterator[str]:
    """Yield the settings that the model was tuned to."""
    if cascade.metadata.get(OPERATING_POINT) is None:
        return
    from vjcascade.evaluation.operating_point import OperatingPoint

    try:
        point = OperatingPoint.of(cascade)
    except ModelError as error:
        yield str(error)
    else:
        fewer = point is not None and point.n_stages < cascade.n_stages
        part = f"; the first {point.n_stages} of its {cascade.n_stages} stages" if point and fewer else ""
        yield f"tuned settings: {point}{part}"


def _training_lines(cascade: Cascade) -> list[str]:
    try:
        return list(_record_lines(cascade))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):  # not a record of ours
        return [
            "\ntraining record:",
            dumps(cascade.metadata, indent=2, ensure_ascii=False),
        ]


def _opencv_lines(model: Path, n_stages: int) -> Iterator[str]:
    """Yield what opencv_traincascade recorded of the training, by the names of its options."""
    settings = recorded_settings(model)
    if not settings:
        yield "\ntraining record: none in the file"
        return
    yield "\ntraining record of opencv_traincascade:"
    if settings.get("stageNum") == str(n_stages):
        del settings["stageNum"]
    for name, value in settings.items():
        yield f"  {name}: {value}{_BOOST_TYPES.get(value, '') if name == 'boostType' else ''}"


def _record_lines(cascade: Cascade) -> Iterator[str]:
    from vjcascade.cli.stage_table import RECORDED, chosen_columns, header, legend, record_cells, row
    from vjcascade.cli.training_log import quality

    record = cascade.metadata
    for part in ("data", "settings"):
        yield f"\n{part}:"
        yield from (f"  {name}: {value}" for name, value in record[part].items())
    if "continued" in record:
        before = record["continued"]
        n_before = min(before["stages"], cascade.n_stages)
        yield f"\ncontinues {before['model']}: its {pluralize(n_before, 'stage')} come first"
    stages = record["stages"]
    columns = chosen_columns(
        RECORDED,
        has_scenes=any(stage.get("scenes") for stage in stages),
        has_baseline=any(stage.get("baseline") for stage in stages),
    )
    yield f"\n{legend(columns)}\n\n{header(columns)}"
    yield from (row(columns, record_cells(stage)) for stage in stages)
    n_before = record.get("continued", {}).get("stages", 0)
    excluded = [
        f"from stage {stage['stage']} on {few_names(stage['outliers'])}"
        for stage in stages
        if stage["stage"] > n_before and stage.get("outliers")
    ]
    if excluded:
        yield f"\nheld-out crops that look unlike the others; thresholds are not tuned on them: {'; '.join(excluded)}"
    n_after = cascade.n_stages - stages[-1]["stage"]
    if n_after:
        yield f"\nof the last {pluralize(n_after, 'stage')} there is no record; without them:"
    yield f"\n{quality(cascade)}"
