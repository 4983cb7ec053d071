"""What a model rejects in the pictures of a user: all of them, or some drawn at random where there are many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade
from vjcascade.errors import ImageError
from vjcascade.evaluation.scan_costs import ScanCosts, scan_costs, share_of_rows
from vjcascade.imaging import image_size, read_gray
from vjcascade.messages import pluralize
from vjcascade.storage import File
from vjcascade.training.events import Listener, ProgressReporter, null_listener

MAX_PICTURES = 200
"""Of more, so many are drawn."""


@dataclass(frozen=True, eq=False)
class PictureScan:
    """What was measured on pictures, and on how many.

    Attributes
    ----------
    costs : ScanCosts
        What windows meet.
    n_found : int
        Pictures given; `ScanCosts.n_pictures` were scanned.
    share : float
        Share of the rows of windows that were looked at.
    seed : int
        What pictures and rows were drawn with.
    """

    costs: ScanCosts
    n_found: int
    share: float
    seed: int

    def __str__(self) -> str:
        n, found = self.costs.n_pictures, pluralize(self.n_found, "picture")
        pictures = found if n == self.n_found else f"{n:,} of {found}, drawn at random"
        rows = "" if self.share == 1 else f", in {100 * self.share:.2g}% of their rows, drawn at random"
        return f"{pluralize(self.costs.n_windows, 'window')} of {pictures}{rows}"


def scan_pictures(
    cascade: Cascade,
    paths: Sequence[File],
    *,
    seed: int = 0,
    n_threads: int | None = None,
    listener: Listener = null_listener,
) -> PictureScan:
    """Measure what stages reject in pictures, and the features that a window takes.

    Parameters
    ----------
    cascade : Cascade
        The model.
    paths : sequence of Path or StoredFile
        Picture files.
    seed : int
        Decides which are drawn of more than `MAX_PICTURES`, and which rows of windows where there are very many.
    n_threads : int, optional
        All processors if not given. The result does not depend on it.
    listener : Listener
        Is told how far it is.

    Returns
    -------
    PictureScan
        Of the pictures together.

    Raises
    ------
    ImageError
        If a picture cannot be read, or all are smaller than the window.

    Examples
    --------
    >>> scan_pictures(Cascade.load("model/cascade.xml"), [Path("photo.png")]).n_found  # doctest: +SKIP
    """
    drawn = list(paths)
    if len(drawn) > MAX_PICTURES:
        rng = np.random.default_rng(seed)
        drawn = [drawn[i] for i in np.sort(rng.choice(len(drawn), MAX_PICTURES, replace=False))]
    share = share_of_rows(map(image_size, drawn), cascade.window)
    progress = ProgressReporter("scanning pictures", listener)

    def pictures() -> Iterator[NDArray[np.uint8]]:
        for number, path in enumerate(drawn):
            progress.report(number, len(drawn))
            yield read_gray(path)

    costs = scan_costs(cascade, pictures(), share=share, seed=seed, n_threads=n_threads)
    if not costs.n_windows:
        names = (
            f"{paths[0]} and {pluralize(len(paths) - 1, 'more picture')}" if len(paths) > 1 else f"{paths[0]}"
        )
        raise ImageError(
            f"{names}: smaller than the window of the model, {cascade.window}; give larger pictures"
        )
    return PictureScan(costs, len(paths), share, seed)
