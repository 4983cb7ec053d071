"""``vjcascade review``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from vjcascade.cli.label_server import PageOptions, run_page
from vjcascade.errors import SettingsError

if TYPE_CHECKING:
    from vjcascade.labelling.store import Store


def review(
    model: Path,
    scenes: Path,
    /,
    *,
    label: str | None = None,
    pictures: Path | None = None,
    output: Annotated[Path | None, Parameter(alias="-o", show_default="SCENES.reviewed.json")] = None,
    page: PageOptions | None = None,
) -> None:
    """Review a model's errors on a page in the browser.

    Parameters
    ----------
    model : path
        Cascade file, folder of a training run, or name of a model on this machine, such as frontalface.
    scenes : path
        Labelled photos, in any format that vjcascade train takes; files of vjcascade label are corrected
        in place.
    label : str
        The kind of object, if the boxes have several.
    pictures : path
        Folder to look for the pictures in first; otherwise beside the boxes.
    output : path
        File for the corrected boxes, as COCO JSON; the scenes are not changed.
    page : PageOptions
        How the page is served.
    """
    from vjcascade.cli.models import named_model
    from vjcascade.formats.annotations.reading import read_annotations
    from vjcascade.formats.annotations.writing import relative_name
    from vjcascade.labelling.labels_file import is_ours
    from vjcascade.labelling.photos import Photos
    from vjcascade.labelling.serving import Site, check_libraries
    from vjcascade.labelling.session import SessionOptions

    check_libraries()
    if not scenes.exists():
        raise SettingsError(f"{scenes} does not exist; give a file or folder of annotations")
    read = read_annotations(scenes, pictures=[] if pictures is None else [pictures]).of_label(label)
    if output is not None:
        file = output
    else:
        file = scenes if is_ours(scenes) else scenes.with_name(f"{scenes.stem}.reviewed.json")
    paths = {relative_name(picture.path, file.parent): picture.path for picture in read.pictures}

    def import_boxes(store: Store) -> list[str]:
        store.import_boxes(read)
        return [f"{scenes}: {fault.reason}" for fault in read.faults]

    options = SessionOptions(named_model(model), () if label is None else (label,), tab="review")
    run_page(Site(Photos(paths, file.parent), file), options, page or PageOptions(), import_boxes)
