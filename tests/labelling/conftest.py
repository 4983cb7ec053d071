"""Fixtures of the page's tests: photos, a server, and Chromium where there is one."""

from __future__ import annotations

import functools
import shutil
import threading

import numpy as np
import pytest
from label_server import ASTRONAUT, FACE, Served, noise
from labelling_page import ARGUMENTS, BROWSERS, chromium as chromium_program

from vjcascade.cascade import Cascade
from vjcascade.compat.data import find
from vjcascade.imaging import read_reduced, write_image

_face_model = functools.cache(functools.partial(Cascade.load, find("frontalface")))


@pytest.fixture(scope="module")
def serve_folder():
    """Return `serve_folder(folder, **options) -> Served`: a server in a thread of this process."""
    pytest.importorskip("starlette", reason="the extra label is not installed")
    uvicorn = pytest.importorskip("uvicorn", reason="the extra label is not installed")
    from vjcascade.labelling.photos import Photos
    from vjcascade.labelling.serving import Site, serve
    from vjcascade.labelling.session import SessionOptions

    running = []

    def call(folder, photos=None, file=None, **options):
        begun, failed, kept = threading.Event(), [], {}

        def ready(address, session):
            kept.update(address=address, session=session)
            begun.set()

        def work():
            try:
                serve(
                    Site(photos or Photos.below(folder), file or folder / "labels.json"),
                    SessionOptions(**options),
                    ready=ready,
                )
            except BaseException as error:
                failed.append(error)
                begun.set()

        before = set(uvicorn_servers)
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        assert begun.wait(60)
        if failed:
            raise failed[0]
        server = None
        while server is None:
            server = next((one for one in uvicorn_servers if one not in before), None)
        running.append((server, kept["session"], thread))
        return Served(folder, kept["address"], kept["session"])

    uvicorn_servers = []
    begin = uvicorn.Server.run

    def run(self, sockets=None):
        uvicorn_servers.append(self)
        return begin(self, sockets=sockets)

    patch = pytest.MonkeyPatch()
    patch.setattr(uvicorn.Server, "run", run)
    yield call
    for server, session, thread in running:
        session.hub.close()
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()
    patch.undo()


@pytest.fixture
def photos(tmp_path):
    """Return a folder of three photos of noise, 60x40 pixels."""
    return noise(tmp_path / "photos")


@pytest.fixture(scope="session")
def drawn_faces(tmp_path_factory):
    """Return a folder for `faces` to copy."""
    folder = tmp_path_factory.mktemp("drawn") / "faces"
    folder.mkdir()
    photo, lawn = (read_reduced(path, 256) for path in (ASTRONAUT, ASTRONAUT.with_name("grass.png")))
    x, y, width, height = FACE
    pasted = np.repeat(lawn[:, :, np.newaxis], 3, axis=2)
    pasted[100 : 120 + height, 50 : 70 + width] = photo[y - 10 : y + height + 10, x - 10 : x + width + 10]
    write_image(folder / "astronaut.png", photo)
    write_image(folder / "mirrored.png", np.ascontiguousarray(photo[:, ::-1]))
    write_image(folder / "lawn.png", lawn)
    write_image(folder / "pasted.png", pasted)
    return folder


@pytest.fixture
def faces(drawn_faces, tmp_path):
    """Return a folder with the astronaut, the same mirrored and on a lawn, and a photo without a face."""
    return shutil.copytree(drawn_faces, tmp_path / "faces")


@pytest.fixture(scope="session")
def face_model():
    """Return the file of the model of faces that comes with vjcascade."""
    return find("frontalface")


@pytest.fixture(scope="session")
def chromium():
    """Return a browser driven by Playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = chromium_program()
    if program is None:
        pytest.skip(f"no Chromium: none of {', '.join(BROWSERS)} is installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="module", autouse=True)
def face_model_read_once():
    """Have the model of faces read once for all tests: that takes most of a second."""
    read = Cascade.load
    patch = pytest.MonkeyPatch()
    patch.setattr(Cascade, "load", lambda path: _face_model() if path == find("frontalface") else read(path))
    yield
    patch.undo()


@pytest.fixture(scope="session")
def shared_page(chromium):
    """Return a page for one test after the other: a new one takes the processors half a second."""
    return chromium.new_context().new_page()


@pytest.fixture
def open_page(chromium, shared_page):
    """Return `open_page(address, width, height, color_scheme) -> page`, with its errors in `page.problems`.

    Pages with further settings, and those beyond the first one of a test, have a context of their own.
    """
    opened, own = [], []

    def call(address, width=1200, height=800, *, color_scheme="light", context=None, **settings):
        if context is None and not settings and shared_page not in opened:
            page = shared_page
        else:
            if context is None:
                context = chromium.new_context(**settings)
                own.append(context)
            page = context.new_page()
        opened.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=color_scheme)
        page.set_default_timeout(60_000)
        page.problems = []
        page.heard = {
            "pageerror": lambda error: page.problems.append(str(error)),
            "console": lambda message: message.type == "error" and page.problems.append(message.text),
        }
        for event, listener in page.heard.items():
            page.on(event, listener)
        page.goto(address)
        page.wait_for_selector("html[data-ready]")
        return page

    yield call
    for page in opened:
        if page is not shared_page and page.context not in own:
            page.close()
    for context in own:
        context.close()
    if shared_page in opened:
        shared_page.unroute_all(behavior="ignoreErrors")
        shared_page.evaluate(
            "localStorage.clear()"
        )  # and it stays where it is: each way elsewhere costs a process
        for event, listener in shared_page.heard.items():
            shared_page.remove_listener(event, listener)
