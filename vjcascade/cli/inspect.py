"""``vjcascade inspect``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from vjcascade.cascade import CHANGES, OPERATING_POINT
from vjcascade.errors import ModelError
from vjcascade.messages import pluralize
from vjcascade.types import FeatureType

if TYPE_CHECKING:
    from vjcascade.cascade import Cascade


_BOOST_TYPES = {
    "DAB": " (discrete AdaBoost)",
    "RAB": " (real AdaBoost)",
    "LB": " (LogitBoost)",
    "GAB": " (gentle AdaBoost)",
}


def inspect(model: Path, /) -> None:
    """Show what is in a model file.

    Parameters
    ----------
    model : path
        Cascade file, as trained here or by OpenCV, folder of a training run, or name of a model on this machine.
    """
    from vjcascade.cascade import Cascade
    from vjcascade.cli.console import PlainConsole
    from vjcascade.cli.models import named_model

    model = named_model(model)
    console = PlainConsole(sys.stdout)
    for line in _lines(model, Cascade.load(model)):
        console.print(line)


def _lines(model: Path, cascade: Cascade) -> Iterator[str]:
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
    has_record = bool(set(cascade.metadata) - {CHANGES, OPERATING_POINT, "tuning"})
    yield from _training_lines(cascade) if has_record else _opencv_lines(model, cascade.n_stages)


def _kinds(cascade: Cascade) -> str:
    if cascade.feature_type is FeatureType.LBP:
        return "LBP"
    return f"Haar, {int(cascade.features['tilted'].sum())} of them tilted"


def _change_lines(changes: object) -> Iterator[str]:
    """Yield what was changed after training; nothing where it is not to be understood."""
    for change in changes if isinstance(changes, list) else []:
        match change:
            case {"first_stages": int(n), "of": int(whole)}:
                yield f"changed after training: cut to the first {n} of {pluralize(whole, 'stage')}"
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
            "\nhow it was trained, as the file records it:",
            json.dumps(cascade.metadata, indent=2, ensure_ascii=False),
        ]


def _opencv_lines(model: Path, n_stages: int) -> Iterator[str]:
    """Yield what opencv_traincascade recorded of the training, by the names of its options."""
    from vjcascade.formats.cascade_files import recorded_settings

    settings = recorded_settings(model)
    if not settings:
        yield "how it was trained: not recorded in the file"
        return
    yield "\nhow it was trained, as opencv_traincascade records it:"
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
    has_scenes = any(stage.get("scenes") for stage in record["stages"])
    columns = chosen_columns(RECORDED, has_scenes=has_scenes)
    yield f"\n{legend(columns)}\n\n{header(columns)}"
    yield from (row(columns, record_cells(stage)) for stage in record["stages"])
    yield f"\n{quality(cascade)}"
