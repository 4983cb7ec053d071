"""``vjcascade detect``."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from vjcascade.cli.options import CountOption, SizeOption
from vjcascade.cli.reports import Format, Report
from vjcascade.errors import SettingsError


def detect(  # noqa: PLR0913  each is a user's choice
    model: Path,
    /,
    *sources: Path,
    camera: Annotated[int, Parameter(validator=Number(gte=0))] | None = None,
    scale_factor: float = 1.1,
    min_neighbors: int = 3,
    min_size: SizeOption | None = None,
    max_size: SizeOption | None = None,
    threads: CountOption | None = None,
    format: Format = Format.TEXT,  # noqa: A002  the option's name
    output: Annotated[Path, Parameter(alias="-o")] | None = None,
    draw: Path | None = None,
    show: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> int:
    """Find the object.

    Parameters
    ----------
    model : path
        Cascade file, as trained here or by OpenCV.
    sources : path
        Pictures, videos, and folders of pictures (with their subfolders, without drawn copies).
    camera : int
        Watch this camera instead, until Ctrl-C; 0 is the first.
    scale_factor : float
        Ratio of neighbouring sizes that are tried; nearer to 1 finds more and takes longer.
    min_neighbors : int
        A detection needs more overlapping windows than this; 0 gives every window.
    min_size : Size
        Smallest object, WIDTHxHEIGHT in pixels.
    max_size : Size
        Largest object, WIDTHxHEIGHT in pixels.
    threads : int
        Processors to use; all if not given. The results do not depend on it.
    format : Format
        text for people; jsonl: one object for every picture or frame; csv: one row for every detection.
    output : path
        File for the results, instead of standard output; replaced if it is there.
    draw : path
        Folder for copies with the detections drawn in, NAME.found.png and NAME.found.mp4; they replace older copies.
    show : bool
        Show pictures and detections in a window; q ends.

    Returns
    -------
    int
        Exit code.
    """
    from vjcascade.cascade import Cascade
    from vjcascade.cli.drawing import plan_drawings
    from vjcascade.cli.inputs import Input, find_inputs
    from vjcascade.cli.outputs import make_output_folder, refuse_overwriting
    from vjcascade.cli.search import Search
    from vjcascade.detection import Detector
    from vjcascade.video import LiveWindow

    if (camera is None) == (not sources):
        raise SettingsError("give pictures, folders or videos to search, or --camera and its number")
    _check_output(output)
    detector = Detector(
        Cascade.load(model),
        scale_factor=scale_factor,
        min_neighbors=min_neighbors,
        min_size=min_size,
        max_size=max_size,
        n_threads=threads,
    )
    inputs = find_inputs(sources) if camera is None else [Input(None, camera)]
    drawings = plan_drawings(inputs, draw) if draw is not None else {}
    targets = [*drawings.values(), *([output] if output is not None else [])]
    refuse_overwriting(targets, [model, *(source.path for source in inputs if source.path is not None)])
    if draw is not None:
        make_output_folder(draw)
    with ExitStack() as stack:
        window = stack.enter_context(LiveWindow("vjcascade")) if show else None
        report = stack.enter_context(Report(format, output))
        return Search(detector, report, drawings, window).run(inputs, is_quiet=output is not None)


def _check_output(output: Path | None) -> None:
    """Refuse before the work what would fail after it, and what was meant for --draw."""
    from vjcascade.cli.outputs import check_output_file
    from vjcascade.imaging import IMAGE_SUFFIXES
    from vjcascade.video import is_video

    if output is None:
        return
    if output.suffix.lower() in IMAGE_SUFFIXES or is_video(output):
        raise SettingsError(
            f"{output}: --output is for the list of detections; for drawn pictures, give a folder to --draw"
        )
    check_output_file(output)
