"""The server's process: alone with its folder, found again after a crash, and nothing lost when it is killed."""

from __future__ import annotations

import json
import random
import re
import signal
import stat
import threading
from contextlib import ExitStack
from http.client import HTTPException

import pytest
from label_server import Served
from labelling_page import label_server

from vjcascade.cli.process import ExitCode
from vjcascade.errors import DeviceError, SettingsError
from vjcascade.labelling.photos import Photos
from vjcascade.labelling.serving import ADDRESS_NAME
from vjcascade.labelling.store import Store


@pytest.fixture
def start_process():
    """Return `start_process(folder) -> (process, address)`: `vjcascade label` as people start it."""
    pytest.importorskip("starlette", reason="the extra label is not installed")
    with ExitStack() as stack:
        yield lambda folder: stack.enter_context(label_server(folder))


def test_kill_leaves_every_box_that_was_answered(start_process, photos):
    process, address = start_process(photos)
    path = photos / ADDRESS_NAME
    assert address.split("/")[3] in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    served, answered, status, number = Served(photos, address), set(), 200, 0
    while status == 200:
        number += 1
        box = {"id": number, "box": [number % 50, 1, 6, 6], "label": "x"}
        try:
            status, _ = served.ask("changes", [{"do": "put", "photo": "a.png", **box}])
        except (OSError, HTTPException):
            status = 0
        answered |= {number} if status == 200 else set()
        if number == 5:
            threading.Timer(random.Random(7).uniform(0, 0.1), process.kill).start()
    assert status == 0
    assert len(answered) >= 5
    process.wait(60)
    on_disk = json.loads((photos / "labels.json").read_text())
    assert answered <= {one["id"] for one in on_disk["annotations"]}
    assert answered <= set(Store(Photos.below(photos), photos / "labels.json").labels("a.png").boxes)
    (photos / ".vjcascade-0123456789abcdef.tmp").touch()  # as one that is killed while it writes
    process, again = start_process(photos)
    assert again == address  # so that open pages go on
    process.send_signal(signal.SIGINT)
    rest = process.stdout.read()
    assert process.wait(60) == 0, rest
    assert re.search(r"stopped; \d+ boxes in", rest)
    assert "Traceback" not in rest
    assert {one.name for one in photos.iterdir()} == {"a.png", "b.png", "c.jpg", "labels.json"}


def test_a_server_that_is_terminated_cleans_up(start_process, photos):
    process, _ = start_process(photos)
    process.send_signal(signal.SIGTERM)
    rest = process.stdout.read()
    assert process.wait(60) == ExitCode.TERMINATED, rest
    assert "Traceback" not in rest
    assert not (photos / ADDRESS_NAME).exists()


def test_two_servers_on_one_folder_are_refused(serve_folder, photos):
    first = serve_folder(photos)
    with pytest.raises(SettingsError, match=r"another vjcascade label.* works in this folder"):
        serve_folder(photos)
    assert first.get("state")["n_photos"] == 3


def test_a_port_that_is_taken_is_named(serve_folder, photos, tmp_path):
    from vjcascade.labelling.serving import Site, serve
    from vjcascade.labelling.session import SessionOptions

    first = serve_folder(photos)
    port = int(first.address.split(":")[2].split("/")[0])
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(DeviceError, match=rf"port {port} .*--port"):
        serve(Site(Photos.below(other), other / "labels.json"), SessionOptions(), port=port)
    assert list(other.iterdir()) == []


def test_an_address_file_of_somebody_else_is_not_trusted(serve_folder, photos):
    (photos / ADDRESS_NAME).write_text('{"port": 80, "token": "short"}')
    served = serve_folder(photos)
    assert "short" not in served.address
    assert served.get("state")["n_photos"] == 3
