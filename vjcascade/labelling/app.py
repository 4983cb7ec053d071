"""The page's files and API as a Starlette application: each route decodes, calls the session, encodes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from vjcascade.errors import CascadeError, MissingLibraryError, SettingsError
from vjcascade.labelling.live import LiveSettings
from vjcascade.labelling.ordering import Order
from vjcascade.labelling.session import AheadRequest, ExportRequest, Session, TrainRequest

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

Asked = TypeVar("Asked")

PAGE = {
    "": ("index.html", "text/html"),
    "style.css": ("style.css", "text/css"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
    **{
        f"{name}.js": (f"{name}.js", "text/javascript")
        for name in ("app", "api", "boxes", "dom", "label", "live", "photo_view", "review", "train")
    },
}
"""Files of the page by their URL paths: no other file is served."""

MAX_SIDE = 10_000
MISSING = "the page needs starlette and uvicorn, which are not both installed: pip install starlette uvicorn"
PHOTO_KEPT = {"cache-control": "private, max-age=3600"}
"""Browsers may cache copies of photos: their URLs contain the token, and a new server has a new one."""


class _Sized(msgspec.Struct, frozen=True):
    """A photo and the side of its copy."""

    name: str
    side: int = 1024


_Numbers: TypeAlias = Annotated[list[int], Meta(max_length=200)]


class _Names(msgspec.Struct, frozen=True):
    """Some photos."""

    name: Annotated[list[str], Meta(max_length=100)]


class _Kept(msgspec.Struct, frozen=True):
    """What was wrong in a frame, and its detections."""

    kind: str
    boxes: str = "[]"


def make_app(session: Session) -> Starlette:
    """Return the application.

    Parameters
    ----------
    session : Session
        The state of the page.

    Returns
    -------
    Starlette
        Must be wrapped in a `Guard`.

    Raises
    ------
    MissingLibraryError
        If starlette is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.responses import Response, StreamingResponse
        from starlette.routing import Route
    except ImportError:
        raise MissingLibraryError(MISSING) from None
    from starlette.concurrency import run_in_threadpool

    page = files("vjcascade.labelling") / "page"

    async def file(request: Request) -> Response:
        name, kind = PAGE.get(request.path_params.get("name", ""), ("", ""))
        if not name:
            return Response("no such file\n", 404, media_type="text/plain")
        return Response(page.joinpath(name).read_bytes(), media_type=kind)

    async def events(request: Request) -> Response:
        del request
        return StreamingResponse(session.hub.stream(), media_type="text/event-stream")

    def answer(function: Callable[[Request, bytes], Any]) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler that answers with JSON or a JPEG, or with a problem in a sentence."""

        async def respond(request: Request) -> Response:
            body = await request.body()
            try:
                value = await run_in_threadpool(function, request, body)
            except (CascadeError, msgspec.ValidationError) as error:
                return Response(_problem(str(error)), 400, media_type="application/json")
            except OSError as error:
                text = f"{error.filename}: {error.strerror}" if error.filename else str(error)
                return Response(_problem(text), 507, media_type="application/json")
            if isinstance(value, bytes):
                return Response(value, media_type="image/jpeg", headers=PHOTO_KEPT)
            return Response(msgspec.json.encode(value), media_type="application/json")

        return respond

    def get(path: str, function: Callable[[Request], Any]) -> Route:
        return Route(path, answer(lambda request, _: function(request)), methods=["GET"])

    def post(path: str, function: Callable[[Request, bytes], Any]) -> Route:
        return Route(path, answer(function), methods=["POST"])

    def named(request: Request) -> list[dict[str, Any]]:
        asked = _converted({"name": request.query_params.getlist("name")}, _Names)
        return session.photos_named(asked.name)

    def sized(request: Request) -> bytes:
        asked = _converted(request.query_params, _Sized)
        return session.picture(asked.name, min(max(asked.side, 1), MAX_SIDE))

    def cuts(request: Request) -> list[bytes]:
        numbers = request.query_params.get("numbers", "").split(",")
        return session.mistake_pictures(msgspec.convert(numbers, _Numbers, strict=False))

    def keep(request: Request, body: bytes) -> Any:
        asked = _converted(request.query_params, _Kept)
        if asked.kind not in {"miss", "false-alarm"}:
            raise SettingsError(f"{asked.kind!r:.50} is neither miss nor false-alarm")
        boxes = _decoded(asked.boxes.encode(), list[tuple[float, float, float, float]])
        return session.keep_live(body, asked.kind, boxes)  # type: ignore[arg-type]

    return Starlette(
        routes=[
            get("/state", lambda _: session.state()),
            get("/queue", lambda request: session.queue(_order(request))),
            get("/photos", named),
            get("/picture", sized),
            get("/review", lambda _: {**session.reviewing(), "mistakes": session.mistakes()}),
            get("/review/pictures", cuts),
            get("/train", lambda _: session.training()),
            Route("/events", events, methods=["GET"]),
            post("/ahead", lambda _, body: session.expect(_decoded(body, AheadRequest))),
            post("/changes", lambda _, body: session.apply(body)),
            post("/export", lambda _, body: session.export(_decoded(body, ExportRequest).kind)),
            post("/review/start", lambda *_: session.start_review()),
            post("/train/start", lambda _, body: session.start_training(_decoded(body, TrainRequest))),
            post("/train/stop", lambda *_: session.stop_training()),
            post(
                "/live/detect",
                lambda request, body: session.detect_live(
                    body, _converted(request.query_params, LiveSettings)
                ),
            ),
            post("/live/keep", keep),
            Route("/", file, methods=["GET"]),
            Route("/{name}", file, methods=["GET"]),
        ]
    )


def _order(request: Request) -> Order:
    asked = request.query_params.get("order", "")
    return Order(asked) if asked in set(Order) else Order.UNCERTAIN


def _problem(text: str) -> bytes:
    return msgspec.json.encode({"problem": text})


def _converted(query: Mapping[str, Any], kind: type[Asked]) -> Asked:
    """Return checked query parameters."""
    return msgspec.convert(dict(query), kind, strict=False)


def _decoded(data: bytes, kind: type[Asked]) -> Asked:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"the request cannot be read: {error}") from None
