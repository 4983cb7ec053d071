"""Video files read and written, cameras, the live window."""

import os
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from vjcascade.errors import DeviceError, ImageError, SettingsError
from vjcascade.types import Size
from vjcascade.video import LiveWindow, VideoSink, camera_frames, frames, is_video, read_frames, window

SIZE = Size(64, 48)
RED = np.full((48, 64, 3), (200, 30, 60), np.uint8)
BLANK = np.zeros((48, 64, 3), np.uint8)


def write(path, images, fps=10.0):
    with VideoSink(path, fps, SIZE) as sink:
        for image in images:
            sink.write(image)


@pytest.mark.parametrize("suffix", [".mp4", ".avi", ".AVI"])
def test_written_video_reads_back(tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    write(path, [RED, BLANK, RED, BLANK, RED])
    seen = list(read_frames(path))
    assert [frame.index for frame in seen] == [0, 1, 2, 3, 4]
    assert {frame.n_frames for frame in seen} == {5}
    np.testing.assert_allclose([frame.seconds for frame in seen], [0, 0.1, 0.2, 0.3, 0.4], atol=1e-6)
    for frame, image in zip(seen, [RED, BLANK, RED, BLANK, RED], strict=True):
        assert frame.image.dtype == np.uint8
        assert frame.image.shape == (48, 64, 3)
        assert np.abs(frame.image.astype(int) - image).mean() < 8  # and red is not blue
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["-dash.mp4", "two blanks .mp4", "ünï.mp4", "%d.mp4"])
def test_any_file_name(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    write(name, [RED])
    assert len(list(read_frames(name))) == 1


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.mp4", True),
        ("a.AVI", True),
        (Path("b/c.mkv"), True),
        ("a.jpg", False),
        ("mp4", False),
        ("a.gif", False),
    ],
)
def test_is_video(path, expected):
    assert is_video(path) is expected


@pytest.mark.parametrize("data", [b"", b"this is text" * 100])
def test_fake_video_is_refused(tmp_path, data):
    path = tmp_path / "fake.mp4"
    path.write_bytes(data)
    with pytest.raises(ImageError, match=r"fake\.mp4: no frame can be decoded"):
        read_frames(path)


def test_cut_video_is_refused(tmp_path):
    path = tmp_path / "cut.mp4"
    write(path, [RED] * 5)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ImageError, match=r"cut\.mp4"):
        read_frames(path)


@pytest.mark.parametrize(("name", "words"), [("missing.mp4", "no such file"), (".", "this is a folder")])
def test_missing_video_is_refused(tmp_path, name, words):
    with pytest.raises(ImageError, match=words):
        read_frames(tmp_path / name)


def test_a_failed_block_leaves_the_old_video_and_no_other_file(tmp_path):
    path = tmp_path / "out.mp4"
    write(path, [RED])
    before = path.read_bytes()
    with pytest.raises(ZeroDivisionError), VideoSink(path, 10, SIZE) as sink:
        sink.write(1 / 0)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (np.zeros((64, 48, 3), np.uint8), r"\(64, 48, 3\)"),
        (np.zeros((48, 64), np.uint8), r"\(48, 64\)"),
        (np.zeros((48, 64, 3)), "float64"),
    ],
)
def test_frames_that_do_not_fit_are_refused(tmp_path, frame, words):
    with pytest.raises(ImageError, match=words), VideoSink(tmp_path / "out.avi", 10, SIZE) as sink:
        sink.write(frame)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "fps", "error", "words"),
    [
        ("out.mkv", 10, ImageError, r"\.avi or \.mp4"),
        ("out", 10, ImageError, r"\.avi or \.mp4"),
        ("out.mp4", 0, SettingsError, "0 frames per second"),
        ("out.mp4", float("nan"), SettingsError, "nan frames per second"),
        ("missing/out.mp4", 10, DeviceError, "folder exists"),
        ("missing/out.avi", 10, DeviceError, "folder exists"),
    ],
)
def test_sinks_that_cannot_open(tmp_path, name, fps, error, words):
    with pytest.raises(error, match=words), VideoSink(tmp_path / name, fps, SIZE):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("every", "indices"), [(2, [0, 2, 4]), (3, [0, 3]), (9, [0]), (10**15, [0])])
def test_every_so_many_frames(tmp_path, every, indices):
    path = tmp_path / "out.mp4"
    write(path, [RED] * 5)
    seen = list(read_frames(path, every=every))
    assert [frame.index for frame in seen] == indices
    np.testing.assert_allclose([frame.seconds for frame in seen], np.array(indices) / 10, atol=1e-6)


def test_every_must_be_positive(tmp_path):
    with pytest.raises(SettingsError, match="every 0"):
        read_frames(tmp_path / "any.mp4", every=0)


def test_a_slow_reader_of_a_file_misses_nothing(tmp_path):
    path = tmp_path / "out.mp4"
    write(path, [RED] * 20)
    seen = []
    for frame in read_frames(path):
        time.sleep(0.005)
        seen.append(frame.index)
    assert seen == list(range(20))


def turned(data, matrix):
    """Return an MP4 file whose track header says that the camera was turned: the matrix a, b, u, c, d, v, x, y, w."""
    start = data.index(b"tkhd") + 4
    assert data[start] == 0  # version: 32-bit times
    place = start + 40
    assert struct.unpack_from(">9i", data, place) == (65536, 0, 0, 0, 65536, 0, 0, 0, 2**30)
    return data[:place] + struct.pack(">9i", *matrix) + data[place + 36 :]


@pytest.mark.parametrize(
    ("matrix", "turns"),
    [
        ((0, 65536, 0, -65536, 0, 0, 48 << 16, 0, 2**30), 1),
        ((-65536, 0, 0, 0, -65536, 0, 64 << 16, 48 << 16, 2**30), 2),
        ((0, -65536, 0, 65536, 0, 0, 0, 64 << 16, 2**30), 3),
    ],
)
def test_videos_of_turned_phones_are_upright(tmp_path, matrix, turns):
    picture = np.zeros((48, 64, 3), np.uint8)
    picture[:24, :32] = 255  # top left
    path = tmp_path / "phone.mp4"
    write(path, [picture] * 3)
    path.write_bytes(turned(path.read_bytes(), matrix))
    for frame in read_frames(path):
        expected = np.rot90(picture, -turns)  # clockwise
        assert frame.image.shape == expected.shape
        assert np.abs(frame.image.astype(int) - expected).mean() < 16


# ---- devices that are not there ----


def run(program):
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1])


def test_absent_camera_is_one_sentence_without_opencvs_chatter():
    result = run(
        "from vjcascade.errors import DeviceError\n"
        "from vjcascade.video import camera_frames\n"
        "try: camera_frames(97)\n"
        "except DeviceError as error: print(error)\n"
    )
    assert result.stdout.startswith("camera 97 is missing")
    assert result.stderr == ""


def test_broken_video_is_refused_without_ffmpegs_chatter(tmp_path):
    path = tmp_path / "fake.mp4"
    path.write_bytes(b"this is text" * 100)
    result = run(
        "from vjcascade.errors import ImageError\n"
        "from vjcascade.video import read_frames\n"
        f"try: read_frames({str(path)!r})\n"
        "except ImageError as error: print('refused')\n"
    )
    assert (result.stdout, result.stderr) == ("refused\n", "")


class FakeCamera:
    """Delivers pictures, None where it fails; then fails for good, like an unplugged camera."""

    def __init__(self, pictures, seconds=0.0):
        self.pictures = list(pictures)
        self.seconds = seconds
        self.is_released = False

    def isOpened(self):  # noqa: N802
        return True

    def read(self):
        time.sleep(self.seconds)
        picture = self.pictures.pop(0) if self.pictures else None
        return (False, None) if picture is None else (True, picture[:, :, ::-1].copy())

    def release(self):
        self.is_released = True


def fake_opencv(**parts):
    usual = {"cvtColor": cv2.cvtColor, "COLOR_RGB2BGR": cv2.COLOR_RGB2BGR, "error": cv2.error}
    return lambda: SimpleNamespace(**usual | parts)


@pytest.fixture
def plug_in(monkeypatch):
    def plug(camera):
        monkeypatch.setattr(frames, "opencv", fake_opencv(VideoCapture=lambda _: camera))
        monkeypatch.setattr(frames, "SECONDS_AFTER_BAD_FRAME", 0.0)
        return camera_frames(0)

    return plug


def test_camera_delivers_until_it_is_unplugged(plug_in):
    camera = FakeCamera([RED] * 5, seconds=0.02)
    seen = plug_in(camera)
    first, second = next(seen), next(seen)
    np.testing.assert_array_equal(first.image, RED)
    assert first.index < second.index
    assert 0 <= first.seconds < second.seconds
    with pytest.raises(DeviceError, match="camera 0 stopped after 5 frames"):
        list(seen)
    assert camera.is_released


def test_a_slow_reader_gets_the_newest_frame_and_can_tell_what_it_missed(plug_in):
    seen = plug_in(FakeCamera([RED] * 50 + [BLANK] * 50))
    first = next(seen)
    time.sleep(0.1)  # by now the camera has delivered everything
    newest = next(seen)
    assert first.index < 99 == newest.index
    np.testing.assert_array_equal(newest.image, BLANK)


@pytest.mark.parametrize("bad", [None, np.zeros((0, 0, 3), np.uint8)])
def test_a_few_bad_frames_do_not_end_a_camera(plug_in, bad):
    seen = plug_in(FakeCamera([bad, bad, RED, *[bad] * (frames.MAX_BAD_FRAMES - 1), RED], seconds=0.005))
    assert next(seen).index == 0
    assert next(seen).index == 1
    with pytest.raises(DeviceError, match="after 2 frames"):
        next(seen)


def test_closing_lets_the_camera_go(plug_in):
    camera = FakeCamera([RED] * 1000, seconds=0.005)
    seen = plug_in(camera)
    next(seen)
    seen.close()
    assert camera.is_released
    assert not [thread for thread in threading.enumerate() if thread.name == "vjcascade reader"]


def window_opencv(shown, *, key=255, visible=1.0, gui="QT5"):
    def destroy(title):
        raise cv2.error("no such window")

    return fake_opencv(
        getBuildInformation=lambda: f"  GUI:                           {gui}\n",
        imshow=lambda title, image: shown.append((title, image)),
        waitKey=lambda _: key,
        getWindowProperty=lambda *_: visible,
        WND_PROP_VISIBLE=4,
        putText=lambda *words: shown.append(words[1]),
        FONT_HERSHEY_SIMPLEX=0,
        destroyWindow=destroy,
    )


@pytest.mark.parametrize(
    ("key", "visible", "goes_on"),
    [
        (255, 1.0, True),
        (-1, 1.0, True),
        (ord("a"), 1.0, True),
        (ord("q"), 1.0, False),
        (27, 1.0, False),
        (255, 0.0, False),
    ],
)
def test_window_shows_until_the_user_quits(monkeypatch, key, visible, goes_on):
    shown = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(window, "opencv", window_opencv(shown, key=key, visible=visible))
    with LiveWindow("live") as live:
        assert live.show(RED, "25.0 frames/s") is goes_on
    *captions, (title, image) = shown
    assert set(captions) == {"25.0 frames/s"}
    assert title == "live"
    np.testing.assert_array_equal(image, RED[:, :, ::-1])


@pytest.mark.parametrize(
    ("display", "gui", "words"), [("", "QT5", "no screen"), (":0", "NONE", "opencv-python-headless")]
)
def test_window_is_refused_where_it_would_end_the_process(monkeypatch, display, gui, words):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    monkeypatch.setattr(window, "opencv", window_opencv([], gui=gui))
    with pytest.raises(DeviceError, match=words):
        LiveWindow("live")


@pytest.mark.parametrize("size", [Size(1, 1), Size(500, 1), Size(1, 2)])
def test_frames_too_small_for_the_encoder_are_refused(tmp_path, size):
    with pytest.raises(ImageError, match=rf"out\.mp4: frames of {size} pixels are too small"):
        VideoSink(tmp_path / "out.mp4", 10, size)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_no_video_and_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.mp4")
    with pytest.raises(ImageError, match="a folder, a pipe or a device"):
        read_frames(tmp_path / "pipe.mp4")


@pytest.mark.parametrize("index", [-1, 100, 10**11])
def test_numbers_that_no_camera_has_are_named(index):
    with pytest.raises(DeviceError, match=f"camera {index}: cameras are numbered"):
        camera_frames(index)
