"""The server: local only, one per folder, and after a crash at the same address again."""

from __future__ import annotations

import hashlib
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from vjcascade.errors import DeviceError, MissingLibraryError
from vjcascade.files import read_at_most, remove_leftovers, write_atomic
from vjcascade.labelling.app import MISSING, make_app
from vjcascade.labelling.guard import App, Guard
from vjcascade.labelling.hub import Hub
from vjcascade.labelling.photos import Photos
from vjcascade.labelling.session import Session, SessionOptions
from vjcascade.labelling.store import Store
from vjcascade.training.run_lock import only_run_in

if TYPE_CHECKING:
    import uvicorn

HOST = "127.0.0.1"

ADDRESS_NAME = ".vjcascade-label-address"
"""The file with the port and the token of a folder's server. A server that is killed leaves it behind, and the next
one uses the same, so pages that are still open reconnect and send their unsaved changes."""

TAKEN = (
    "another vjcascade label, review or live works in this folder; use its page in the browser, or stop it "
    "first (Ctrl-C)"
)

PORTS = range(20_000, 32_000)
"""Below the ephemeral ports of operating systems."""

TOKEN_BYTES = 24

SECONDS_TO_END = 2
"""Time for open requests when the server ends."""


class _Address(msgspec.Struct, frozen=True):
    port: Annotated[int, Meta(ge=1024, le=65535)]
    token: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{32}$")]


@dataclass(frozen=True)
class Site:
    """The photos and the file of their boxes.

    Attributes
    ----------
    photos : Photos
        The photos.
    labels : Path
        The file of boxes; no other server may use its folder.
    """

    photos: Photos
    labels: Path


def check_libraries() -> None:
    """Check that the server's libraries are installed.

    Raises
    ------
    MissingLibraryError
        If starlette or uvicorn is missing.
    """
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingLibraryError(MISSING) from None


def serve(
    site: Site,
    options: SessionOptions,
    *,
    port: int | None = None,
    prepare: Callable[[Store], None] = lambda _: None,
    ready: Callable[[str, Session], None] = lambda *_: None,
) -> None:
    """Serve the page until the process is interrupted or terminated.

    Parameters
    ----------
    site : Site
        The photos and the file of their boxes.
    options : SessionOptions
        The model and other settings.
    port : int, optional
        Port to listen on; if not given, one derived from the folder, or any free one if that is taken.
    prepare : callable, optional
        Called with the store before the session starts.
    ready : callable, optional
        Called as `ready(address, session)` once the page can be opened.

    Raises
    ------
    MissingLibraryError
        If starlette or uvicorn is missing.
    SettingsError
        If another server works in the folder, or the file of boxes was not written by `vjcascade label`.
    DeviceError
        If the given port cannot be used.
    """
    check_libraries()
    folder = site.labels.absolute().parent
    with ExitStack() as stack:
        stack.enter_context(only_run_in(folder, taken=TAKEN))
        remove_leftovers(folder)
        store = Store(site.photos, site.labels)
        prepare(store)
        listening, token = stack.enter_context(_address(folder, port))
        session = stack.enter_context(closing(Session(site.photos, store, options)))
        number = listening.getsockname()[1]
        address = f"http://{HOST}:{number}/{token}/"
        guarded = Guard(make_app(session), token, number)
        server = _server(guarded, session.hub, started=lambda: ready(address, session))
        server.run(sockets=[listening])


def open_browser(address: str) -> None:
    """Open a page in the browser, if there is one, without waiting for it."""

    def call() -> None:
        with suppress(webbrowser.Error):
            webbrowser.open(address)

    threading.Thread(target=call, name="browser", daemon=True).start()


@contextmanager
def _address(folder: Path, port: int | None) -> Iterator[tuple[socket.socket, str]]:
    """Yield a listening socket and the token; a file keeps both for the next server if this one is killed."""
    path = folder / ADDRESS_NAME
    before = _address_before(path)
    token = before.token if before else secrets.token_urlsafe(TOKEN_BYTES)
    if port is not None:
        listening = _listening(port)
    else:
        usual = before.port if before else _port_of(folder)
        try:
            listening = _listening(usual)
        except DeviceError:
            listening = _listening(0)
    with listening:
        if not path.exists():
            path.touch(mode=0o600)  # others on this machine may not read the token
        write_atomic(path, msgspec.json.encode(_Address(listening.getsockname()[1], token)))
        try:
            yield listening, token
        finally:
            path.unlink(missing_ok=True)


def _address_before(path: Path) -> _Address | None:
    """Return the address of a server that was killed in this folder."""
    try:
        return msgspec.json.decode(read_at_most(path, 1000), type=_Address)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _port_of(folder: Path) -> int:
    digest = hashlib.sha256(str(folder).encode("utf-8", "surrogateescape")).digest()
    return PORTS[int.from_bytes(digest[:4]) % len(PORTS)]


def _listening(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise DeviceError(
            f"port {port} cannot be used ({error.strerror}): give another one with --port"
        ) from None
    return listening


def _server(app: App, hub: Hub, started: Callable[[], None]) -> uvicorn.Server:
    import uvicorn

    class Server(uvicorn.Server):
        """Calls `started` once it listens, and closes the event streams on a signal."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started()

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            hub.close()
            super().handle_exit(sig, frame)

    settings: dict[str, Any] = {
        "http": "h11",
        "ws": "none",
        "lifespan": "off",
        "log_level": "warning",
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "h11_max_incomplete_event_size": 2**16,
        "timeout_graceful_shutdown": SECONDS_TO_END,
    }
    return Server(uvicorn.Config(app, **settings))
