"""Findings that need no comparison of pictures: what is not used, sizes, shapes, EXIF, how many there are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vjcascade.checking.findings import Finding, Item, Level, Topic
from vjcascade.checking.pictures import Pictures
from vjcascade.training.data.positives import FEW_POSITIVES, Positives
from vjcascade.training.data.sources import Cause, SourceReport

FEW_PHOTOS = 50
"""Fewer photos are named as few."""

HARMLESS = 0.05
"""Share of photos that may be copies of others, or too small, without harm."""

SHAPE = 1.35
"""Ratios of width to height that differ by this factor are another shape, unless many differ so."""

SPREADS = 4.5
"""In spreads of all ratios: farther out is another shape."""

ENLARGED = 1.5
"""Crops that were enlarged by more to fill the window are named."""

_CAUSES = {
    Topic.UNREADABLE: {Cause.UNREADABLE, Cause.OTHER},
    Topic.COPIES: {Cause.COPY},
    Topic.IN_BOTH: {Cause.IN_BOTH},
    Topic.SMALL: {Cause.SMALL},
    Topic.SHAPE: {Cause.SHAPE},
    Topic.FLAT: {Cause.FLAT},
    Topic.FAINT: {Cause.FAINT},
    Topic.BOX: {Cause.BOX},
}


def level_of(kind: str, n: int, n_all: int) -> Level:
    """Return how bad it is that some pictures teach nothing new.

    Parameters
    ----------
    kind : {"positives", "negatives"}
        Which pictures.
    n : int
        So many are concerned.
    n_all : int
        Of so many.

    Returns
    -------
    Level
        Some photos do not matter.

    Examples
    --------
    >>> str(level_of("negatives", 3, 100)), str(level_of("positives", 3, 100))
    ('note', 'warning')
    """
    return Level.NOTE if kind == "negatives" and n <= HARMLESS * n_all else Level.WARNING


def unused(report: SourceReport) -> Iterator[Finding]:
    """Yield a finding for each kind of reason why pictures are not used.

    Parameters
    ----------
    report : SourceReport
        Of a source.

    Yields
    ------
    Finding
        May be empty.
    """
    for topic, causes in _CAUSES.items():
        items = tuple(Item(one.name, one.reason) for one in report.skipped if one.cause in causes)
        level = Level.WARNING
        if topic in {Topic.COPIES, Topic.SMALL}:
            level = level_of(report.kind, len(items), report.n_found)
        yield Finding(topic, report.kind, items, report.n_found, level)


def odd_sizes(positives: Positives) -> Iterator[Finding]:
    """Yield crops of another ratio of width to height than the others, and those that had to be enlarged much.

    Parameters
    ----------
    positives : Positives
        With sizes.

    Yields
    ------
    Finding
        May be empty.
    """
    pictures = Pictures.crops(positives)
    sizes = np.array(positives.sizes, np.float64)
    ratios = np.log(sizes[:, 0] / sizes[:, 1])
    away = np.abs(ratios - np.median(ratios))
    enlarged = (np.array(positives.window) / sizes).min(axis=1)
    least_away = max(np.log(SHAPE), SPREADS * 1.4826 * float(np.median(away)))
    for topic, amounts, least in (
        (Topic.SHAPE, away, least_away),
        (Topic.SMALL, enlarged, ENLARGED),
    ):
        chosen = np.flatnonzero(amounts > least)
        worst_first = chosen[np.argsort(-amounts[chosen], kind="stable")].tolist()
        items = tuple(pictures.item(i, str(positives.sizes[i])) for i in worst_first)
        yield Finding(topic, "positives", items, len(pictures))


def turned(pictures: Pictures) -> Finding:
    """Return the pictures that EXIF turned upright, a note."""
    items = tuple(pictures.item(i) for i in sorted(pictures.turned))
    return Finding(Topic.EXIF, pictures.kind, items, len(pictures), Level.NOTE)


def few(pictures: Pictures) -> Iterator[Finding]:
    """Yield a finding if there are too few pictures to learn much from."""
    if len(pictures) < (FEW_POSITIVES if pictures.kind == "positives" else FEW_PHOTOS):
        yield Finding(Topic.FEW, pictures.kind, (), len(pictures))
