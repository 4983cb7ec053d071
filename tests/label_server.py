"""A page's server as tests talk to it."""

from __future__ import annotations

import http.client
import json
import time
import urllib.parse
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import skimage

from vjcascade.imaging import write_image

ASTRONAUT = Path(skimage.__file__).parent / "data" / "astronaut.png"
FACE = (87, 33, 49, 49)
"""About where the astronaut's face is, in a copy of half the size."""


@dataclass
class Served:
    """A server that runs, and its folder."""

    folder: Path
    address: str
    session: Any = None

    def ask(self, path, body=None, method=None, headers=None, token=None):
        """Return status and body of a request; headers are those of our page unless given."""
        parts = urllib.parse.urlsplit(self.address)
        own = {"Host": parts.netloc, "Origin": f"http://{parts.netloc}"}
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
        try:
            prefix = parts.path if token is None else f"/{token}/"
            sent = {name: value for name, value in {**own, **(headers or {})}.items() if value is not None}
            method = method or ("GET" if body is None else "POST")
            connection.putrequest(method, prefix + path, skip_host=True, skip_accept_encoding=True)
            data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            if data is not None and "Content-Length" not in sent and "Transfer-Encoding" not in sent:
                sent["Content-Length"] = str(len(data))
            for name, value in sent.items():
                connection.putheader(name, value)
            connection.endheaders()
            if data is not None:
                with suppress(BrokenPipeError, ConnectionResetError):  # refused before all was sent
                    connection.send(data)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (
            ConnectionResetError,
            BrokenPipeError,
            http.client.IncompleteRead,
        ):  # what was sent was refused before it was read
            return 0, b""
        finally:
            connection.close()

    def get(self, path):
        status, body = self.ask(path)
        assert status == 200, body
        return json.loads(body)

    def post(self, path, body):
        status, answer = self.ask(path, body)
        assert status == 200, answer
        return json.loads(answer)


def noise(folder):
    """Make a folder of three photos."""
    folder.mkdir()
    rng = np.random.default_rng(3)
    for name in ("a.png", "b.png", "c.jpg"):
        write_image(folder / name, rng.integers(0, 256, (40, 60), np.uint8))
    return folder


def boxes_of(folder, name="a.png"):
    """Return the boxes of a photo that are on the disk."""
    path = folder / "labels.json"
    if not path.exists():
        return []
    coco = json.loads(path.read_text())
    numbers = {one["file_name"]: one["id"] for one in coco["images"]}
    return [one["bbox"] for one in coco["annotations"] if one["image_id"] == numbers.get(name)]


def image_of(folder, name):
    coco = json.loads((folder / "labels.json").read_text())
    return next(one for one in coco["images"] if one["file_name"] == name)


def eventually(condition, seconds=60):
    """Wait until a condition holds, and return what it gave."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)
    return value
