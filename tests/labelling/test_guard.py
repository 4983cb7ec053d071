"""Who is refused: other origins and hosts, missing tokens, paths outside, and requests that are too large."""

from __future__ import annotations

import socket
import urllib.parse
from contextlib import suppress
from importlib.resources import files

import pytest
from label_server import noise

from vjcascade.labelling.app import PAGE
from vjcascade.labelling.guard import MAX_BODY, MAX_FRAME


@pytest.fixture(scope="module")
def served(serve_folder, tmp_path_factory):
    photos = noise(tmp_path_factory.mktemp("guard") / "photos")
    (photos.parent / "secret.png").write_bytes((photos / "a.png").read_bytes())
    (photos.parent / "secret.txt").write_text("secret")
    return serve_folder(photos)


def netloc(served):
    return urllib.parse.urlsplit(served.address).netloc


def test_our_own_page_is_served(served):
    status, body = served.ask("")
    assert status == 200
    assert b'<script type="module" src="app.js">' in body
    for name in ("app.js", "style.css", "icon.svg", "photo_view.js"):
        assert served.ask(name)[0] == 200
    assert served.get("state")["n_photos"] == 3
    assert (
        served.ask(
            "state", headers={"Host": netloc(served).replace("127.0.0.1", "localhost"), "Origin": None}
        )[0]
        == 200
    )
    status, body = served.ask("picture?name=a.png&side=100")
    assert (status, body[:3]) == (200, b"\xff\xd8\xff")


def test_every_file_of_the_page_is_served_and_no_other():
    folder = files("vjcascade.labelling") / "page"
    assert {name for name, _ in PAGE.values()} == {file.name for file in folder.iterdir()}


@pytest.mark.parametrize("token", ["", "wrong", "a" * 32, "%00", "..", "state"])
def test_without_the_token_nothing_is_served(served, token):
    for path, body in (("", None), ("state", None), ("changes", []), ("app.js", None)):
        status, answer = served.ask(path, body, token=token)
        assert status in ({403, 404} if body is None else {0, 403, 404}), (path, answer)  # 0: not even read
        assert b"a.png" not in answer


def test_the_token_is_long_and_of_its_own_for_each_folder(served, serve_folder, tmp_path):
    (tmp_path / "other").mkdir()
    other = serve_folder(tmp_path / "other")
    tokens = [urllib.parse.urlsplit(one.address).path.strip("/") for one in (served, other)]
    assert tokens[0] != tokens[1]
    assert all(len(token) >= 32 for token in tokens)


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "0.0.0.0:{port}",
        "localhost.evil.example:{port}",
        "[::]:{port}",
        "",
    ],
)
def test_names_of_elsewhere_are_refused(served, host):
    port = netloc(served).split(":")[1]
    status, answer = served.ask("state", headers={"Host": host.format(port=port), "Origin": None})
    assert status in {400, 421}
    assert b"photos" not in answer.replace(b"the photos", b"")


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1",
        "http://localhost:1",
        "https://{netloc}",
        "http://{netloc}.evil.example",
        "file://",
    ],
)
def test_pages_of_other_origins_are_refused(served, origin):
    headers = {"Origin": origin.format(netloc=netloc(served))}
    change = [{"do": "put", "photo": "a.png", "id": 1, "box": [0, 0, 9, 9], "label": "x"}]
    assert served.ask("state", headers=headers)[0] == 403
    assert served.ask("changes", change, headers=headers)[0] == 403
    assert not (served.folder / "labels.json").exists()


def test_what_changes_anything_must_say_where_it_comes_from(served):
    assert served.ask("changes", [], headers={"Origin": None})[0] == 403
    assert served.ask("changes", [])[0] == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_requests_that_a_browser_marks_as_foreign_are_refused(served, site):
    assert served.ask("state", headers={"Origin": None, "Sec-Fetch-Site": site})[0] == 403
    assert served.ask("state", headers={"Origin": None, "Sec-Fetch-Site": "none"})[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "..%2fsecret.txt",
        "%2e%2e/secret.txt",
        "page/../../store.py",
        "store.py",
        "labels.json",
        "/etc/passwd",
        "picture?name=../secret.png&side=100",
        "picture?name=..%2Fsecret.png&side=100",
        "picture?name=/etc/passwd&side=100",
        "photos?name=../secret.png",
        "picture?name=a.png%00&side=100",
        "review/pictures?numbers=-1",
        "review/pictures?numbers=999",
    ],
)
def test_paths_outside_are_refused(served, path):
    status, answer = served.ask(path)
    assert status in {400, 403, 404}, answer
    assert b"secret" not in answer.replace(b"secret.png", b"").replace(b"secret.txt", b"")
    assert b"root:" not in answer


@pytest.mark.parametrize(
    "wish",
    [
        {"names": ["a.png"], "width": 0, "height": 9},
        {"names": ["a.png"] * 201, "width": 9, "height": 9},
        {"names": "a.png", "width": 9, "height": 9},
        {"names": ["a.png"], "width": 9, "height": 9, "path": "/etc"},
    ],
)
def test_odd_wishes_for_copies_are_refused(served, wish):
    assert served.ask("ahead", wish)[0] == 400
    assert served.ask("ahead", {"names": ["a.png"], "width": 9, "height": 9}, token="wrong")[0] == 403
    assert served.ask("ahead", {"names": ["../secret.png", "a.png"], "width": 9, "height": 9})[0] == 200


def test_changes_of_photos_outside_are_refused(served):
    change = [{"do": "done", "photo": "../secret.png", "done": True}]
    status, answer = served.ask("changes", change)
    assert status == 400
    assert b"not one of the photos" in answer


def test_large_requests_are_refused(served):
    assert served.ask("changes", b" " * (MAX_BODY + 1))[0] in {0, 413}
    assert served.ask("live/keep?kind=miss", b" " * (MAX_FRAME + 1))[0] in {0, 413}
    assert served.ask("changes", headers={"Content-Length": "9" * 30}, method="POST")[0] in {400, 413}
    assert served.ask("changes", headers={"Content-Length": "-1"}, method="POST")[0] in {400, 413}
    assert served.get("state")["n_photos"] == 3


def test_large_requests_without_a_length_are_refused(served):
    parts = urllib.parse.urlsplit(served.address)
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as connection:
        lines = [
            f"POST {parts.path}changes HTTP/1.1",
            f"Host: {parts.netloc}",
            f"Origin: http://{parts.netloc}",
        ]
        head = "\r\n".join([*lines, "Transfer-Encoding: chunked", "", ""])
        connection.sendall(head.encode())
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        answer = b""
        with suppress(OSError):  # the server closes the connection before all is sent
            for _ in range(40):
                connection.sendall(chunk)
        with suppress(ConnectionResetError):
            answer = connection.recv(100)
    assert answer[:12] in {b"", b"HTTP/1.1 413"}
    assert served.get("state")["n_photos"] == 3


def test_a_long_head_is_refused(served):
    assert served.ask("state", headers={"X-Long": "x" * 200_000})[0] in {0, 400, 431}
    assert served.get("state")["n_photos"] == 3


def test_answers_forbid_what_a_foreign_page_could_do_with_them(served):
    parts = urllib.parse.urlsplit(served.address)
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as connection:
        connection.sendall(
            f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode()
        )
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(4096)
    head = head.lower()
    for words in (
        b"default-src 'self'",
        b"frame-ancestors 'none'",
        b"referrer-policy: no-referrer",
        b"nosniff",
    ):
        assert words in head
    assert b"access-control-allow" not in head


def test_only_this_machine_can_connect(served):
    port = urllib.parse.urlsplit(served.address).port
    own = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {
        "127.0.0.1"
    }
    for address in (one for one in own if not one.startswith("127.")):
        with pytest.raises(OSError, match=r"refused|timed|unreachable"):
            socket.create_connection((address, port), timeout=3).close()
    assert served.session is not None


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(served, method):
    assert served.ask("changes", b"[]", method=method)[0] == 405
