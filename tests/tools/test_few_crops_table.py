"""The table of few crops: draws are the same for all versions, and a run goes on."""

from __future__ import annotations

import json
import sys

from easy_pictures import QUICK_TRAINING, easy_positive, save, soft_noise
from PIL import Image

OPTIONS = ["--", *QUICK_TRAINING]


def test_two_versions_are_measured_on_the_same_draws(run_program, tmp_path, rng):
    save(tmp_path / "plates-eu" / "train", [easy_positive(rng) for _ in range(30)])
    save(tmp_path / "plates-eu" / "test", [soft_noise(rng) for _ in range(2)])
    save(tmp_path / "photos", [soft_noise(rng) for _ in range(12)])
    (tmp_path / "negatives-train").mkdir()
    for path in (tmp_path / "photos").iterdir():
        Image.open(path).save(tmp_path / "negatives-train" / f"{path.stem}.jpg")
    lines = ["file,x,y,w,h", *(f"test/{i:03}.png,4,4,20,20" for i in range(2))]
    (tmp_path / "plates-eu" / "boxes_test.csv").write_text("\n".join(lines) + "\n")
    words = ["few_crops_table.py", "measure", "plate", "--data", tmp_path, "--photos", "8", "--draws", "1"]
    words += ["--logs", tmp_path, "--counts"]
    ran = run_program(*words, "15", "40", *OPTIONS)  # there are no 40 crops
    assert ran.returncode == 0, ran.stderr
    other = ["--version", "before", "--program", f"{sys.executable} -m vjcascade"]
    ran = run_program(*words, "15", *other, *OPTIONS, "--no-baseline")
    assert ran.returncode == 0, ran.stderr
    present, before = (json.loads(line) for line in (tmp_path / "plate.jsonl").read_text().splitlines())
    assert (present["version"], present["crops"], present["stages"]) == ("present", 15, 1)
    same = before | {"version": "present", "seconds": present["seconds"]}  # it is this version, too
    assert same == present
    again = run_program(*words, "15", *OPTIONS)
    assert "{" not in again.stdout
    assert run_program(*words, "15", "--version", "before").returncode == 2


def test_the_page_is_that_of_the_logs(program):
    """Cell by cell, from the lines of the logs."""
    table = program("few_crops_table")
    page = table.PAGE.read_text()
    assert page == table.page_of(table.LOGS)
    rows = [json.loads(line) for line in (table.LOGS / "plate.jsonl").read_text().splitlines()]
    rows = [row for row in rows if (row["crops"], row["version"]) == (25, "before")]
    some = [100 * row["OpenALPR's European scenes"]["best_f1"] for row in rows]
    (line,) = [
        one for one in page.partition("## OpenALPR")[2].splitlines() if one.startswith("| 25 | before |")
    ]
    cells = [one.strip() for one in line.split("|")]
    assert cells[3] == str(len(some))
    assert cells[7] == f"{sum(some) / len(some):.0f} ({min(some):.0f} to {max(some):.0f})"
