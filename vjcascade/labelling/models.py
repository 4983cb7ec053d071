"""Models for proposals, review and comparison, with the settings that `vjcascade tune` has stored in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vjcascade.cascade import Cascade
from vjcascade.detection import Detector
from vjcascade.errors import ModelError
from vjcascade.evaluation import Candidate, OperatingPoint


def load_candidate(path: Path, name: str, n_threads: int | None = None) -> Candidate:
    """Return a model from a file, ready to detect.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        Its name in messages and charts.
    n_threads : int, optional
        Threads of the detector; if not given, one for each processor.

    Returns
    -------
    Candidate
        At its operating point, if it has one.

    Raises
    ------
    ModelError or ModelNotFoundError
        If it cannot be used.

    Examples
    --------
    >>> import vjcascade
    >>> load_candidate(vjcascade.compat.data.find("frontalface"), "faces").cascade.window
    Size(width=20, height=20)
    """
    cascade = Cascade.load(path)
    if cascade.n_stages == 0:
        raise ModelError(f"{path}: a cascade without stages accepts every window; train it first")
    point = OperatingPoint.of(cascade)
    settings: dict[str, Any] = point.settings if point else {}
    used = point.used_part(cascade) if point else cascade
    return Candidate(name, Detector(used, n_threads=n_threads, **settings), is_tuned=point is not None)
