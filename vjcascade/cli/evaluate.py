"""``vjcascade evaluate``."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from vjcascade.cli.options import CountOption, FlagOption, SizeOption, WholeOption
from vjcascade.cli.outputs import output_folder, refuse_overwriting
from vjcascade.cli.report import REPORT_NAME
from vjcascade.cli.scenes import HitOptions, SceneOptions
from vjcascade.errors import ModelError, SettingsError
from vjcascade.evaluation import Score, Ties
from vjcascade.files import MODEL_NAME
from vjcascade.messages import pluralize

if TYPE_CHECKING:
    from vjcascade.cli.console import PlainConsole
    from vjcascade.evaluation import Candidate, Evaluation, Protocol, Scenes

JSON_NAME, CSV_NAME, CURVE_NAME = "results.json", "results.csv", "curve.csv"


@Parameter(name="*")
@dataclass(frozen=True)
class DetectionOptions:
    """Detector settings, in place of those that vjcascade tune stored in the models, or of the defaults.

    Attributes
    ----------
    scale_factor : float
        Ratio of successive scales; if not given, what vjcascade tune chose, or 1.1.
    min_neighbors : int
        A detection needs more overlapping windows than this; if not given, what vjcascade tune chose, or 3. The
        curve is always that of all groups of two windows or more.
    min_ranking_score : float
        Leave out detections with a lower ranking score; not on the curve.
    min_size : Size
        Smallest object, WIDTHxHEIGHT in pixels.
    max_size : Size
        Largest object, WIDTHxHEIGHT in pixels.
    """

    scale_factor: float | None = None
    min_neighbors: WholeOption | None = None
    min_ranking_score: float | None = None
    min_size: SizeOption | None = None
    max_size: SizeOption | None = None

    @property
    def given(self) -> dict[str, Any]:
        """Those that were given, as keywords of a detector."""
        return {name: value for name, value in vars(self).items() if value is not None}


@Parameter(name="*")
@dataclass(frozen=True)
class CurveOptions:
    """How detections are ranked, and at which points figures are given.

    Attributes
    ----------
    score : Score
        What ranks detections: ranking (sum of the square roots of their windows' margins), neighbors (the number
        of windows, as in most published figures) or margin (of the best window).
    ties : Ties
        How equal scores count: together (one step of the curve) or in-order (one after the other as they come, as
        in most published figures).
    fppi : float
        False alarms per picture at which models are compared first.
    false_alarms : list of int
        Total numbers of false alarms at which recall is reported.
    sizes : list of float
        Heights in pixels between classes of objects; if not given, thirds of the objects in the scenes.
    """

    score: Score = Score.RANKING
    ties: Ties = Ties.TOGETHER
    fppi: float = 0.1
    false_alarms: Annotated[
        list[WholeOption] | None, Parameter(negative="", consume_multiple=True, show_default="0 5 10 50")
    ] = None
    sizes: Annotated[list[float] | None, Parameter(negative="", consume_multiple=True)] = None


def evaluate(  # noqa: PLR0913  each is a user's choice
    *paths: Path,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    untuned: FlagOption = False,
    threads: CountOption | None = None,
    cluster: str | None = None,
    detection: DetectionOptions | None = None,
    hits: HitOptions | None = None,
    listing: SceneOptions | None = None,
    curve: CurveOptions | None = None,
) -> None:
    """Measure models on scenes.

    Parameters
    ----------
    paths : path
        First the models: cascade files as trained here or by OpenCV, folders of training runs, or names of models on
        this machine, such as frontalface. Last the labelled scenes (ground truth), which training and tuning must not
        have seen: a list, one NAME COUNT X Y WIDTH HEIGHT ... per line (COUNT may be 0), a CSV, COCO JSON, or a
        folder of Pascal VOC XML.
    output : path
        Folder for the report, report.html, and the numbers behind it: results.json, results.csv and curve.csv.
    untuned : bool
        Ignore the settings that vjcascade tune stored in the models.
    threads : int
        Processors to use; all if not given. The results do not depend on it.
    cluster : str
        Address of a Dask scheduler (tcp://host:8786) whose workers search the pictures; local:4 starts four processes
        on this machine. The results do not depend on it.
    detection : DetectionOptions
        How models are used.
    hits : HitOptions
        What counts as a hit.
    listing : SceneOptions
        Which pictures and boxes count.
    curve : CurveOptions
        How detections are ranked, and at which points figures are given.
    """
    from contextlib import ExitStack

    from vjcascade.cli.console import PlainConsole
    from vjcascade.cli.evaluation_table import table_lines
    from vjcascade.evaluation.results import notes, settings_in_use, verdict

    if len(paths) < 2:
        raise SettingsError("give one model or more, then the scenes to measure them on")
    *words, source = paths
    detection, hits, listing, curve = (
        detection or DetectionOptions(),
        hits or HitOptions(),
        listing or SceneOptions(),
        curve or CurveOptions(),
    )
    protocol = _protocol(hits, curve)
    if output is not None:
        _check_output(output, paths)
    try:
        candidates = _candidates(words, detection, is_untuned=untuned)
    except ModelError as error:
        if _is_model(source):
            raise ModelError(
                f"{error}; {source} is a model: give the models first, and the scenes last"
            ) from None
        raise
    scenes = listing.read(source)
    console = PlainConsole(sys.stdout)
    n_objects = int(scenes.n_objects.sum())
    console.print(f"scenes: {len(scenes)} with {pluralize(n_objects, 'object')}; a hit: {protocol.rule}")
    with ExitStack() as stack:
        if output is not None:
            stack.enter_context(output_folder(output, "--output"))
        evaluation = _evaluated(candidates, scenes, protocol, (threads, cluster), console)
        for line in ("", *verdict(evaluation), "", *table_lines(evaluation), ""):
            console.print(line)
        for model in evaluation.models:
            console.print(f"{model.name} as used: {settings_in_use(model)}")
        for note in notes(evaluation):
            console.print(f"note: {note}")
        if output is not None:
            command = _command(paths, untuned, detection, hits, listing, curve)
            _write(evaluation, command, output)
            console.print(f"report: {output / REPORT_NAME}; open it in a browser")
            console.print(f"numbers: {output / CSV_NAME}, {output / CURVE_NAME} and {output / JSON_NAME}")


def _protocol(hits: HitOptions, curve: CurveOptions) -> Protocol:
    from vjcascade.evaluation import Protocol

    lists = {"counts": curve.false_alarms, "size_bounds": curve.sizes}
    given: dict[str, Any] = {name: tuple(values) for name, values in lists.items() if values is not None}
    return Protocol(
        rule=hits.chosen,
        score=curve.score,
        ties=curve.ties,
        false_alarms_per_picture=curve.fppi,
        **given,
    )


def _candidates(words: Sequence[Path], options: DetectionOptions, *, is_untuned: bool) -> list[Candidate]:
    """Return the models with the settings in use."""
    from vjcascade.cascade import Cascade
    from vjcascade.cli.models import named_model, tuned_point
    from vjcascade.cli.process import start_compiler

    start_compiler()
    from vjcascade.detection import Detector
    from vjcascade.evaluation import Candidate

    files = [named_model(word) for word in words]
    candidates = []
    for name, file in zip(_names(words), files, strict=True):
        cascade = Cascade.load(file)
        point = None if is_untuned else tuned_point(file, cascade)
        given = options.given
        detector = point.detector(cascade, **given) if point else Detector(cascade, **given)
        candidates.append(Candidate(name, detector, is_tuned=point is not None))
    return candidates


def _is_model(path: Path) -> bool:
    """Return whether a file is a model: then it stands where the scenes should."""
    from vjcascade.cascade import Cascade

    try:
        return Cascade.load(path).n_stages > 0
    except (ModelError, OSError):
        return False


def _names(words: Sequence[Path]) -> list[str]:
    """Return short names of models; those that would be alike are named as they were given."""
    short = [_named_after(word).name.removeprefix("haarcascade_") or str(word) for word in words]
    times = Counter(short)
    return [str(word) if times[name] > 1 else name for word, name in zip(words, short, strict=True)]


def _named_after(word: Path) -> Path:
    """Return what a model is named after: the folder of a run, of which every model has the same name, or its file."""
    if word.is_dir():
        return word
    return word.parent if word.name == MODEL_NAME and word.parent.name else word.with_suffix("")


def _check_output(output: Path, inputs: Sequence[Path]) -> None:
    """Refuse now what would fail after the work: a report that would take a file's place."""
    from vjcascade.files import is_run_folder

    if is_run_folder(output):
        raise SettingsError(
            f"{output}: --output needs its own folder, and this is a training run with its own report"
        )
    refuse_overwriting([output / name for name in (JSON_NAME, CSV_NAME, CURVE_NAME, REPORT_NAME)], inputs)


def _evaluated(
    candidates: Sequence[Candidate],
    scenes: Scenes,
    protocol: Protocol,
    where: tuple[int | None, str | None],
    console: PlainConsole,
) -> Evaluation:
    """Evaluate with so many threads or on a cluster, and show how far it is."""
    from vjcascade.cli.compiling import SECONDS_FOR_DETECTION, compile_notice
    from vjcascade.cli.console import ProgressLine
    from vjcascade.evaluation import evaluate as evaluate_on_scenes
    from vjcascade.training.events import Progress

    with compile_notice(SECONDS_FOR_DETECTION), ProgressLine(console, remaining="about") as line:
        return evaluate_on_scenes(
            candidates,
            scenes,
            protocol,
            n_threads=where[0],
            client=where[1],
            progress=lambda name, done, total: line.update(
                Progress("searching", done, total, f"{name}, {done:,} of {total:,}")
            ),
        )


def _command(paths: Sequence[Path], untuned: bool, *groups: Any) -> str:
    """Return the command line that repeats it: options that are not the usual ones."""
    words = ["vjcascade", "evaluate", *map(str, paths), *(["--untuned"] if untuned else [])]
    for group in groups:
        for field in fields(group):
            value = getattr(group, field.name)
            if value == field.default:
                continue
            values = value if isinstance(value, list) else [] if value is True else [value]
            words += [f"--{field.name.replace('_', '-')}", *map(str, values)]
    return shlex.join(words)


def _write(evaluation: Evaluation, command: str, output: Path) -> None:
    """Write the report and its numbers, all or none."""
    from vjcascade.evaluation.results import curve_csv, results_csv, results_json
    from vjcascade.files import remove_leftovers, write_together
    from vjcascade.report.evaluation import build_evaluation_report
    from vjcascade.training.run_lock import only_run_in

    texts = {
        CSV_NAME: results_csv(evaluation),
        CURVE_NAME: curve_csv(evaluation),
        JSON_NAME: results_json(evaluation, command),
        REPORT_NAME: build_evaluation_report(evaluation, command),
    }
    with only_run_in(output):
        remove_leftovers(output)
        write_together(
            {output / name: text.encode("utf-8", "backslashreplace") for name, text in texts.items()}
        )
