"""``vjcascade samples``: `.vec` files as of `opencv_createsamples`, altered samples and scenes."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from vjcascade.cli.options import CountOption, FlagOption, SizeOption
from vjcascade.cli.synthesis import (
    Reading,
    SynthesisOptions,
    check_outputs,
    is_vec_name,
    refuse_for_one_picture,
    synthesize,
    write_windows,
)
from vjcascade.errors import SettingsError
from vjcascade.synthesis.alterations import Alterations

if TYPE_CHECKING:
    from vjcascade.training.data.positives import Positives


def samples(  # noqa: PLR0913  each is a user's choice
    positives: Path,
    output: Path | None = None,
    /,
    *,
    window: SizeOption | None = None,
    label: str | None = None,
    min_side: CountOption | None = None,
    limit: CountOption | None = None,
    strict: FlagOption = False,
    threads: CountOption | None = None,
    synthesis: SynthesisOptions | None = None,
    alterations: Annotated[Alterations | None, Parameter(name="*")] = None,
) -> None:
    """Write samples.

    Parameters
    ----------
    positives : path
        Annotated pictures (info.dat, COCO, YOLO, Pascal VOC, CSV, ...), or a folder of crops, as for vjcascade train;
        or one picture, which may be partly transparent.
    output : path
        File to write, if its name ends in .vec; otherwise a new folder, for a sheet of each picture's samples and a
        list of their boxes, or for scenes and a list. Not needed with --sheet.
    window : Size
        Width and height of the samples in pixels, for example 24x24; chosen from the crops if not given.
    label : str
        The kind of object, if the annotations have several.
    min_side : int
        Leave out crops whose shorter side has fewer pixels.
    limit : int
        Use only the first N crops; all if not given.
    strict : bool
        Write nothing if any file or box cannot be used.
    threads : int
        Processors to use; all if not given. The output does not depend on it.
    synthesis : SynthesisOptions
        What to make from the crops, instead of writing them unaltered.
    alterations : Alterations
        Ranges of the alterations.
    """
    from vjcascade.cli.console import PlainConsole, ProgressLine
    from vjcascade.training.events import Progress

    options = synthesis or SynthesisOptions()
    refuse_for_one_picture(positives, {"--label": label, "--min-side": min_side, "--limit": limit})
    check_outputs(positives, output, options)
    is_plain = output is not None and is_vec_name(output) and not options.is_asked(positives)
    if is_plain and (options, alterations) != (SynthesisOptions(), None):
        raise SettingsError(
            f"{output} gets the unaltered crops; for altered samples, give their number, such as --make 2000"
        )
    console = PlainConsole(sys.stdout)
    with ProgressLine(console) as progress:

        def show(what: str, done: int, total: int) -> None:
            progress.update(Progress(what, done, total))

        def load(source: Any, size: Any, **how: Any) -> Positives:
            from vjcascade.training.data.positives import load_positives

            read = load_positives(
                source,
                size,
                min_side=min_side,
                n_threads=threads,
                strict=strict,
                progress=partial(show, "reading positives"),
                label=label,
                **how,
            )
            progress.clear()
            for line in read.report.lines():
                console.print(line)
            return read

        if is_plain and output is not None:
            crops = load(positives, window, at_least=1)
            lines = write_windows(output, crops.windows[:limit], crops.window)
        else:
            lines = synthesize(
                positives,
                output,
                window,
                options,
                alterations or Alterations(),
                Reading(load, limit, show, threads, strict, label),
            )
        for line in lines:
            progress.clear()
            console.print(line)
