"""Video files read and written, cameras, the live window."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from vjcascade import video
from vjcascade.errors import DeviceError, ImageError, SettingsError
from vjcascade.types import Size
from vjcascade.video import LiveWindow, VideoSink, camera_frames, is_video, read_frames

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
    frames = list(read_frames(path))
    assert [frame.index for frame in frames] == [0, 1, 2, 3, 4]
    np.testing.assert_allclose([frame.seconds for frame in frames], [0, 0.1, 0.2, 0.3, 0.4], atol=1e-6)
    for frame, image in zip(frames, [RED, BLANK, RED, BLANK, RED], strict=True):
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


@pytest.mark.parametrize("name", ["missing.mp4", "."])
def test_missing_video_is_refused(tmp_path, name):
    with pytest.raises(ImageError, match="no such file"):
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
    assert result.stdout.startswith("camera 97 is not there")
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
    """Delivers two frames, then fails like an unplugged camera."""

    left = 2

    def read(self):
        self.left -= 1
        return (True, RED[:, :, ::-1].copy()) if self.left >= 0 else (False, None)

    def release(self):
        self.left = None


def fake_opencv(**parts):
    usual = {"cvtColor": cv2.cvtColor, "COLOR_RGB2BGR": cv2.COLOR_RGB2BGR, "error": cv2.error}
    return lambda: SimpleNamespace(**usual | parts)


def test_camera_delivers_until_it_is_unplugged(monkeypatch):
    monkeypatch.setattr(video, "opencv", fake_opencv(VideoCapture=lambda _: FakeCamera()))
    frames = camera_frames(0)
    first, second = next(frames), next(frames)
    np.testing.assert_array_equal(first.image, RED)
    assert (first.index, second.index) == (0, 1)
    assert 0 <= first.seconds <= second.seconds
    with pytest.raises(DeviceError, match="camera 0 stopped after 2 frames"):
        next(frames)


def window_opencv(shown, *, key=255, visible=1.0, gui="QT5"):
    def destroy(title):
        raise cv2.error("no such window")

    return fake_opencv(
        getBuildInformation=lambda: f"  GUI:                           {gui}\n",
        imshow=lambda title, image: shown.append((title, image)),
        waitKey=lambda _: key,
        getWindowProperty=lambda *_: visible,
        WND_PROP_VISIBLE=4,
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
    monkeypatch.setattr(video, "opencv", window_opencv(shown, key=key, visible=visible))
    with LiveWindow("live") as window:
        assert window.show(RED) is goes_on
    ((title, image),) = shown
    assert title == "live"
    np.testing.assert_array_equal(image, RED[:, :, ::-1])


@pytest.mark.parametrize(
    ("display", "gui", "words"), [("", "QT5", "no screen"), (":0", "NONE", "opencv-python-headless")]
)
def test_window_is_refused_where_it_would_end_the_process(monkeypatch, display, gui, words):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    monkeypatch.setattr(video, "opencv", window_opencv([], gui=gui))
    with pytest.raises(DeviceError, match=words):
        LiveWindow("live")
