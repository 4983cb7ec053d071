"""The benchmark of few crops: scenes without training pictures, a run that goes on, a table."""

from __future__ import annotations

import json

import numpy as np
from easy_pictures import QUICK_TRAINING, easy_positive, save, soft_noise

from vjcascade.evaluation import read_scenes
from vjcascade.imaging import read_gray


def test_models_are_trained_and_the_table_goes_on(run_program, tmp_path, rng):
    save(tmp_path / "crops", [easy_positive(rng) for _ in range(40)])
    save(tmp_path / "photos", [soft_noise(rng) for _ in range(16)])
    words = ["bench_few_crops.py", tmp_path / "crops", tmp_path / "photos", "--scenes", "4", "--draws", "2"]
    log = ["--log", tmp_path / "log.jsonl"]
    options = ["--", *QUICK_TRAINING]
    ran = run_program(*words, "--counts", "15", *log, *options)
    assert ran.returncode == 0, ran.stderr
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [(row["crops"], row["draw"], row["stages"]) for row in rows] == [(15, 0, 1), (15, 1, 1)]
    assert all(0 <= row["recall_at_0"] <= row["recall_at_5"] <= row["recall_at_10"] <= 1 for row in rows)
    again = run_program(*words, "--counts", "15", "20", *log, *options)
    assert again.stdout.count('{"crops"') == 2  # those of 20; the others are known
    table = again.stdout.splitlines()[-4:]
    assert [line.split("|")[1].strip() for line in table] == ["crops", "---", "15", "20"]


def test_scenes_hold_the_crops_held_out(program, tmp_path, rng):
    bench = program("bench_few_crops")
    save(tmp_path / "crops", [easy_positive(rng) for _ in range(12)])
    save(tmp_path / "photos", [soft_noise(rng) for _ in range(5)])
    crops, photos = (sorted((tmp_path / name).iterdir()) for name in ("crops", "photos"))
    split = bench.Split.of(crops, photos, 3)
    assert (len(split.crops), len(split.scene_crops), len(split.photos), len(split.scene_photos)) == (
        9,
        3,
        2,
        3,
    )
    assert not set(split.crops) & set(split.scene_crops)
    assert not set(split.photos) & set(split.scene_photos)
    scenes = read_scenes(bench.make_scenes(split, tmp_path)).scenes
    assert len(scenes) == 3
    for scene in scenes:
        gray = read_gray(scene.path)
        assert max(gray.shape) == bench.LONGER_SIDE
        for x, y, w, h in scene.boxes.astype(int):
            middle = gray[y + h // 4 : y + 3 * h // 4, x + w // 8 : x + 7 * w // 8]
            halves = middle[:, : w // 4].mean(), middle[:, -(w // 4) :].mean()
            assert abs(np.subtract(*halves)) > 60  # one half of the object is light, the other dark
