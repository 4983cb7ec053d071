"""``vjcascade detect --dense``: dense detection and its options."""

import csv
import io
import json

import builders
import numpy as np
import pytest

from vjcascade import Cascade, Size
from vjcascade.detection import DenseDetector, DetectionMemory
from vjcascade.imaging import write_image
from vjcascade.video import VideoSink, read_frames


@pytest.fixture
def picture(tmp_path, rng):
    path = tmp_path / "a.png"
    write_image(path, builders.smooth_noise(rng, 40, 48))
    return path


@pytest.fixture
def pixels(picture):
    from vjcascade import read_image

    return read_image(picture)


def boxes_of(record):
    return [[d[side] for side in "xywh"] for d in record["detections"]]


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ((), {}),
        (("--stride", "3"), {"stride": 3}),
        (("--antialias",), {"antialias": True}),
        (("--group", "nms", "--overlap", "0.6"), {"group": "nms", "overlap": 0.6}),
        (("--group", "none", "--angles", "-20,0,20"), {"group": "none", "angles": (-20, 0, 20)}),
    ],
)
def test_options_reach_the_detector(run, accept_all, picture, pixels, words, settings):
    ran = run("detect", accept_all, picture, "--dense", *words, "--min-neighbors", "1", "--format", "jsonl")
    assert (ran.code, ran.out.count("\n")) == (0, 1)
    expected = DenseDetector(Cascade.load(accept_all), min_neighbors=1, **settings).detect(pixels)
    record = json.loads(ran.out)
    assert len(expected) > 0
    assert boxes_of(record) == expected.boxes.tolist()
    assert [d["angle"] for d in record["detections"]] == expected.angles.tolist()
    assert [d["stages"] for d in record["detections"]] == expected.stages.tolist()


def test_near_misses(run, picture, pixels, tmp_path, rng):
    cascade = builders.random_cascade(rng, Size(10, 8), stages=(2, 2), bar=0.1)
    cascade.save(tmp_path / "weak.xml")
    words = ("--dense", "--near-misses", "1", "--group", "none", "--format", "jsonl")
    ran = run("detect", tmp_path / "weak.xml", picture, *words)
    scores = [d["score"] for d in json.loads(ran.out)["detections"]]
    assert scores == cascade.detect_dense(pixels, near_misses=1, group="none").scores.tolist()
    assert min(scores) < 0 < max(scores)


def test_region_and_mask(run, accept_all, picture, pixels, tmp_path):
    mask = np.zeros(pixels.shape[:2], np.uint8)
    mask[:, 20:] = 255
    write_image(tmp_path / "mask.png", mask)
    words = ("--region", "4,2,40,30", "--mask", tmp_path / "mask.png", "--format", "jsonl", "--group", "none")
    ran = run("detect", accept_all, picture, "--dense", *words)
    detector = DenseDetector(Cascade.load(accept_all), group="none")
    expected = detector.detect(pixels, region=(4, 2, 40, 30), mask=mask)
    assert 0 < len(expected) < len(detector.detect(pixels))
    assert boxes_of(json.loads(ran.out)) == expected.boxes.tolist()


def test_each_video_has_a_memory_of_its_own(run, accept_all, tmp_path, rng):
    clip = tmp_path / "clip.avi"
    noise = [np.dstack([builders.smooth_noise(rng, 32, 32)] * 3) for _ in range(4)]
    with VideoSink(clip, 10, Size(32, 32)) as sink:
        for image in noise:
            sink.write(image)
    words = ("--memory", "2", "--dense", "--min-neighbors", "0", "--format", "jsonl")
    ran = run("detect", accept_all, clip, clip, *words)
    neighbors = [[d["neighbors"] for d in json.loads(line)["detections"]] for line in ran.out.splitlines()]
    memory = DetectionMemory(2, DenseDetector(Cascade.load(accept_all), min_neighbors=0))
    expected = [memory.detect(frame.image).neighbors.tolist() for frame in read_frames(clip)]
    assert neighbors == expected * 2
    assert expected[0] != expected[1]


def test_csv_and_text_tell_angles(run, accept_all, picture):
    words = ("detect", accept_all, picture, "--dense", "--angles", "90", "--min-neighbors", "1")
    (row, *_) = csv.DictReader(io.StringIO(run(*words, "--format", "csv").out))
    assert (row["angle"], row["stages"]) == ("90.0", "1")
    assert ", turned 90 degrees)" in run(*words).out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--region", "0,0,9,9"), "--region is for dense detection"),
        (("--antialias",), "add --dense"),
        (("--near-misses", "1"), "--near-misses is for dense detection"),
        (("--dense", "--region", "1,2,3"), "X,Y,WIDTH,HEIGHT"),
        (("--dense", "--region", "100,0,9,9"), "region"),
        (("--dense", "--angles", "left"), "angles 'left'"),
        (("--dense", "--group", "best"), "no grouping 'best'"),
        (("--dense", "--overlap", "2"), "overlap 2"),
        (("--dense", "--stride", "0"), "stride"),
        (("--dense", "--memory", "3", "--group", "none"), "memory of frames groups"),
        (("--dense", "--memory", "3"), "a.png is not a video: give only videos"),
        (("--dense", "--mask", "nowhere.png"), "nowhere.png"),
        (("--dense", "--mask", "small.png"), "mask"),
    ],
)
def test_wrong_options(run, accept_all, picture, monkeypatch, words, reason):
    monkeypatch.chdir(picture.parent)
    write_image("small.png", np.full((9, 9), 255, np.uint8))
    ran = run("detect", accept_all, picture, *words)
    assert (ran.code, ran.out) == (2, "")
    assert reason in ran.err
