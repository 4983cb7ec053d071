"""A server that speaks S3 on this machine, and one that loses connections."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from typing import Any

import pytest

BUCKET = "pictures"


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """Return the address of a server that speaks S3."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(
        ip_address="127.0.0.1", port=0, verbose=False
    )
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return the file system of an empty bucket, `BUCKET`, which users reach by their environment."""
    s3fs = pytest.importorskip("s3fs")
    for name, value in {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": s3_server,
    }.items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    system = s3fs.S3FileSystem(skip_instance_cache=True)
    system.mkdir(BUCKET)
    yield system
    system.rm(BUCKET, recursive=True)
    s3fs.S3FileSystem.clear_instance_cache()


class CuttingProxy(socketserver.ThreadingTCPServer):
    """Hands connections on to a server, and cuts the first few in the middle of the answer.

    Attributes
    ----------
    n_to_cut : int
        Connections still to be cut.
    n_cut : int
        Those that were.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        host, port = target.removeprefix("http://").split(":")
        self.target, self.n_to_cut, self.n_cut = (host, int(port)), 0, 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(socketserver.BaseRequestHandler):
    server: CuttingProxy

    def handle(self) -> None:
        with socket.create_connection(self.server.target) as upstream:
            threading.Thread(target=self._pump, args=(self.request, upstream), daemon=True).start()
            n_bytes = 0
            while data := upstream.recv(65536):
                n_bytes += len(data)
                if self.server.n_to_cut > 0 and n_bytes > 2000:
                    self.server.n_to_cut -= 1
                    self.server.n_cut += 1
                    self.request.sendall(data[: len(data) // 2])
                    self.request.shutdown(socket.SHUT_RDWR)
                    return
                self.request.sendall(data)

    @staticmethod
    def _pump(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass


@pytest.fixture
def proxy(s3_server: str) -> Iterator[CuttingProxy]:
    """Return a proxy before the server that speaks S3."""
    with CuttingProxy(s3_server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
