"""Detection in frames, and frames that are kept."""

from __future__ import annotations

import urllib.parse

import numpy as np
import pytest
from label_server import FACE, eventually

from vjcascade import Detector
from vjcascade.cascade import Cascade
from vjcascade.errors import ImageError, SettingsError
from vjcascade.evaluation.matching import overlaps
from vjcascade.imaging import opencv, read_gray, read_image
from vjcascade.labelling.live import KEPT_DETECTORS, LiveDetector, LiveSettings, keep_frame
from vjcascade.labelling.models import load_candidate


@pytest.fixture(scope="module")
def live(face_model):
    return LiveDetector(load_candidate(face_model, "faces"))


def test_a_frame_is_searched_as_every_picture_is(live, face_model, drawn_faces):
    gray = read_gray(drawn_faces / "astronaut.png")
    height, width = gray.shape
    found = live.detect(
        gray.tobytes(), LiveSettings(width=width, height=height, min_neighbors=2, min_score=1.5, min_size=20)
    )
    detector = Detector(Cascade.load(face_model), min_neighbors=2, min_ranking_score=1.5, min_size=(20, 20))
    assert found.boxes == detector.detect(gray).boxes.tolist()
    assert found.boxes
    assert found.milliseconds > 0


def test_few_detectors_are_kept(live):
    for bound in range(3 * KEPT_DETECTORS):
        live.detect(bytes(64), LiveSettings(width=8, height=8, min_size=bound))
    assert len(live._detectors) == KEPT_DETECTORS


def test_a_frame_of_another_size_is_refused(live):
    with pytest.raises(SettingsError, match="8x8"):
        live.detect(bytes(63), LiveSettings(width=8, height=8))


def test_frames_are_kept_under_names_of_their_own(tmp_path, drawn_faces):
    data = (drawn_faces / "astronaut.png").read_bytes()
    paths = [keep_frame(tmp_path, data, "miss") for _ in range(3)]
    assert len(set(paths)) == 3
    assert paths[0].read_bytes() == data
    for wrong in (b"", b"GIF89a", b"\x89PNG, not really"):
        with pytest.raises(ImageError):
            keep_frame(tmp_path, wrong, "miss")
    assert len(list(tmp_path.iterdir())) == 3


def test_wrong_wishes_are_refused(serve_folder, photos, faces, face_model):
    served = serve_folder(photos)
    frame = urllib.parse.urlencode({"width": 8, "height": 8})
    status, answer = served.ask(f"live/detect?{frame}", bytes(64))
    assert status == 400
    assert b"no model" in answer
    with_model = serve_folder(faces, model=face_model)
    for query in (
        "",
        "width=0&height=8",
        "width=99999&height=8",
        "width=8&height=8&min_neighbors=-1",
        "width=8&height=8&x=1",
    ):
        assert with_model.ask(f"live/detect?{query}", bytes(64))[0] == 400, query
    assert with_model.ask("live/keep?kind=other", (faces / "astronaut.png").read_bytes())[0] == 400
    assert with_model.ask("live/keep?kind=miss", b"no picture")[0] == 400
    assert len(list(faces.glob("live-*"))) == 0


def test_a_kept_frame_is_a_photo_of_the_next_round(serve_folder, faces, face_model):
    served = serve_folder(faces, model=face_model)
    query = urllib.parse.urlencode({"kind": "false-alarm", "boxes": "[[10, 20, 30, 30]]"})
    status, answer = served.ask(f"live/keep?{query}", (faces / "astronaut.png").read_bytes())
    assert status == 200, answer
    name, done, _, why = served.get("queue?order=uncertain")[0]
    assert name.startswith("live-")
    assert not done
    assert why == "live frame: a false alarm"
    assert served.get(f"photos?name={name}")[0]["false_alarms"] == [[10, 20, 30, 30]]
    eventually(lambda: served.get(f"photos?name={name}")[0]["proposals"] is not None)


def test_a_video_in_the_browser(serve_folder, tmp_path, face_model, drawn_faces, open_page):
    photo = read_image(drawn_faces / "astronaut.png")
    video = tmp_path / "astronaut.webm"
    cv2 = opencv()
    sink = cv2.VideoWriter(str(video), cv2.VideoWriter_fourcc(*"VP80"), 10, (256, 256))
    if not sink.isOpened():
        pytest.skip("this OpenCV writes no WebM")
    for _ in range(20):
        sink.write(np.ascontiguousarray(photo[:, :, ::-1]))
    sink.release()
    folder = tmp_path / "kept"
    folder.mkdir()
    served = serve_folder(folder, model=face_model, tab="live")
    page = open_page(served.address)
    page.locator("#live input[type=file]").set_input_files(video)
    words = page.locator("#live p").first
    eventually(
        lambda: "frames per second" in words.inner_text() and not words.inner_text().startswith("0 found")
    )
    page.keyboard.press("m")
    kept = eventually(lambda: list(folder.glob("live-*-miss.png")))
    assert read_image(kept[0]).shape == (256, 256, 3)
    page.get_by_role("slider", name="minimum score").fill("200")
    eventually(lambda: words.inner_text().startswith("0 found"))
    page.get_by_role("slider", name="minimum score").fill("0")
    eventually(lambda: words.inner_text()[0] not in "0s")
    page.keyboard.press("f")
    kept = eventually(lambda: list(folder.glob("live-*-false-alarm.png")))
    eventually(lambda: kept[0].name in {row[0] for row in served.get("queue")})
    marked = eventually(lambda: served.get(f"photos?name={kept[0].name}")[0]["false_alarms"])
    assert overlaps(np.array(marked), np.array([FACE])).max() > 0.4
    page.locator("nav [data-tab=label]").click()
    page.locator(".tile b", has_text="live-").first.wait_for()
    assert page.problems == []


def test_the_webcam(serve_folder, tmp_path, face_model, open_page):
    folder = tmp_path / "kept"
    folder.mkdir()
    page = open_page(serve_folder(folder, model=face_model, tab="live").address)
    page.get_by_role("button", name="Webcam").click()
    words = page.locator("#live p").first
    eventually(lambda: "frames per second" in words.inner_text())
    page.get_by_role("button", name="Stop").click()
    assert page.get_by_role("button", name="False alarm (F)").is_disabled()
    assert page.problems == []
