"""``vjcascade samples``: what `opencv_createsamples` made for its trainer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vjcascade.cli.options import CountOption, FlagOption, SizeOption
from vjcascade.errors import SettingsError, SourceError
from vjcascade.messages import pluralize

if TYPE_CHECKING:
    from vjcascade.types import Size

_SUFFIX = ".vec"


def samples(  # noqa: PLR0913  each is a user's choice
    positives: Path,
    output: Path,
    /,
    *,
    window: SizeOption | None = None,
    label: str | None = None,
    min_side: CountOption | None = None,
    limit: CountOption | None = None,
    strict: FlagOption = False,
    threads: CountOption | None = None,
) -> None:
    """Write samples.

    Parameters
    ----------
    positives : path
        Annotated pictures (info.dat, COCO, YOLO, Pascal VOC, CSV, ...), or a folder of crops, as for vjcascade train.
    output : path
        File to write; its name ends in .vec.
    window : Size
        Width and height of the samples in pixels, for example 24x24; proposed from the crops if not given.
    label : str
        The kind of object, where annotations have several.
    min_side : int
        Leave out crops whose shorter side has fewer pixels.
    limit : int
        Write at most so many samples, the first ones; all if not given.
    strict : bool
        Write nothing if any file or box cannot be used.
    threads : int
        Processors to use; all if not given. The file does not depend on it.
    """
    from vjcascade.cli.console import PlainConsole, ProgressLine
    from vjcascade.cli.outputs import check_output_file, refuse_overwriting
    from vjcascade.formats.annotations.vec_files import write_vec
    from vjcascade.training.data.positives import load_positives
    from vjcascade.training.events import Progress

    if output.suffix.lower() != _SUFFIX:
        raise SettingsError(
            f"{output}: samples are written as {_SUFFIX} files; give a name that ends in {_SUFFIX}"
        )
    check_output_file(output)
    refuse_overwriting([output], kept=[positives])
    console = PlainConsole(sys.stdout)
    with ProgressLine(console) as progress:
        crops = load_positives(
            positives,
            window,
            min_side=min_side,
            n_threads=threads,
            strict=strict,
            progress=lambda done, total: progress.update(Progress("reading positives", done, total)),
            label=label,
            at_least=1,
        )
    for line in crops.report.lines():
        console.print(line)
    windows = crops.windows[:limit]
    write_vec(output, windows)
    console.print(f"written: {output} ({pluralize(len(windows), 'sample')} of {crops.window} pixels)")
    if not _tells_size(output, crops.window):
        console.print(
            f"  note: a {_SUFFIX} does not say width and height, and these samples look like others: give --window "
            f"{crops.window} with them"
        )


def _tells_size(file: Path, size: Size) -> bool:
    """Tell whether samples look like those of their size, which is how it is told."""
    from vjcascade.formats.annotations.vec_files import read_vec

    try:
        return read_vec(file).size == size
    except SourceError:
        return False
