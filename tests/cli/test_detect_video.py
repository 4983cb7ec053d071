"""``vjcascade detect`` on videos and cameras: rates, skipped frames, progress, and every way to stop."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import builders
import numpy as np
import pytest

from vjcascade import Size, imaging
from vjcascade.cli import inputs
from vjcascade.cli.drawing import FRAMES_TO_TIME, VideoDrawing
from vjcascade.cli.process import Terminated
from vjcascade.video import Frame, VideoSink, read_frames

PROJECT = Path(__file__).parents[2]
RAW = ("--min-neighbors", "0", "--scale-factor", "10")
STOPPED = "stopped; results so far are kept"


def write_video(path, n_frames, size=(64, 48)):
    rng = np.random.default_rng(1)
    picture = np.dstack([builders.smooth_noise(rng, size[1], size[0])] * 3)
    with VideoSink(path, 10, Size(*size)) as sink:
        for _ in range(n_frames):
            sink.write(picture)
    return path


@pytest.fixture
def clip(tmp_path):
    return write_video(tmp_path / "clip.avi", 12)


def records(text):
    return [json.loads(line) for line in text.splitlines()]


def test_the_rate_is_told(run, accept_all, clip):
    ran = run("detect", accept_all, clip, *RAW)
    assert ran.code == 0
    summary = ran.err.splitlines()[-1]
    assert summary.startswith("searched: 12; detections: ")
    assert summary.endswith(" frames/s")


def test_frames_of_files_are_skipped_only_if_asked(run, accept_all, clip, tmp_path):
    ran = run(
        "detect", accept_all, clip, *RAW, "--every", "5", "--format", "jsonl", "--draw", tmp_path / "drawn"
    )
    assert [(r["frame"], r["seconds"]) for r in records(ran.out)] == [(0, 0.0), (5, 0.5), (10, 1.0)]
    assert "skipped" not in ran.err
    drawn = list(read_frames(tmp_path / "drawn" / "clip.found.mp4"))
    assert [frame.seconds for frame in drawn] == pytest.approx([0, 0.5, 1])


def test_sound_is_said_to_be_left_out_of_drawn_videos_only(run, accept_all, clip, tmp_path):
    assert "sound" not in run("detect", accept_all, clip, *RAW).err
    ran = run("detect", accept_all, clip, *RAW, "--draw", tmp_path / "drawn")
    assert ran.err.splitlines()[0] == "drawn copies of videos are without sound"


def test_progress_inside_a_video(run, accept_all, clip, monkeypatch, tmp_path):
    monkeypatch.setattr("vjcascade.cli.console.SECONDS_BETWEEN_LINES", 0.0)
    ran = run("detect", accept_all, clip, *RAW, "-o", tmp_path / "found.txt")
    lines = ran.err.splitlines()
    assert "searching clip.avi: frame 0 of 12" in lines
    assert any(
        line.startswith("searching clip.avi: frame 11 of 12, ") and line.endswith("frames/s")
        for line in lines
    )


class Window:
    """In the place of a window: the user presses q after some frames."""

    def __init__(self, n_frames):
        self.n_frames = n_frames
        self.captions = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def show(self, image, caption=""):
        assert image.ndim == 3
        self.captions.append(caption)
        return len(self.captions) < self.n_frames


def test_q_ends_it_and_the_rate_is_shown(run, accept_all, clip, monkeypatch, tmp_path):
    window = Window(3)
    monkeypatch.setattr("vjcascade.video.LiveWindow", lambda _: window)
    ran = run("detect", accept_all, clip, *RAW, "--show", "--draw", tmp_path, "-o", tmp_path / "found.txt")
    assert ran.code == 0
    assert (tmp_path / "found.txt").read_text().count(" frame ") == 3
    assert len(list(read_frames(tmp_path / "clip.found.mp4"))) == 3
    assert window.captions[0] == ""
    assert all(caption.endswith(" frames/s") for caption in window.captions[1:])


@pytest.mark.parametrize(("stop", "code"), [(KeyboardInterrupt, 130), (Terminated, 143)])
def test_what_was_found_before_a_stop_is_kept(run, accept_all, clip, monkeypatch, tmp_path, stop, code):
    """Also where the interrupt comes in the middle of a frame."""
    draw, drawn = imaging.draw_boxes, []

    def draw_and_stop(*words):
        drawn.append(draw(*words))
        if len(drawn) == 4:
            raise stop
        return drawn[-1]

    monkeypatch.setattr(imaging, "draw_boxes", draw_and_stop)
    found = tmp_path / "found.jsonl"
    ran = run("detect", accept_all, clip, *RAW, "--format", "jsonl", "-o", found, "--draw", tmp_path)
    assert ran.code == code
    assert STOPPED in ran.err.splitlines()
    assert [record["frame"] for record in records(found.read_text())] == [0, 1, 2, 3]
    assert len(list(read_frames(tmp_path / "clip.found.mp4"))) == 3
    assert {path.name for path in tmp_path.iterdir()} == {
        "accept-all.xml",
        "clip.avi",
        "clip.found.mp4",
        "found.jsonl",
    }


def draw_black_frames(target, n):
    with VideoDrawing(target) as drawing:
        for i in range(n):
            drawing.add(np.zeros((48, 64, 3), np.uint8), i / 10)


def test_a_stop_while_the_first_frames_are_written_loses_none(monkeypatch, tmp_path):
    """They wait until their times tell the rate, and are written in one go."""
    write, written = VideoSink.write, []

    def write_and_stop(sink, image):
        write(sink, image)
        written.append(image)
        if len(written) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(VideoSink, "write", write_and_stop)
    with pytest.raises(KeyboardInterrupt):
        draw_black_frames(tmp_path / "drawn.mp4", FRAMES_TO_TIME)
    assert len(list(read_frames(tmp_path / "drawn.mp4"))) == FRAMES_TO_TIME


LISTENING = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are started deaf to it
runpy.run_module("vjcascade", run_name="__main__")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends other signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_real_signals(accept_all, tmp_path, number, code):
    clip = write_video(tmp_path / "long.avi", 6000)
    found, drawn = tmp_path / "found.jsonl", tmp_path / "drawn"
    words = ["detect", accept_all, clip, *RAW, "--format", "jsonl", "-o", found, "--draw", drawn]
    environment = os.environ | {"PYTHONPATH": str(PROJECT)}
    with subprocess.Popen(
        [sys.executable, "-c", LISTENING, *words], stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        while not list(tmp_path.glob("drawn/.vjcascade-*.mp4")):  # the first ten frames are searched
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        message = process.stderr.read()
    assert process.returncode == code
    assert STOPPED in message
    assert "Traceback" not in message
    n_frames = len(records(found.read_text()))
    assert 10 <= n_frames < 6000
    assert n_frames - 1 <= len(list(read_frames(drawn / "long.found.mp4"))) <= n_frames
    assert [path.name for path in drawn.iterdir()] == ["long.found.mp4"]


def camera_of(indices, end):
    """Return `camera_frames` of a camera that delivers some frames and then raises."""
    picture = np.dstack([builders.smooth_noise(np.random.default_rng(1), 24, 24)] * 3)

    def frames(camera):
        assert camera == 0
        for index in indices:
            yield Frame(index, index / 30, picture)
        raise end

    return frames


@pytest.mark.parametrize("end", [KeyboardInterrupt(), Terminated()])
def test_a_camera_ends_with_ctrl_c(run, accept_all, tmp_path, monkeypatch, end):
    monkeypatch.setattr(inputs, "camera_frames", camera_of([0], end))
    ran = run("detect", accept_all, "--camera", "0", *RAW, "--draw", tmp_path / "drawn")
    assert ran.code == 0
    assert ran.out.startswith("camera 0 frame 0 (0.00 s): 1 detection")
    assert "stopped" not in ran.err
    assert "sound" not in ran.err
    assert len(list(read_frames(tmp_path / "drawn" / "camera-0.found.mp4"))) == 1


def test_skipped_frames_of_a_camera_are_counted(run, accept_all, monkeypatch):
    monkeypatch.setattr(inputs, "camera_frames", camera_of([0, 3, 4, 9], KeyboardInterrupt()))
    ran = run("detect", accept_all, "--camera", "0", *RAW, "--format", "jsonl")
    assert [record["frame"] for record in records(ran.out)] == [0, 3, 4, 9]
    assert ran.err.rstrip().endswith("frames skipped, as the search could not keep up: 6")


def test_a_cut_off_video_is_said_to_be_one(run, accept_all, clip):
    clip.write_bytes(clip.read_bytes()[: clip.stat().st_size // 2])
    ran = run("detect", accept_all, clip, *RAW)
    assert ran.code == 2
    assert "it should have 12 frames, but after" in ran.err
    assert "cut off" in ran.err
    assert "; cut off: 1 of 1" in ran.err


@pytest.mark.parametrize("every", ["1", "5", "100"])
def test_a_whole_video_is_not(run, accept_all, clip, every):
    ran = run("detect", accept_all, clip, *RAW, "--every", every)
    assert "cut off" not in ran.err


def test_frames_too_small_to_be_drawn_do_not_end_the_search(run, accept_all, clip, tmp_path):
    tiny = write_video(tmp_path / "tiny.avi", 3, (40, 1))
    ran = run("detect", accept_all, tiny, clip, *RAW, "--draw", tmp_path / "drawn")
    assert ran.code == 2
    assert "40x1" in ran.err
    assert "searched: 15" in ran.err
    assert [path.name for path in (tmp_path / "drawn").iterdir()] == ["clip.found.mp4"]
