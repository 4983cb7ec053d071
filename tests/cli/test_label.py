"""`vjcascade label`, `review` and `live`: what they refuse, and what they begin with."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
from label_server import noise

from vjcascade.imaging import write_image


@pytest.fixture
def serve(monkeypatch):
    """Return what `serve` was called with, in place of a server."""
    pytest.importorskip("starlette", reason="the extra label is not installed")
    from vjcascade.labelling import serving
    from vjcascade.labelling.session import Session
    from vjcascade.labelling.store import Store

    calls = []

    def call(site, options, *, port=None, prepare=lambda _: None, ready=lambda *_: None):
        store = Store(site.photos, site.labels)
        prepare(store)
        session = Session(site.photos, store, options)
        try:
            ready("http://127.0.0.1:1/token/", session)
            calls.append((site, options, port, session.state(), session.queue("name")))
        finally:
            session.close()
        raise KeyboardInterrupt

    monkeypatch.setattr(serving, "serve", call)
    return calls


def test_without_the_extra_one_sentence_says_what_to_install(run, monkeypatch, photos_folder):
    real = builtins.__import__

    def refuse(name, *rest):
        if name.partition(".")[0] in {"starlette", "uvicorn"}:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    for words in (["label", photos_folder], ["review", "frontalface", photos_folder], ["live"]):
        ran = run(*words, "--no-browser")
        assert ran.code == 2
        assert ran.err.count("\n") == 1
        assert "pip install starlette uvicorn" in ran.err


@pytest.fixture
def photos_folder(tmp_path):
    return noise(tmp_path / "photos")


def test_label_begins_with_photos_labels_and_boxes_of_others(run, serve, photos_folder):
    boxes = photos_folder / "boxes.csv"
    boxes.write_text("file,x,y,w,h\na.png,1,2,20,20\n")
    ran = run(
        "label", photos_folder, "--labels", "face", "sign", "--boxes", boxes, "--no-browser", "--port", "2048"
    )
    assert ran.code == 0, ran.err
    assert "imported the boxes of 1 photo (CSV)" in ran.out
    assert "page: http://127.0.0.1:1/token/" in ran.out
    assert "stopped; 1 box in" in ran.out
    site, options, port, state, queue = serve[0]
    assert site.labels == photos_folder / "labels.json"
    assert port == 2048
    assert options.model is None
    assert state["labels"] == ["face", "sign"]
    assert queue[0] == ("a.png", True, 1, "")
    assert (photos_folder / "labels.json").is_file()


def test_boxes_may_be_kept_elsewhere(run, serve, photos_folder, tmp_path):
    ran = run("label", photos_folder, "--output", tmp_path / "mine.json", "--no-browser")
    assert ran.code == 0, ran.err
    assert [row[0] for row in serve[0][4]] == ["photos/a.png", "photos/b.png", "photos/c.jpg"]


def test_the_better_model_of_before_is_used_again(run, serve, photos_folder, face_model_bytes):
    (photos_folder / "best-model.xml").write_bytes(face_model_bytes)
    assert run("label", photos_folder, "--no-browser").code == 0
    assert serve[0][1].model == photos_folder / "best-model.xml"
    assert run("label", photos_folder, "--model", "frontalface", "--no-browser").code == 0
    assert serve[1][1].model.name == "frontalface.xml"


@pytest.fixture
def face_model_bytes():
    from vjcascade.compat.data import find

    return find("frontalface").read_bytes()


def test_review_keeps_the_scenes_and_corrects_our_own_files_in_place(run, serve, photos_folder):
    scenes = photos_folder / "scenes.txt"
    scenes.write_text("a.png 1 1 2 20 20\nb.png 0\n")
    ran = run("review", "frontalface", scenes, "--no-browser")
    assert ran.code == 0, ran.err
    site, options, _, state, queue = serve[0]
    assert site.labels == photos_folder / "scenes.reviewed.json"
    assert options.tab == state["tab"] == "review"
    assert [(row[0], row[1], row[2]) for row in queue] == [("a.png", True, 1), ("b.png", True, 0)]
    assert scenes.read_text() == "a.png 1 1 2 20 20\nb.png 0\n"
    assert run("review", "frontalface", site.labels, "--no-browser").code == 0
    assert serve[1][0].labels == site.labels


def test_live_makes_a_folder_for_frames_and_takes_it_away_if_none_was_kept(run, serve, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = run("live", "--output", "kept", "--no-browser")
    assert ran.code == 0, ran.err
    assert serve[0][3]["tab"] == "live"
    assert serve[0][3]["model"].endswith("frontalface.xml")
    assert not (tmp_path / "kept").exists()


def test_what_is_wrong_is_said_in_a_sentence(run, photos_folder, tmp_path):
    pytest.importorskip("starlette", reason="the extra label is not installed")
    (tmp_path / "empty").mkdir()
    write_image(tmp_path / "picture.png", np.zeros((9, 9), np.uint8))
    cases = [
        (["label", tmp_path / "nowhere"], "is not a folder; give a folder of photos"),
        (["label", tmp_path / "picture.png"], "is not a folder; give a folder of photos"),
        (["label", tmp_path / "empty"], "there are no pictures in this folder"),
        (["label", photos_folder, "--model", tmp_path / "no.xml"], "no.xml"),
        (["label", photos_folder, "--boxes", tmp_path / "no.csv"], "no.csv"),
        (["label", photos_folder, "--port", "80"], "--port"),
        (["review", "frontalface", tmp_path / "no.json"], "does not exist"),
        (["review", "nosuchmodel", photos_folder], "without annotations"),
        (["live", tmp_path / "no.xml", "--output", tmp_path / "kept"], "no.xml"),
    ]
    for words, wanted in cases:
        ran = run(*words, "--no-browser")
        assert ran.code == 2, words
        assert wanted in ran.err, ran.err
    assert not (tmp_path / "kept").exists()
    (photos_folder / "labels.json").write_text("{}")
    ran = run("label", photos_folder, "--no-browser")
    assert ran.code == 2
    assert "was not written by vjcascade label" in ran.err
    assert sorted(path.name for path in photos_folder.iterdir()) == ["a.png", "b.png", "c.jpg", "labels.json"]
