"""The benchmark of synthesis: crops alone, with copies and with samples; a drawn logo; a run that goes on."""

from __future__ import annotations

import json

import pytest
from easy_pictures import easy_positive, soft_noise

from vjcascade.evaluation import read_scenes
from vjcascade.imaging import write_image

BRIEF = ["--window", "12x12", "--stages", "1", "--max-weak", "2", "--negatives", "40"]


@pytest.fixture
def photos(tmp_path, rng):
    """Return a folder of photos; those of crops are beside it."""
    for name, kind, n in (("crops", easy_positive, 20), ("photos", soft_noise, 24)):
        (tmp_path / name).mkdir()
        for i in range(n):
            write_image(tmp_path / name / f"{i:02}.png", kind(rng))
    return tmp_path / "photos"


def rows_of(log):
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_crops_are_trained_on_in_every_way_there_is(run_program, tmp_path, photos):
    log = tmp_path / "log.jsonl"
    words = ["bench_synthesis.py", photos, "--crops", tmp_path / "crops", "--scenes", "4", "--draws", "1"]
    words += ["--made", "30", "--log", log, "--counts"]
    ran = run_program(*words, "1", "12", "--", *BRIEF)
    assert ran.returncode == 0, ran.stderr
    ways = [(row["crops"], row["way"]) for row in rows_of(log)]
    assert ways == [(1, "with samples"), (12, "alone"), (12, "with training's copies"), (12, "with samples")]
    table = [line.split("|")[1:3] for line in ran.stdout.splitlines()[-4:]]
    assert [(int(count), way.strip()) for count, way in table] == sorted(ways)


def test_a_logo_is_drawn_and_its_scenes_have_photos_of_their_own(program, tmp_path, photos):
    bench = program("bench_synthesis")
    paths = sorted(photos.iterdir())
    work = tmp_path / "work"
    work.mkdir()
    task = bench.logo_task(paths, 6, work)
    scenes = read_scenes(task.scenes).scenes
    assert len(scenes) == 6
    assert sum(len(scene.boxes) for scene in scenes) >= 6
    assert (len(task.photos), len(task.crops) >= 6, task.drawing.is_file()) == (12, True, True)
    used = {path.resolve() for name in ("scenes", "seen") for path in (work / f"{name}-photos").iterdir()}
    assert not used & set(task.photos)
    keys = list(bench.keys(task, [1, 10**6], 2))
    assert [(key["crops"], key["draw"]) for key in keys] == [(0, 0), (1, 0), (0, 1), (1, 1)]
