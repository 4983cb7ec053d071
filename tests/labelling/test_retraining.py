"""A model trained on what is done, compared with the one before, and kept if it is better."""

from __future__ import annotations

import shlex
import shutil
import threading
from contextlib import suppress

import numpy as np
import pytest
from easy_pictures import easy_positive, soft_noise
from label_server import Served, eventually
from labelling_page import label_server

from vjcascade.cascade import Cascade
from vjcascade.errors import SettingsError
from vjcascade.evaluation import read_scenes
from vjcascade.files import EVENTS_NAME
from vjcascade.imaging import read_image, resize_crop, write_image
from vjcascade.labelling.changes import MarkDone, PutBox, RejectPlace, UsePhoto
from vjcascade.labelling.photos import Photos
from vjcascade.labelling.retraining import (
    BEST_NAME,
    CURRENT,
    NEW,
    RUNS_NAME,
    STAGES_MORE,
    Retrainer,
    Start,
    Task,
    write_false_alarms,
)
from vjcascade.labelling.store import Store
from vjcascade.training.run_lock import only_run_in
from vjcascade.types import Size

SIDE = 14
N_PHOTOS = 24


@pytest.fixture(scope="module")
def plain_photos(tmp_path_factory):
    """Return a folder of photos with two easy objects each, and where these are."""
    folder = tmp_path_factory.mktemp("plain")
    rng = np.random.default_rng(5)
    places = {}
    for number in range(N_PHOTOS):
        photo = soft_noise(rng, 100)
        corners = [
            (8 + rng.integers(0, 20), 10 + rng.integers(0, 60)),
            (60 + rng.integers(0, 20), 10 + rng.integers(0, 60)),
        ]
        for x, y in corners:
            photo[y : y + SIDE, x : x + SIDE] = resize_crop(easy_positive(rng), Size(SIDE, SIDE))
        name = f"{number:02}.png"
        places[name] = [(float(x), float(y), float(SIDE), float(SIDE)) for x, y in corners]
        write_image(folder / name, photo)
    return folder, places


@pytest.fixture
def labelled(plain_photos, tmp_path):
    """Return a store in which all photos are done."""
    source, places = plain_photos
    for name in places:
        (tmp_path / name).write_bytes((source / name).read_bytes())
    store = Store(Photos.below(tmp_path), tmp_path / "labels.json")
    changes, number = [], 0
    for name, boxes in places.items():
        for box in boxes:
            number += 1
            changes.append(PutBox(name, number, box, "half"))
        changes.append(MarkDone(name, True))
    store.apply(changes)
    return store


def trained(store, task):
    """Train, and return the last state and which models were taken into use."""
    used = []
    retrainer = Retrainer(store, lambda: None, used.append)
    retrainer.start(task)
    eventually(lambda: not retrainer.is_busy, 300)
    return retrainer.state, used


def test_a_model_that_is_not_better_is_not_kept(labelled, monkeypatch, face_model):
    def train(self, command, folder):
        (folder / "model").mkdir()
        shutil.copy(face_model, folder / "model" / "cascade.xml")

    monkeypatch.setattr(Retrainer, "_train", train)
    state, used = trained(labelled, Task(Start.FRESH, "half", face_model))
    assert state["phase"] == "done", state
    assert not state["is_better"]
    assert used == []
    assert not (labelled.path.parent / BEST_NAME).exists()
    assert state["names"] == [CURRENT, NEW]


def test_a_model_is_continued_with_its_own_features(labelled, monkeypatch, face_model):
    commands = []
    monkeypatch.setattr(Retrainer, "_train", lambda _, command, __: commands.append(command))
    trained(labelled, Task(Start.CONTINUE, "half", face_model, (labelled.path.parent,)))
    words = shlex.join(commands[0])
    assert f"--continue {face_model} --features haar" in words
    assert f"--stages {Cascade.load(face_model).n_stages + STAGES_MORE}" in words
    assert f"--more-negatives {labelled.path.parent}" in words


def test_it_can_be_stopped(labelled):
    states = []
    retrainer = Retrainer(labelled, lambda: states.append(retrainer.state), print)
    retrainer.start(Task(Start.FRESH, "half"))
    with pytest.raises(SettingsError, match="is being trained"):
        retrainer.start(Task(Start.FRESH, "half"))
    threading.Timer(0.5, retrainer.stop).start()
    eventually(lambda: not retrainer.is_busy)
    assert retrainer.state["phase"] in {"stopped", "done"}
    assert not (labelled.path.parent / BEST_NAME).exists() or retrainer.state["phase"] == "done"


def test_what_cannot_be_trained_on_is_said(photos):
    store = Store(Photos.below(photos), photos / "labels.json")
    retrainer = Retrainer(store, lambda: None, print)
    with pytest.raises(SettingsError, match="no half to train on"):
        retrainer.start(Task(Start.FRESH, "half"))
    store.apply([PutBox("a.png", 1, (3, 3, 20, 20), "half")])
    store.apply([MarkDone("a.png", True)])
    name = store.pictures()[0].name
    with pytest.raises(SettingsError, match=r"validation photos|to train on"):
        retrainer.start(Task(Start.FRESH, "half"))
    assert name == "a.png"


def test_a_run_that_fails_says_why(labelled):
    folder = labelled.path.parent
    labelled.apply([MarkDone(f"{number:02}.png", False) for number in range(2, N_PHOTOS)])
    labelled.apply([UsePhoto("00.png", "train"), UsePhoto("01.png", "validate")])
    state, used = trained(labelled, Task(Start.FRESH, "half"))
    assert state["phase"] == "failed"
    assert "training failed:" in state["problem"]
    assert "Traceback" not in state["problem"]
    assert used == []
    assert not (folder / BEST_NAME).exists()


def test_false_alarms_are_cut_out_with_what_is_around_them_but_no_objects(labelled, tmp_path):
    picture = labelled.pictures(use="train")[0]
    clear = (40.0, 80.0, 12.0, 12.0)
    beside = (picture.boxes[0][0] + SIDE + 1, picture.boxes[0][1], 12.0, 12.0)
    labelled.apply([RejectPlace(picture.name, clear), RejectPlace(picture.name, beside)])
    folder = tmp_path / "cut"
    assert write_false_alarms(folder, labelled.pictures(use="train"), labelled) == 2
    sizes = [read_image(path).shape for path in sorted(folder.iterdir())]
    assert sizes[1] == (12, 12)
    assert sizes[0] in {(18, 18), (12, 12)}


def test_a_retraining_run_in_the_browser(serve_folder, labelled, face_model, open_page):
    folder = labelled.path.parent
    served = serve_folder(folder, tab="train", model=face_model)
    page = open_page(served.address)
    assert page.get_by_label("add stages to the current model").is_enabled()
    page.locator("#train button.main").click()
    page.get_by_text("The new model is better").wait_for(timeout=300_000)
    assert page.locator("#train .chart path.curve, #train .chart polyline.curve").count() == 2
    state = served.get("train")
    best, run = folder / BEST_NAME, folder / RUNS_NAME / "001"
    assert page.locator("#train tbody tr").count() == len(state["stages"]) == Cascade.load(best).n_stages
    assert best.read_bytes() == (run / "model" / "cascade.xml").read_bytes()
    assert shlex.split(state["command"])[:2] == ["vjcascade", "train"]
    train, validate = (read_scenes(run / f"{name}.json") for name in ("train", "validate"))
    assert not {scene.path for scene in train.scenes} & {scene.path for scene in validate.scenes}
    assert len(train) + len(validate) == N_PHOTOS
    page.locator("nav [data-tab=review]").click()
    page.get_by_role("button", name="Search for errors").click()
    page.get_by_role("button", name="Search again").wait_for()
    assert served.get("state")["model"].endswith(BEST_NAME)
    assert page.problems == []


def test_training_ends_with_its_server_however_that_ends(labelled):
    pytest.importorskip("starlette", reason="the extra label is not installed")
    folder = labelled.path.parent
    run = folder / RUNS_NAME / "001"
    with label_server(folder) as (process, address):
        Served(folder, address).post("train/start", {"start": "fresh", "label": "half"})
        eventually((run / EVENTS_NAME).is_file)
        process.kill()
        process.wait(60)
    eventually(lambda: is_free(run / "model"))
    assert not (run / "model" / "cascade.xml").exists()


def is_free(folder):
    with suppress(SettingsError, FileNotFoundError), only_run_in(folder):  # or it goes while it is looked at
        return True
    return False
