"""What a model gets wrong: found, ordered, and decided about."""

from __future__ import annotations

import json

import numpy as np
import pytest
from label_server import FACE, boxes_of, eventually, image_of

from vjcascade.errors import SettingsError
from vjcascade.evaluation import Protocol, evaluate
from vjcascade.evaluation.matching import overlaps
from vjcascade.labelling.changes import MarkDone, PutBox
from vjcascade.labelling.models import load_candidate
from vjcascade.labelling.photos import Photos
from vjcascade.labelling.reviewing import mistakes, scenes_of
from vjcascade.labelling.store import Store


@pytest.fixture
def reviewed(faces):
    """Return a folder in which a face has no box, one has a wrong one, and a box is where nothing is."""
    store = Store(Photos.below(faces), faces / "labels.json")
    x, y, w, h = FACE
    store.apply(
        [
            MarkDone("astronaut.png", True),
            PutBox("mirrored.png", 2, (256 - x - w + 22, y + 22, w, h), "face"),
            MarkDone("mirrored.png", True),
            PutBox("lawn.png", 3, (100, 100, 40, 40), "face"),
            MarkDone("lawn.png", True),
        ]
    )
    return faces


def found_in(folder, model):
    store = Store(Photos.below(folder), folder / "labels.json")
    pictures = store.pictures()
    evaluation = evaluate(
        [load_candidate(model, "now")], scenes_of(pictures, "test"), Protocol(n_resamples=10)
    )
    return mistakes(evaluation, [picture.name for picture in pictures])


def test_each_kind_of_mistake_is_found(reviewed, face_model):
    found = found_in(reviewed, face_model)
    alarms = [one for one in found if one.kind == "false alarm"]
    assert overlaps(np.array([alarms[0].found]), np.array([FACE])).max() > 0.5
    assert alarms[0].photo == "astronaut.png"
    near = [one for one in found if one.kind == "near miss"]
    assert [one.photo for one in near] == ["mirrored.png"]
    assert near[0].truth is not None
    missed = {one.photo for one in found if one.kind == "miss"}
    assert {"lawn.png", "mirrored.png"} == missed
    kinds = [one.kind for one in found]
    assert kinds == sorted(kinds, key=["false alarm", "miss", "near miss"].index)


def test_without_boxes_there_is_nothing_to_review(photos):
    store = Store(Photos.below(photos), photos / "labels.json")
    with pytest.raises(SettingsError, match="no photo that is done has a box"):
        scenes_of(store.pictures(), "labels.json")


def test_a_review_needs_a_model_and_boxes(serve_folder, photos, faces, face_model):
    status, answer = serve_folder(photos).ask("review/start", {})
    assert status == 400
    assert b"no model" in answer
    status, answer = serve_folder(faces, model=face_model).ask("review/start", {})
    assert status == 400
    assert b"no photo that is done has a box" in answer


def test_keys_decide_in_the_browser(serve_folder, reviewed, face_model, open_page):
    served = serve_folder(reviewed, model=face_model, tab="review", labels=("face",))
    page = open_page(served.address)
    page.get_by_role("button", name="Search for errors").click()
    page.get_by_role("button", name="Search again").wait_for(timeout=60_000)
    card = page.locator(".mistake")
    eventually(lambda: page.evaluate("document.querySelector('.mistake img')?.naturalWidth") or 0)
    card.first.focus()
    page.keyboard.press("o")  # it is the face: its box was missing
    box = eventually(lambda: boxes_of(reviewed, "astronaut.png"))
    assert overlaps(np.array(box), np.array([FACE])).max() > 0.5
    assert image_of(reviewed, "astronaut.png")["use"] == "train"
    card.first.focus()
    page.keyboard.press("l")  # no, it is a false alarm: the box goes again
    eventually(
        lambda: (
            image_of(reviewed, "astronaut.png")["false_alarms"] and not boxes_of(reviewed, "astronaut.png")
        )
    )
    page.keyboard.press("u")
    eventually(lambda: not image_of(reviewed, "astronaut.png")["false_alarms"])
    page.get_by_role("button", name="Near misses (1)").click()
    card.first.focus()
    page.keyboard.press("o")
    x, y, w, h = FACE
    place = np.array([[256 - x - w, y, w, h]])
    eventually(lambda: overlaps(np.array(boxes_of(reviewed, "mirrored.png")), place).max() > 0.5)
    page.get_by_role("button", name="Misses (2)", exact=True).click()
    wrong = page.locator(".mistake", has_text="lawn.png")
    wrong.focus()
    page.keyboard.press("s")
    wrong.focus()
    page.keyboard.press("l")
    eventually(lambda: boxes_of(reviewed, "lawn.png") == [])
    assert len(json.loads((reviewed / "labels.json").read_text())["images"]) == 3
    assert page.problems == []
