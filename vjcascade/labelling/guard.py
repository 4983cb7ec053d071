"""Access control: refuse all requests but those of our own page, on this machine and with the token.

A page of another origin can send requests to loopback addresses, and a foreign host name can be made to resolve to one
(DNS rebinding). So the token is a part of every URL, `Host` must be a loopback name with our port, and `Origin` and
`Sec-Fetch-Site`, where present, must be those of our page. Requests that change anything must have an `Origin`.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

MAX_BODY = 2**20
"""Largest body of a request in bytes; for video frames it is `MAX_FRAME`."""

MAX_FRAME = 2**24

READING = frozenset({"GET", "HEAD"})

HEADERS = [
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        (
            b"default-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
            b"object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
    ),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
]
"""Headers of every response: the page loads nothing from elsewhere, and other pages can neither embed nor read it."""


class Guard:
    """An ASGI middleware that refuses foreign requests.

    Parameters
    ----------
    app : callable
        Gets the requests that are allowed, with paths without the token.
    token : str
        First part of every path.
    port : int
        That the server listens on.
    """

    def __init__(self, app: App, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = frozenset(f"{name}:{port}" for name in LOOPBACK)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        code, reason = self._refusal(scope, headers)
        if code:
            await _refuse(send, code, reason)
            return
        inner = dict(scope)
        inner["path"] = scope["path"][len(self._token) + 1 :]
        inner.pop("raw_path", None)
        body = _Body(receive, _most(inner["path"]))
        try:
            await self._app(inner, body, _Answer(send, body))
        except _TooLargeError:
            await _refuse(send, 413, "the request is too large")

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str]:
        """Return the code and the reason of a refusal; 0 if there is none."""
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return 421, "this server answers on this machine only: open the address that it printed"
        origin = headers.get("origin")
        site = headers.get("sec-fetch-site", "same-origin")
        is_ours = origin == f"http://{host}"
        is_reading = scope["method"] in READING
        if not (is_ours or (origin is None and is_reading)) or site not in {"same-origin", "none"}:
            return 403, "this request comes from another page: open the address that the server printed"
        given = scope["path"].split("/", 2)[1] if scope["path"].startswith("/") else ""
        if not secrets.compare_digest(given.encode(), self._token.encode()):
            return 403, "the address lacks the token: open the whole address that the server printed"
        if scope["path"] == f"/{self._token}":
            return 404, "the address ends with a slash: open the whole address that the server printed"
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()) or int(length[:20]) > _most(scope["path"]):
            return 413, "the request is too large"
        return 0, ""


class _TooLargeError(Exception):
    """A body without a length turned out to be too large."""


class _Body:
    """The `receive` of a request, which raises once the body is too large."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._left = most

    @property
    def is_too_large(self) -> bool:
        """Whether more than the largest body has arrived."""
        return self._left < 0

    async def __call__(self) -> MutableMapping[str, Any]:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self.is_too_large:
            raise _TooLargeError
        return message


class _Answer:
    """The `send` of a response: adds `HEADERS`, and drops the response to a body that is too large."""

    def __init__(self, send: Send, body: _Body) -> None:
        self._send = send
        self._body = body

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if self._body.is_too_large:
            return
        if message["type"] == "http.response.start":
            given = {name for name, _ in message["headers"]}
            kept = [pair for pair in HEADERS if pair[0] not in given]
            message = {**message, "headers": [*message["headers"], *kept]}
        await self._send(message)


async def _refuse(send: Send, code: int, reason: str) -> None:
    text = f"{reason}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close"), *HEADERS]
    await send({"type": "http.response.start", "status": code, "headers": headers})
    await send({"type": "http.response.body", "body": text})


def _most(path: str) -> int:
    return MAX_FRAME if "/live/" in path else MAX_BODY
