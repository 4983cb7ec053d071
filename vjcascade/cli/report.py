"""``vjcascade report``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vjcascade.cli.outputs import check_output_file, refuse_overwriting
from vjcascade.files import write_atomic

REPORT_NAME = "report.html"


def report(run: Path, /, *, output: Annotated[Path | None, Parameter(alias="-o")] = None) -> None:
    """Write a report on a training run.

    Parameters
    ----------
    run : path
        Output folder of a training, or a model file.
    output : path
        The page; if not given, report.html in the folder, or beside the model under the model's name.
    """
    from vjcascade.cli.console import PlainConsole
    from vjcascade.report.page import build_report

    target = output or (run / REPORT_NAME if run.is_dir() else run.with_name(f"{run.name}.{REPORT_NAME}"))
    check_output_file(target)
    refuse_overwriting([target], [run])
    page = build_report(run).encode("utf-8", "backslashreplace")
    write_atomic(target, page)
    PlainConsole(sys.stdout).print(f"report: {target}, {len(page) / 1000:,.0f} kB; open it in a browser")
