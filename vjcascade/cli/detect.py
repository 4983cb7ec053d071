"""``vjcascade detect``."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from vjcascade.cli.dense import (
    DenseOptions,
    dense_search,
    refuse_still_pictures,
    refuse_without_dense,
)
from vjcascade.cli.options import WHOLE, CountOption, FlagOption, SizeOption, WholeOption
from vjcascade.cli.process import ExitCode
from vjcascade.cli.reports import ANNOTATIONS, Format, Report, ResumableReport, run_key
from vjcascade.errors import SettingsError
from vjcascade.messages import near_file
from vjcascade.types import Size

if TYPE_CHECKING:
    from vjcascade.cli.inputs import Input
    from vjcascade.cli.search import Detect, Search


def detect(  # noqa: PLR0913  each is a user's choice
    *sources: Path,
    camera: Annotated[int, WHOLE, Parameter(validator=Number(gte=0))] | None = None,
    every: CountOption = 1,
    scale_factor: float | None = None,
    min_neighbors: WholeOption | None = None,
    min_ranking_score: float | None = None,
    min_size: SizeOption | None = None,
    max_size: SizeOption | None = None,
    untuned: FlagOption = False,
    threads: CountOption | None = None,
    cluster: str | None = None,
    format: Format = Format.TEXT,  # noqa: A002  the option's name
    output: Annotated[Path, Parameter(alias="-o")] | None = None,
    resume: FlagOption = False,
    label: str | None = None,
    draw: Path | None = None,
    show: FlagOption = False,
    dense: FlagOption = False,
    dense_options: Annotated[DenseOptions | None, Parameter(name="*")] = None,
) -> int:
    """Find the object.

    Parameters
    ----------
    sources : path
        First the model, a cascade file as trained here or by OpenCV; without one, faces are detected. Then
        pictures, videos, and folders of pictures (with their subfolders, without drawn copies). Pictures can be in
        tar and zip archives, in shards (shard-{0000..0099}.tar) and at addresses (s3://bucket/photos, https://...).
    camera : int
        Watch this camera instead, until Ctrl-C; 0 is the first. Frames in between are skipped and counted.
    every : int
        Search every N-th frame of video files; 1 searches all.
    scale_factor : float
        Ratio of successive scales; closer to 1 finds more and takes longer. If not given, what
        vjcascade tune chose, or 1.1.
    min_neighbors : int
        A detection needs more overlapping windows than this; 0 gives every window. If not given, what vjcascade tune
        chose, or 3.
    min_ranking_score : float
        Leave out detections with a lower ranking score: the sum of the square roots of their windows' scores.
    min_size : Size
        Smallest object, WIDTHxHEIGHT in pixels.
    max_size : Size
        Largest object, WIDTHxHEIGHT in pixels.
    untuned : bool
        Ignore the settings that vjcascade tune or train stored in the model, and use all its stages.
    threads : int
        Processors to use; all if not given. The results do not depend on it.
    cluster : str
        Address of a Dask scheduler (tcp://host:8786) whose workers search the pictures, which they must find under the
        same paths or addresses; local:4 starts four processes on this machine. The results do not depend on it.
    format : Format
        text for people; jsonl: one object per picture or frame; csv: one row per detection; coco, yolo,
        voc: annotations of the pictures, which other programs can correct and vjcascade train takes (csv as well).
    output : path
        File for the results, instead of standard output; replaced if it is there. For yolo and voc, a folder.
    resume : bool
        With --format jsonl and --output: results are kept beside the output until all is searched. The same
        command continues there after an interruption.
    label : str
        With coco, yolo and voc: what the model finds; "object" if not given.
    draw : path
        Folder for copies with the detections and their ranking scores drawn in, NAME.found.png and NAME.found.mp4; they
        replace older copies. For one picture or video, it may be the name of the file, such as out.png.
    show : bool
        Show pictures and detections in a window; q or Esc ends.
    dense : bool
        Scan every window, without OpenCV's shortcuts: finds more, takes longer, and needs more neighbors.
    dense_options : DenseOptions
        What is possible with --dense.

    Returns
    -------
    int
        Exit code.
    """
    from vjcascade.cli.annotation_reports import AnnotationReport, check_annotations
    from vjcascade.cli.compiling import SECONDS_FOR_DETECTION, compile_notice
    from vjcascade.cli.drawing import names_file, plan_drawings
    from vjcascade.cli.inputs import Input, find_inputs
    from vjcascade.cli.models import named_model, split_model
    from vjcascade.cli.outputs import check_output_file, output_folder, refuse_overwriting
    from vjcascade.cli.search import Search
    from vjcascade.clusters import open_cluster
    from vjcascade.formats.annotations.writing import FOLDER_FORMATS
    from vjcascade.video import LiveWindow

    model, places = split_model(sources)
    if (camera is None) == (not places):
        raise _nothing_to_search(model, places, camera)
    dense_options = dense_options or DenseOptions()
    if not dense:
        refuse_without_dense(dense_options)
    is_annotation = format in ANNOTATIONS
    if not is_annotation:
        _check_output(output, label)
    if resume:
        _refuse_to_resume(format, output, draw)
    if cluster is not None and (camera is not None or draw is not None or show):
        raise SettingsError("--cluster works without --camera, --draw and --show: leave them out")
    model = named_model(model) if model else _faces()
    shared = {
        "scale_factor": scale_factor,
        "min_neighbors": min_neighbors,
        "min_ranking_score": min_ranking_score,
        "min_size": min_size,
        "max_size": max_size,
        "n_threads": threads if cluster is None else 1,
    }
    given = {name: value for name, value in shared.items() if value is not None}
    detect_in = _detect_in(model, given, dense_options if dense else None, is_untuned=untuned)
    inputs = find_inputs(places, every) if camera is None else [Input(None, camera)]
    _refuse_misfits(inputs, dense_options, cluster)
    is_many = len(inputs) > 1 or inputs[0].is_moving
    drawings = plan_drawings(inputs, draw) if draw is not None else {}
    written = [output] if output is not None else []
    if is_annotation:
        written = check_annotations(format, output, inputs)
    targets = [*drawings.values(), *written]
    refuse_overwriting(
        targets, [model, *(source.local_path for source in inputs if source.local_path is not None)]
    )
    with ExitStack() as stack:
        if draw is not None and names_file(draw):
            check_output_file(draw)
        elif draw is not None:
            stack.enter_context(output_folder(draw))
        window = stack.enter_context(LiveWindow("vjcascade")) if show else None
        if output is not None and format.value in FOLDER_FORMATS:
            stack.enter_context(output_folder(output, "--output"))
        stack.enter_context(compile_notice(SECONDS_FOR_DETECTION))
        ready = partial(
            Search,
            detect_in,
            drawings=drawings,
            window=window,
            cluster=stack.enter_context(open_cluster(cluster)),
        )
        if resume and output is not None:
            kept = _resumable(output, inputs, model, given, dense_options if dense else None)
            return _search_the_rest(kept, inputs, ready)
        report = (
            stack.enter_context(AnnotationReport(format, output, label or "object"))
            if is_annotation
            else stack.enter_context(Report(format, output, is_dense=dense, skips_empty=is_many))
        )
        return ready(report).run(inputs, is_quiet=output is not None)


def _nothing_to_search(model: Path | None, places: Sequence[Path], camera: int | None) -> SettingsError:
    """Return what to say where there are no pictures, or a camera as well."""
    if model and camera is None and not model.exists():
        near = near_file(model)
        return SettingsError(
            f"{model}: there is no such file or folder; {f'did you mean {near!r}?' if near else 'check the path'}"
        )
    after = f" after the model, {model}" if model and not places else ""
    return SettingsError(f"give pictures, folders or videos to search{after}, or --camera and its number")


def _resumable(
    output: Path, inputs: Sequence[Input], model: Path, given: dict[str, Any], dense: DenseOptions | None
) -> ResumableReport:
    """Return the report of a run that can go on: with the same model, settings and pictures."""
    _refuse_videos(inputs, "--resume")
    settings = sorted((name, str(value)) for name, value in given.items() if name != "n_threads")
    digest = hashlib.sha256(model.read_bytes()).hexdigest()
    names = "\0".join(source.name for source in inputs)
    return ResumableReport(
        output, run_key(digest, repr(settings), repr(dense), names), is_dense=dense is not None
    )


def _refuse_misfits(inputs: Sequence[Input], dense: DenseOptions, cluster: str | None) -> None:
    """Refuse inputs that options are not for."""
    if dense.memory is not None:
        refuse_still_pictures(inputs)
    if cluster is not None:
        _refuse_videos(inputs, "--cluster")


def _refuse_videos(inputs: Sequence[Input], option: str) -> None:
    moving = next((source.name for source in inputs if source.is_moving), None)
    if moving is not None:
        raise SettingsError(
            f"{moving}: {option} is for pictures, and this is a video or camera; leave one of them out"
        )


def _refuse_to_resume(format_: Format, output: Path | None, draw: Path | None) -> None:
    if format_ is not Format.JSONL or output is None or draw is not None:
        raise SettingsError("--resume needs --format jsonl and --output, and works without --draw")


def _search_the_rest(
    kept: ResumableReport, inputs: Sequence[Input], search_for: Callable[[ResumableReport], Search]
) -> ExitCode:
    """Search the inputs that a run before has not."""
    n_done = kept.n_done([source.name for source in inputs])
    if n_done:
        sys.stderr.write(f"continuing after {n_done:,} of {len(inputs):,} pictures\n")
    with kept:
        code = search_for(kept).run(inputs[n_done:], is_quiet=True)
        kept.is_complete = code in {ExitCode.DONE, ExitCode.WRONG_INPUT}
    return code


def _faces() -> Path:
    """Return the model that comes with vjcascade, and say so."""
    from vjcascade.cli.models import shipped_model

    model = shipped_model()
    sys.stderr.write(f"no model given: detecting faces with {model}\n")
    return model


def _detect_in(
    model: Path, given: dict[str, Any], dense_options: DenseOptions | None, *, is_untuned: bool
) -> Callable[[Input], Detect]:
    """Return what finds the object in an input: in OpenCV's way, as the model was tuned, or by dense detection."""
    from vjcascade.cascade import Cascade
    from vjcascade.cli.models import tuned_point
    from vjcascade.cli.process import start_compiler

    start_compiler()
    from vjcascade.detection import Detector, PreviousFrame

    cascade = Cascade.load(model)
    _tell_smallest(cascade.window, given.get("min_size"))
    if dense_options is not None:
        return dense_search(cascade, dense_options, given)
    point = None if is_untuned else tuned_point(model, cascade)
    if point is not None:
        is_whole = point.n_stages == cascade.n_stages
        part = "" if is_whole else f"; the first {point.n_stages} of its {cascade.n_stages} stages"
        sys.stderr.write(f"tuned settings of the model, unless options override them: {point}{part}\n")
    detector = point.detector(cascade, **given) if point else Detector(cascade, **given)

    def detect_in(source: Input) -> Detect:
        return partial(detector.detect, previous=PreviousFrame()) if source.is_moving else detector.detect

    return detect_in


def _tell_smallest(window: Size, min_size: Size | None) -> None:
    """Say how small objects may be, where their shape makes that clearly larger than what was asked for."""
    if min_size is None:
        return
    scale = max(min_size.width / window.width, min_size.height / window.height)
    smallest = Size(round(window.width * scale), round(window.height * scale))
    if smallest.width * smallest.height > 1.5 * min_size.width * min_size.height:
        as_wide = Size(min_size.width, max(round(min_size.width * window.height / window.width), 1))
        other = (
            f"; for objects {min_size.width} pixels wide, give {as_wide}"
            if as_wide.height < min_size.height
            else ""
        )
        sys.stderr.write(
            f"note: --min-size {min_size}: the model's window is {window}, so the smallest objects "
            f"it searches for are {smallest}{other}\n"
        )


def _check_output(output: Path | None, label: str | None) -> None:
    """Refuse before the work what would fail after it, and what was meant for --draw or for annotations."""
    from vjcascade.cli.outputs import check_output_file
    from vjcascade.imaging import IMAGE_SUFFIXES
    from vjcascade.video import is_video

    if label is not None:
        raise SettingsError("--label is for --format coco, yolo or voc: add one of these, or leave it out")
    if output is None:
        return
    if output.suffix.lower() in IMAGE_SUFFIXES or is_video(output):
        raise SettingsError(
            f"{output}: --output is for the list of detections; for drawn pictures, give a folder to --draw"
        )
    check_output_file(output)
