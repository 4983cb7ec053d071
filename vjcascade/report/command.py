"""The command line that repeats a run."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterator
from typing import Any

from vjcascade.report.training_run import Run
from vjcascade.training.settings import TrainingSettings

_OPTIONS = {"max_stages": "stages", "n_negatives": "negatives"}
"""Names that differ from those of the settings."""


def command_of(run: Run) -> str:
    """Return the command line that trains with the same settings, or nothing if they are not known.

    Parameters
    ----------
    run : Run
        Settings that are not the usual ones are named. Placeholders stand for paths that are not known.

    Returns
    -------
    str
        For a shell.
    """
    if run.settings is None:
        return ""
    sources = run.history.sources
    words = [
        "vjcascade",
        "train",
        *sources.get("positives", ["CROPS"]),
        *sources.get("negatives", ["PHOTOS"]),
    ]
    if "continued" in run.metadata:
        model = run.metadata["continued"].get("model", "MODEL")
        words += ["--continue", *sources.get("continue_from", [model])]
    if "more_photos" in run.metadata.get("data", {}):
        words += ["--more-negatives", *sources.get("more_negatives", ["MORE"])]
    if "scenes" in run.metadata.get("data", {}):
        words += ["--validate", *sources.get("validate", ["SCENES"])]
    return shlex.join(
        [*words, "--output", "NEW", "--window", str(run.cascade.window), *_options(run.settings)]
    )


def _options(settings: TrainingSettings) -> Iterator[str]:
    usual: dict[str, Any] = TrainingSettings().as_dict()
    for field in dataclasses.fields(settings):
        value = settings.as_dict()[field.name]
        name = _OPTIONS.get(field.name, field.name.replace("_", "-"))
        if value == usual[field.name]:
            continue
        if isinstance(value, bool):
            yield f"--{name}" if value else f"--no-{name}"
        else:
            yield f"--{name}"
            yield ":".join(map(str, value)) if isinstance(value, list) else str(value)
