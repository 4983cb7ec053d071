"""Boxes that a model proposes, what they are worth, and the order of photos that follows."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from label_server import FACE

from vjcascade.boosters.calibration import PlattScaling
from vjcascade.cascade import Cascade
from vjcascade.evaluation.matching import overlaps
from vjcascade.imaging import read_image, write_image
from vjcascade.labelling import proposals
from vjcascade.labelling.changes import MarkDone, PutBox, RejectPlace
from vjcascade.labelling.ordering import Order, ordered, worth
from vjcascade.labelling.photos import Photos
from vjcascade.labelling.proposals import USUAL, Found, Proposer
from vjcascade.labelling.store import Store


class Search:
    """A proposer whose photos can be waited for."""

    def __init__(self, folder, model):
        self.gate = threading.Event()
        self.photos = Photos.below(folder)
        self.store = Store(self.photos, folder / "labels.json")
        self.told = []
        self._all = threading.Event()
        self.proposer = Proposer(self.photos, self.store, self._tell)
        self.proposer.use(Cascade.load(model))

    def _tell(self, name):
        self.gate.wait()
        self.told.append(name)
        if len(self.told) == len(self.photos):
            self._all.set()

    def wait(self):
        self.gate.set()
        assert self._all.wait(60)
        return self

    def of(self, name):
        return self.proposer.proposals(name, self.store.labels(name))


@pytest.fixture
def search(faces, face_model):
    found = Search(faces, face_model)
    yield found.wait()
    found.proposer.close()


def test_faces_are_proposed_and_lawns_are_not(search):
    found = search.of("astronaut.png")
    assert overlaps(np.array([found[0].box]), np.array([FACE]))[0, 0] > 0.5
    assert found[0].probability > 0.5
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert [one for one in search.of("lawn.png") if one.probability > 0.5] == []


def test_what_is_drawn_rejected_or_done_is_proposed_no_more(search):
    best = search.of("astronaut.png")[0].box
    search.store.apply([PutBox("astronaut.png", 1, best, "face")])
    assert best not in [one.box for one in search.of("astronaut.png")]
    mirrored = search.of("mirrored.png")[0].box
    search.store.apply([RejectPlace("mirrored.png", mirrored)])
    assert mirrored not in [one.box for one in search.of("mirrored.png")]
    search.store.apply([MarkDone("pasted.png", True)])
    assert search.of("pasted.png") == []


def test_boxes_of_large_photos_are_in_their_own_pixels(tmp_path, face_model, faces, monkeypatch):
    monkeypatch.setattr(proposals, "SIDE", 256)
    folder = tmp_path / "large"
    folder.mkdir()
    photo, factor = read_image(faces / "astronaut.png"), 4
    write_image(folder / "large.jpg", photo.repeat(factor, 0).repeat(factor, 1))
    search = Search(folder, face_model).wait()
    try:
        place = np.array([FACE]) * factor
        assert overlaps(np.array([search.of("large.jpg")[0].box]), place)[0, 0] > 0.5
    finally:
        search.proposer.close()


def test_photos_that_somebody_waits_for_come_first(tmp_path, face_model, rng):
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(10):
        write_image(folder / f"{number}.png", rng.integers(0, 256, (40, 40), np.uint8))
    search = Search(folder, face_model)
    try:
        search.proposer.hurry(["8.png", "9.png"])
        search.wait()
        assert {"8.png", "9.png"} <= set(search.told[:3])  # one may have been searched before
        assert sorted(search.told) == list(search.photos)
    finally:
        search.proposer.close()


def test_another_model_begins_anew_and_none_proposes_nothing(search, face_model):
    search.proposer.use(None)
    assert search.of("astronaut.png") == []
    assert not search.proposer.has_model
    search.told.clear()
    search._all.clear()
    search.proposer.use(Cascade.load(face_model))
    search.wait()
    assert search.of("astronaut.png")


def test_photos_that_cannot_be_read_have_no_proposals(photos, face_model):
    (photos / "b.png").write_bytes(b"no picture")
    search = Search(photos, face_model).wait()
    try:
        assert len(search.proposer.found("b.png").boxes) == 0
    finally:
        search.proposer.close()


def test_decisions_tell_what_scores_are_worth(tmp_path, rng):
    """Where all below a score are refused and all above accepted, the middle moves there."""
    folder = tmp_path / "decided"
    folder.mkdir()
    write_image(folder / "a.png", rng.integers(0, 256, (400, 400), np.uint8))
    photos = Photos.below(folder)
    store = Store(photos, folder / "labels.json")
    proposer = Proposer(photos, store, print)
    try:
        places = np.array([[20.0 * i, 20.0 * j, 15, 15] for i in range(8) for j in range(8)])
        scores = np.arange(64.0)
        proposer._found["a.png"] = Found(places, scores)
        assert proposer.scaling() == USUAL
        right = [PutBox("a.png", 1 + i, tuple(places[i]), "x") for i in range(64) if scores[i] >= 40]
        store.apply([*right, MarkDone("a.png", True)])
        assert proposer.scaling().threshold(0.5) == pytest.approx(39.5, abs=2)
    finally:
        proposer.close()


def test_uncertain_photos_come_first_with_a_reason():
    scaling = PlattScaling(slope=-1.0, offset=5.0)
    found = {
        "sure": Found(np.zeros((2, 4)), np.array([30.0, 40.0])),
        "unsure": Found(np.zeros((2, 4)), np.array([5.0, 6.0])),
        "one": Found(np.zeros((1, 4)), np.array([5.0])),
        "nothing": Found(np.zeros((0, 4)), np.zeros(0)),
        "later": None,
    }
    worths = {name: worth(one, scaling) for name, one in found.items()}
    assert ordered(found, worths, Order.UNCERTAIN) == ["unsure", "one", "nothing", "sure", "later"]
    assert ordered(found, worths, Order.NAME) == list(found)
    assert ordered(found, worths, Order.QUICK) == ["sure", "unsure", "one", "nothing", "later"]
    assert worths["unsure"].value == pytest.approx(1 + 4 * 0.7311 * 0.2689, abs=1e-3)
    assert worths["unsure"].reason == "2 uncertain proposals, score 5.0 to 6.0"
    assert worths["sure"].reason == "2 confident proposals"
    assert worths["nothing"].reason == "no detections"
