"""``vjcascade tune``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from vjcascade.cli.options import CountOption
from vjcascade.cli.scenes import HitOptions, SceneOptions
from vjcascade.messages import pluralize

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vjcascade.cascade import Cascade
    from vjcascade.cli.console import PlainConsole
    from vjcascade.evaluation import Goal, MatchingRule, Scenes, Tuning


def tune(  # noqa: PLR0913  each is a user's choice
    model: Path,
    scenes: Path,
    /,
    *,
    output: Annotated[Path, Parameter(alias="-o")],
    recall: float | None = None,
    fppi: float | None = None,
    precision: float | None = None,
    hits: HitOptions | None = None,
    listing: SceneOptions | None = None,
    threads: CountOption | None = None,
) -> None:
    """Choose how a model is used.

    Parameters
    ----------
    model : path
        Cascade file, as trained here or by OpenCV, folder of a training run, or name of a model on this machine.
    scenes : path
        Labelled scenes (ground truth) that training has not seen: a list, one NAME COUNT X Y WIDTH HEIGHT ... per
        line (COUNT may be 0), or annotations in another format, such as CSV, COCO, YOLO or Pascal VOC.
    output : path
        Model file to write; it cannot be the model itself.
    recall : float
        Lowest recall to accept, with as few false alarms as possible.
    fppi : float
        Most false alarms per picture to accept, with the highest recall.
    precision : float
        Lowest precision to accept, with the highest recall.
    hits : HitOptions
        What counts as a hit.
    listing : SceneOptions
        Which pictures and boxes count.
    threads : int
        Processors to use; all if not given. The result does not depend on it.
    """
    from vjcascade.cascade import Cascade
    from vjcascade.cli.console import PlainConsole
    from vjcascade.cli.models import named_model
    from vjcascade.cli.outputs import check_output_file, refuse_overwriting
    from vjcascade.cli.process import start_compiler
    from vjcascade.evaluation.goals import Goal

    goal, rule = Goal(recall, fppi, precision), (hits or HitOptions()).chosen
    check_output_file(output)
    model = named_model(model)
    refuse_overwriting([output], kept=[model, scenes])
    cascade = Cascade.load(model)
    listed = (listing or SceneOptions()).read(scenes)
    console = PlainConsole(sys.stdout)
    n_objects = int(listed.n_objects.sum())
    for note in listed.notes:
        console.print(f"note: {note}")
    console.print(f"scenes: {len(listed)} with {pluralize(n_objects, 'object')}; goal: {goal}; a hit: {rule}")
    start_compiler()
    tuning = _tuned(cascade, listed, goal, rule, threads, console)
    record = {**tuning.as_dict(), "rule": rule.as_dict(), "scenes": listed.as_dict()}
    tuning.point.applied(cascade, record).save(output)
    for line in _lines(tuning, cascade.n_stages):
        console.print(line)
    console.print(f"written: {output}; `vjcascade detect` uses these settings unless options override them")


class _Pictures(Sequence[Any]):
    """Pictures that are read when they are asked for."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, number: int) -> NDArray[np.uint8]:  # type: ignore[override]  # one at a time
        from vjcascade.imaging import read_gray

        return read_gray(self._paths[number])


def _tuned(
    cascade: Cascade,
    listed: Scenes,
    goal: Goal,
    rule: MatchingRule,
    threads: int | None,
    console: PlainConsole,
) -> Tuning:
    """Tune, and show how far it is."""
    from vjcascade.cli.compiling import SECONDS_FOR_DETECTION, compile_notice
    from vjcascade.cli.console import ProgressLine
    from vjcascade.evaluation import tune as tune_on_scenes
    from vjcascade.training.events import Progress

    with compile_notice(SECONDS_FOR_DETECTION), ProgressLine(console, remaining="about") as line:
        return tune_on_scenes(
            cascade,
            _Pictures([scene.path for scene in listed.scenes]),
            [scene.boxes for scene in listed.scenes],
            goal,
            rule=rule,
            ignored=[scene.ignored for scene in listed.scenes],
            n_threads=threads,
            progress=lambda done, total: line.update(Progress("trying settings", done, total, "")),
        )


def _lines(tuning: Tuning, n_stages: int) -> Iterator[str]:
    """Yield what was chosen, and what it reaches."""
    from vjcascade.evaluation.goals import FEW_OBJECTS

    point, goal = tuning.point, tuning.goal
    if not tuning.meets_goal:
        yield f"{goal} cannot be reached on these scenes; this comes closest:"
    shift = f", the last threshold shifted by {point.threshold_shift:+g}" if point.threshold_shift else ""
    yield f"chosen: {point.n_stages} of {pluralize(n_stages, 'stage')}{shift}; {point}"
    yield f"before: {tuning.before} (default settings)"
    yield f"after: {tuning.after} (on the scenes used for tuning, so optimistic)"
    if tuning.cross_validated is None:
        yield "on other scenes: unknown; cross-validation needs more scenes with objects"
        return
    yield f"on other scenes: {tuning.cross_validated} (cross-validated: tuned and measured on different scenes)"
    if goal.quality(tuning.cross_validated) <= goal.quality(tuning.before):
        yield "on other scenes it is no better than the default settings: give more scenes, or keep the model unchanged"
    if tuning.after.n_objects < FEW_OBJECTS:
        yield f"note: {pluralize(tuning.after.n_objects, 'object')} are few; such figures may be off by ten points"
