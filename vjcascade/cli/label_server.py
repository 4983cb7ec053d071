"""What the commands with a page in the browser share: options, and what is printed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from vjcascade.cli.options import WHOLE, FlagOption

if TYPE_CHECKING:
    from vjcascade.labelling.serving import Site
    from vjcascade.labelling.session import Session, SessionOptions
    from vjcascade.labelling.store import Store


@Parameter(name="*")
@dataclass(frozen=True)
class PageOptions:
    """How the page is served: to this machine only.

    Attributes
    ----------
    port : int
        Port to listen on; if not given, one that stays the same for the folder.
    no_browser : bool
        Only print the address.
    """

    port: Annotated[int, WHOLE, Parameter(validator=Number(gte=1024, lte=65535))] | None = None
    no_browser: FlagOption = False


def run_page(
    site: Site,
    options: SessionOptions,
    page: PageOptions,
    prepare: Callable[[Store], list[str]] = lambda _: [],
) -> None:
    """Serve a page until Ctrl-C, the normal way to end it.

    Parameters
    ----------
    site : Site
        Photos, and the file of boxes.
    options : SessionOptions
        The model and other settings.
    page : PageOptions
        How it is served.
    prepare : callable, optional
        Called with the store before the page opens; returns lines to print.
    """
    from vjcascade.cli.console import PlainConsole
    from vjcascade.cli.process import Terminated, start_compiler
    from vjcascade.labelling.serving import open_browser, serve
    from vjcascade.messages import pluralize

    start_compiler()
    console = PlainConsole(sys.stdout)
    kept: list[Session] = []

    def show_lines(store: Store) -> None:
        for line in prepare(store):
            console.print(line)

    def ready(address: str, session: Session) -> None:
        kept.append(session)
        for note in session.photos.notes:
            console.print(f"note: {note}")
        counts = session.counts()
        console.print(
            f"{pluralize(counts['n_photos'], 'photo')}, {counts['n_done']} of them done; boxes are in {site.labels}"
        )
        console.print(f"page: {address}")
        console.print(
            "Ctrl-C stops the server; anyone on this machine who knows the address can see and change the boxes"
        )
        if not page.no_browser:
            open_browser(address)

    try:
        serve(site, options, port=page.port, prepare=show_lines, ready=ready)
    except Terminated:
        raise
    except KeyboardInterrupt:
        pass
    if kept:
        counts = kept[0].counts()
        n_boxes = "1 box" if counts["n_boxes"] == 1 else f"{counts['n_boxes']:,} boxes"
        console.print(
            f"stopped; {n_boxes} in {site.labels}, {counts['n_done']} of {pluralize(counts['n_photos'], 'photo')} done"
        )
