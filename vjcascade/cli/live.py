"""``vjcascade live``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vjcascade.cli.label_server import PageOptions, run_page


def live(
    model: Path = Path("frontalface"),
    /,
    *,
    output: Annotated[Path, Parameter(alias="-o")] = Path("kept-frames"),
    page: PageOptions | None = None,
) -> None:
    """Try a model on the webcam or a video, on a page in the browser.

    Parameters
    ----------
    model : path
        Cascade file, folder of a training run, or name of a model on this machine.
    output : path
        Folder for the frames kept and the boxes drawn in them; open it with vjcascade label.
    page : PageOptions
        How the page is served.
    """
    from vjcascade.cli.models import named_model
    from vjcascade.cli.outputs import output_folder
    from vjcascade.labelling.labels_file import LABELS_NAME
    from vjcascade.labelling.photos import Photos
    from vjcascade.labelling.serving import Site, check_libraries
    from vjcascade.labelling.session import SessionOptions

    check_libraries()
    chosen = named_model(model)
    with output_folder(output, "--output"):
        output.mkdir(parents=True, exist_ok=True)
        options = SessionOptions(chosen, tab="live")
        run_page(Site(Photos.below(output), output / LABELS_NAME), options, page or PageOptions())
