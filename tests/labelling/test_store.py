"""The file of boxes: what is in it, what is refused, and that nothing is lost or half-written."""

from __future__ import annotations

import json
import threading
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from vjcascade.errors import SettingsError
from vjcascade.formats.annotations.reading import read_annotations
from vjcascade.imaging import write_image
from vjcascade.labelling.changes import (
    DeleteBox,
    MarkDone,
    PutBox,
    RejectPlace,
    UsePhoto,
    decoded_changes,
)
from vjcascade.labelling.labels_file import is_ours
from vjcascade.labelling.photos import Photos
from vjcascade.labelling.store import Store, usual_use


def opened(folder):
    return Store(Photos.below(folder), folder / "labels.json")


def test_every_change_is_in_the_file_when_it_is_answered(photos):
    store = opened(photos)
    assert store.apply([PutBox("a.png", 5, (1, 2, 10, 12), "face"), MarkDone("a.png", True)]) == ["a.png"]
    again = opened(photos).labels("a.png")
    assert again.boxes[5].box == (1, 2, 10, 12)
    assert again.done
    store.apply(
        [PutBox("a.png", 5, (3, 2, 10, 12), "sign", "ignore"), PutBox("b.png", 6, (0, 0, 5, 5), "face")]
    )
    store.apply([DeleteBox("b.png", 6), RejectPlace("b.png", (4, 4, 9, 9)), UsePhoto("b.png", "validate")])
    again = opened(photos)
    assert again.labels("a.png").boxes[5].flag == "ignore"
    assert again.labels("b.png").boxes == {}
    assert again.labels("b.png").false_alarms == [(4, 4, 9, 9)]
    assert again.labels("b.png").use == "validate"
    again.apply([RejectPlace("b.png", (4, 4, 9, 9), rejected=False)])
    assert opened(photos).labels("b.png").false_alarms == []


def test_the_file_is_coco_for_everybody(photos):
    opened(photos).apply(
        [
            PutBox("a.png", 5, (1, 2, 10.5, 12), "face"),
            PutBox("a.png", 6, (1, 2, 10, 12), "face", "ignore"),
            PutBox("c.jpg", 7, (0, 0, 9, 9), "sign", "crowd", 3.5),
        ]
    )
    read = read_annotations(photos / "labels.json")
    assert read.format == "COCO JSON"
    assert not read.faults
    first, second = read.pictures
    assert first.boxes == ((1, 2, 10.5, 12),)
    assert [one.flag for one in (*first.objects, *second.objects)] == ["", "ignore", "crowd"]
    assert second.objects[0].score == 3.5
    assert first.size == (60, 40)
    coco = json.loads((photos / "labels.json").read_text())
    assert {one["id"] for one in coco["annotations"]} == {5, 6, 7}


def test_a_message_that_comes_twice_changes_nothing_more(photos):
    store = opened(photos)
    changes = [
        PutBox("a.png", 5, (1, 2, 10, 12), "face"),
        RejectPlace("a.png", (30, 3, 9, 9)),
        MarkDone("a.png", True),
    ]
    assert store.apply(changes) == ["a.png"]
    before = (photos / "labels.json").read_bytes()
    assert store.apply(changes) == []
    assert (photos / "labels.json").read_bytes() == before


def test_boxes_are_cut_to_the_photo_and_rounded(photos):
    store = opened(photos)
    store.apply([PutBox("a.png", 1, (-5, 30.04, 20, 50), "face")])
    assert store.labels("a.png").boxes[1].box == (0, 30, 15, 10)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (PutBox("nowhere.png", 1, (0, 0, 9, 9), "face"), "not one of the photos"),
        (PutBox("../a.png", 1, (0, 0, 9, 9), "face"), "not one of the photos"),
        (PutBox("a.png", 1, (60, 0, 9, 9), "face"), "outside of the photo"),
        (PutBox("a.png", 1, (5, 5, 0.5, 9), "face"), "is empty"),
        (RejectPlace("a.png", (-9, -9, 3, 3)), "outside of the photo"),
    ],
)
def test_a_wrong_change_is_refused_with_all_beside_it(photos, change, words):
    store = opened(photos)
    with pytest.raises(SettingsError, match=words):
        store.apply([PutBox("b.png", 2, (0, 0, 9, 9), "face"), change])
    assert store.labels("b.png").boxes == {}
    assert not (photos / "labels.json").exists()


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"{}",
        b"[1]",
        b'[{"do": "put", "photo": "a.png", "id": 0, "box": [0, 0, 1, 1], "label": "a"}]',
        b'[{"do": "put", "photo": "a.png", "id": 1, "box": [0, 0, 1], "label": "a"}]',
        b'[{"do": "put", "photo": "a.png", "id": 1, "box": [0, 0, 1, 1e400], "label": "a"}]',
        b'[{"do": "put", "photo": "a.png", "id": 1, "box": [0, 0, 1, 1], "label": ""}]',
        b'[{"do": "put", "photo": "a.png", "id": 1, "box": [0, 0, 1, 1], "label": "a\\u0000"}]',
        b'[{"do": "put", "photo": "a.png", "id": 1, "box": [0, 0, 1, 1], "label": "a", "path": "/etc"}]',
        b'[{"do": "destroy", "photo": "a.png"}]',
        b"[" * 100_000,
    ],
)
def test_messages_of_another_form_are_refused(message):
    with pytest.raises(SettingsError, match="changes are invalid"):
        decoded_changes(message)


def test_files_of_others_and_damaged_ones_are_not_written_over(photos):
    path = photos / "labels.json"
    for content in (
        '{"images": [], "annotations": [], "categories": []}',
        "{",
        '{"info": {"description": "x"}}',
    ):
        path.write_text(content)
        with pytest.raises(SettingsError, match="--boxes"):
            opened(photos)
        assert path.read_text() == content
        assert not is_ours(path)


def test_photos_that_are_gone_keep_their_boxes(photos):
    opened(photos).apply([PutBox("b.png", 9, (1, 1, 9, 9), "face"), MarkDone("b.png", True)])
    (photos / "b.png").rename(photos / "b.moved")
    store = opened(photos)
    assert [picture.name for picture in store.pictures()] == []
    store.apply([PutBox("a.png", 4, (1, 1, 9, 9), "face")])
    (photos / "b.moved").rename(photos / "b.png")
    assert opened(photos).labels("b.png").boxes[9].box == (1, 1, 9, 9)


def test_boxes_of_others_are_taken_over_once(photos):
    (photos / "boxes.csv").write_text("file,x,y,w,h,class\na.png,1,2,10,10,face\nb.png,,,,,\n")
    store = opened(photos)
    store.apply([PutBox("b.png", 1, (0, 0, 9, 9), "face")])
    read = read_annotations(photos / "boxes.csv")
    assert store.import_boxes(read) == 1
    assert store.import_boxes(read) == 0
    labels = opened(photos).labels("a.png")
    assert labels.done
    assert [box.label for box in labels.boxes.values()] == ["face"]
    assert len({*labels.boxes, *store.labels("b.png").boxes}) == 2


def test_changes_of_many_threads_are_all_there(photos):
    store = opened(photos)

    def draw(first):
        for number in range(first, first + 10):
            store.apply([PutBox("a.png", number, (number % 50, 3, 5, 5), "face")])
            on_disk = json.loads((photos / "labels.json").read_text())
            assert number in {one["id"] for one in on_disk["annotations"]}

    threads = [threading.Thread(target=draw, args=(first,)) for first in (1, 101, 201)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened(photos).labels("a.png").boxes) == 30


def test_what_could_not_be_written_is_written_with_the_next_change(photos):
    store = opened(photos)
    store.apply([PutBox("a.png", 1, (0, 0, 9, 9), "face")])
    before = (photos / "labels.json").read_bytes()
    real = store.path
    store.path = photos / "missing" / "labels.json"
    with pytest.raises(OSError, match=r"labels\.json"):
        store.apply([PutBox("a.png", 2, (0, 0, 9, 9), "face")])
    store.path = real
    assert (photos / "labels.json").read_bytes() == before
    store.apply([PutBox("a.png", 2, (0, 0, 9, 9), "face")])  # the page tries again
    assert set(opened(photos).labels("a.png").boxes) == {1, 2}


NAMES = st.sampled_from(["a.png", "b.png", "c.jpg"])
PLACES = st.tuples(st.integers(-5, 55), st.integers(-5, 35), st.integers(6, 80), st.integers(6, 80))
CHANGES = st.one_of(
    st.builds(
        PutBox,
        NAMES,
        st.integers(1, 6),
        PLACES,
        st.sampled_from(["x", "y"]),
        st.sampled_from(["", "ignore", "crowd"]),
    ),
    st.builds(DeleteBox, NAMES, st.integers(1, 6)),
    st.builds(RejectPlace, NAMES, PLACES, st.booleans()),
    st.builds(MarkDone, NAMES, st.booleans()),
    st.builds(UsePhoto, NAMES, st.sampled_from(["train", "validate"])),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(CHANGES, max_size=12))
def test_whatever_was_changed_is_read_again(photos, changes):
    (photos / "labels.json").unlink(missing_ok=True)
    store = opened(photos)
    for change in changes:
        with suppress(SettingsError):  # a place outside of the photo
            store.apply([change])
    again = opened(photos)
    for name in ("a.png", "b.png", "c.jpg"):
        one, other = store.labels(name), again.labels(name)
        assert (one.boxes, one.false_alarms, one.done, one.use) == (
            other.boxes,
            other.false_alarms,
            other.done,
            other.use,
        )


def test_a_quarter_of_the_photos_is_kept_from_training():
    uses = [usual_use(f"photo-{number}.jpg") for number in range(2000)]
    assert 0.22 < np.mean([use == "validate" for use in uses]) < 0.28


def test_names_that_are_no_text_are_left_out(photos):
    try:
        write_image(photos / "d\udcff.png", np.zeros((9, 9), np.uint8))
    except OSError:
        pytest.skip("this file system has no such names")
    found = Photos.below(photos)
    assert len(found) == 3
    assert "not valid UTF-8" in found.notes[0]
