"""``vjcascade label``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from vjcascade.cli.label_server import PageOptions, run_page
from vjcascade.errors import SettingsError

if TYPE_CHECKING:
    from vjcascade.labelling.store import Store


def label(
    photos: Path,
    /,
    *,
    model: Path | None = None,
    labels: Annotated[list[str] | None, Parameter(negative="", consume_multiple=True)] = None,
    boxes: Path | None = None,
    output: Annotated[Path | None, Parameter(alias="-o", show_default="PHOTOS/labels.json")] = None,
    negatives: Annotated[list[Path] | None, Parameter(negative="", consume_multiple=True)] = None,
    page: PageOptions | None = None,
) -> None:
    """Draw boxes in photos on a page in the browser.

    Parameters
    ----------
    photos : path
        Folder of photos.
    model : path
        Model that proposes boxes: cascade file, folder of a training run, or name of a model on this machine, such as
        frontalface. If not given, the best one trained on this page so far, if any.
    labels : str
        Kinds of objects to draw; object if not given. More can be added on the page.
    boxes : path
        Boxes to start from, in any format that vjcascade train takes; only for photos that have none yet.
    output : path
        File for the boxes, as COCO JSON; every change is saved at once.
    negatives : path
        More folders or lists of photos without the object, for training on the page.
    page : PageOptions
        How the page is served.
    """
    from vjcascade.cli.models import named_model
    from vjcascade.labelling.labels_file import LABELS_NAME
    from vjcascade.labelling.photos import Photos
    from vjcascade.labelling.retraining import BEST_NAME
    from vjcascade.labelling.serving import Site, check_libraries
    from vjcascade.labelling.session import SessionOptions
    from vjcascade.messages import pluralize

    check_libraries()
    if not photos.is_dir():
        raise SettingsError(f"{photos} is not a folder; give a folder of photos")
    file = photos / LABELS_NAME if output is None else output
    found = Photos.below(photos).seen_from(file.parent)
    if not len(found):
        raise SettingsError(f"{photos}: there are no pictures in this folder; give a folder of photos")
    best = file.parent / BEST_NAME
    chosen = named_model(model) if model is not None else best if best.is_file() else None

    def import_boxes(store: Store) -> list[str]:
        if boxes is None:
            return []
        from vjcascade.formats.annotations.reading import read_annotations

        read = read_annotations(boxes, pictures=[photos])
        first = labels[0] if labels else "object"
        lines = [f"{boxes}: {fault.reason}" for fault in read.faults]
        return [
            *lines,
            f"{boxes}: imported the boxes of {pluralize(store.import_boxes(read, first), 'photo')} ({read.format})",
        ]

    options = SessionOptions(chosen, tuple(labels or ()), tuple(negatives or ()))
    run_page(Site(found, file), options, page or PageOptions(), import_boxes)
