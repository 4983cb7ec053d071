"""``vjcascade check``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vjcascade.cli.options import CountOption, FlagOption, MemoryOption, SizeOption
from vjcascade.training import Preset


def check(  # noqa: PLR0913  each is a user's choice
    positives: Path,
    negatives: Path,
    /,
    *,
    html: Path | None = None,
    json: FlagOption = False,
    all: FlagOption = False,  # noqa: A002  the option
    preset: Annotated[Preset, Parameter(show_default=str(Preset.NORMAL))] = Preset.NORMAL,
    settings: Path | None = None,
    window: SizeOption | None = None,
    min_side: CountOption | None = None,
    label: str | None = None,
    memory: MemoryOption | None = None,
    threads: CountOption | None = None,
) -> None:
    """Look at crops and photos before training.

    Parameters
    ----------
    positives : path
        Crops of the object, in any form that vjcascade train takes.
    negatives : path
        Photos without it, in any form that vjcascade train takes.
    html : path
        HTML page to write, with the pictures of each finding.
    json : bool
        Print JSON; all pictures are named in it.
    all : bool
        Name all pictures, not only the first of each finding.
    preset : Preset
        Preset of the planned training, which decides what is held out and how many negatives are needed.
    settings : path
        Settings file of the planned training.
    window : Size
        Training window in pixels, for example 24x24; chosen from the crops if not given.
    min_side : int
        Leave out crops whose shorter side has fewer pixels.
    label : str
        The kind of object, where annotations have several.
    memory : size
        Memory to use, for example 1GiB; most of the machine's if not given.
    threads : int
        Processors to use; all if not given. The findings do not depend on it.
    """
    from vjcascade.checking import check
    from vjcascade.checking.results import as_json, text_lines
    from vjcascade.cli.compiling import SECONDS_FOR_TRAINING, compile_notice
    from vjcascade.cli.console import PlainConsole, ProgressLine
    from vjcascade.cli.outputs import check_page, refuse_overwriting
    from vjcascade.files import write_atomic
    from vjcascade.training import preset_settings, read_settings
    from vjcascade.training.events import Event, Progress

    if html is not None:
        from vjcascade.report.check import build_check_report

        refuse_overwriting([html], [positives, negatives])
        check_page(html)
    planned = preset_settings(preset) if settings is None else read_settings(settings, preset=preset)
    with compile_notice(SECONDS_FOR_TRAINING), ProgressLine(PlainConsole(sys.stderr)) as line:

        def show(event: Event) -> None:
            if isinstance(event, Progress):
                line.update(event)

        result = check(
            positives,
            negatives,
            planned,
            window=window,
            min_side=min_side,
            label=label,
            memory=memory,
            n_threads=threads,
            listener=show,
        )
    console = PlainConsole(sys.stdout)
    if html is not None:
        write_atomic(html, build_check_report(result).encode("utf-8", "backslashreplace"))
    if json:
        console.print(as_json(result).rstrip("\n"))
        return
    for text in text_lines(result, names_all=all):
        console.print(text)
    if html is not None:
        console.print(f"page: {html}; open it in a browser")
