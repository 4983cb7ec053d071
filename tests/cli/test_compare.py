"""``vjcascade compare``: from a command line to a report, and what may be wrong with either."""

from __future__ import annotations

import csv
import json
import shlex

import numpy as np
import pytest

from vjcascade.boosters import booster_names

QUICK = (
    "--window",
    "12x12",
    "--pool",
    "40",
    "--samples",
    "24",
    "--seeds",
    "2",
    "--rounds",
    "2",
    "--stages",
    "1",
)
BOOSTERS = ("--boosters", "adaboost", "cost-generalized", "--costs", "1", "4:1")


@pytest.fixture
def table(tmp_path, rng):
    classes = np.arange(60) % 2
    rows = rng.normal(size=(60, 2)) + classes[:, None]
    lines = [f"{a},{b},{'ill' if c else 'well'}" for (a, b), c in zip(rows, classes, strict=True)]
    path = tmp_path / "patients.csv"
    path.write_text("\n".join(["age,weight,state", *lines]))
    return path


def test_pictures_are_compared(run, easy):
    out = easy / "out"
    ran = run("compare", easy / "pos", easy / "neg", "--output", out, *QUICK, *BOOSTERS)
    assert ran.code == 0, ran.err
    assert "2 boosters at 2 cost ratios were compared on 1 stage" in ran.out
    assert f"report: {out / 'report.html'}" in ran.out
    results = json.loads((out / "results.json").read_text())
    rows = list(csv.DictReader((out / "results.csv").read_text().splitlines()))
    assert len(rows) == len(results["cells"])
    for row, cell in zip(rows, results["cells"], strict=True):
        assert float(row["cost"]) == cell["cost"]
    page = (out / "report.html").read_text()
    assert "cost-generalized" in page
    words = shlex.split(results["told"]["command"]["compare"])
    assert words[:4] == ["vjcascade", "compare", str(easy / "pos"), str(easy / "neg")]
    again = run(*words[1:], "--overwrite")  # the command that is told gives the same numbers
    assert again.code == 0
    for cell, other in zip(
        results["cells"], json.loads((out / "results.json").read_text())["cells"], strict=True
    ):
        assert {**cell, "seconds": 0} == {**other, "seconds": 0}


def test_tables_are_compared(run, table, tmp_path):
    words = (
        "compare",
        "--table",
        table,
        "--target",
        "state",
        "--positive",
        "ill",
        "--output",
        tmp_path / "out",
    )
    ran = run(*words, "--seeds", "2", "--rounds", "3", "--threads", "1", *BOOSTERS)
    assert ran.code == 0, ran.err
    assert "2 features; state 'ill' is positive: 30 rows, against 30" in ran.out
    again = run(*words, "--seeds", "2", "--rounds", "3", "--threads", "1", *BOOSTERS)
    assert again.code == 2
    assert "already holds a comparison: resume or overwrite it" in again.err
    resumed = run(*words, "--seeds", "3", "--rounds", "3", "--threads", "1", *BOOSTERS, "--resume")
    assert resumed.code == 0
    assert "with 3 splits" in resumed.out


def test_an_interrupt_tells_how_to_go_on(run, table, tmp_path, monkeypatch):
    from vjcascade.comparison import runner as module

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "boost_run", interrupted)
    ran = run(
        "compare", "--table", table, "--target", "state", "--output", tmp_path / "out", "--threads", "1"
    )
    assert ran.code == 130
    assert f"finished runs are in {tmp_path / 'out'}: go on with --resume" in ran.err


def test_whole_cascades_are_compared(run, easy, tmp_path):
    listed = easy / "scenes.txt"
    listed.write_text("pos/000.png 1 0 0 24 24\npos/001.png 0\n")
    words = (
        "compare",
        easy / "pos",
        easy / "neg",
        "--full",
        "--scenes",
        listed,
        "--output",
        tmp_path / "out",
    )
    quick = ("--window", "12x12", "--samples", "40", "--rounds", "2", "--stages", "1")
    ran = run(*words, *quick, "--boosters", "adaboost", "cost-generalized", "--costs", "4")
    assert ran.code == 0, ran.err
    assert f"report: {tmp_path / 'out' / 'full.html'}" in ran.out
    assert "cost-generalized at 4:1" in (tmp_path / "out" / "full.csv").read_text()
    told = json.loads((tmp_path / "out" / "full.json").read_text())
    assert [one["booster"] for one in told["entries"]] == ["adaboost", "cost-generalized"]


def test_every_booster_and_one_again():
    from vjcascade.cli.compare import _design

    none = dict.fromkeys(("costs", "rules", "seeds", "rounds", "preset"))
    given = {**none, "hit_rate": 0.9, "false_alarm_rate": 0.5, "sanity": False, "seed": 0}
    boosters = _design({**given, "boosters": ["all", "adaboost"]}).boosters
    assert boosters == (*booster_names(), "adaboost")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give a folder of crops and a folder of photos, or a table"),
        (["pos"], "give a folder of crops and a folder of photos, or a table"),
        (["pos", "neg", "--table", "a.csv", "--target", "y"], "positives does not go with --table"),
        (["--table", "a.csv"], "--table needs --target"),
        (["pos", "neg", "--target", "y"], "--target does not go with crops and photos"),
        (["pos", "neg", "--full"], "--full and --scenes go together"),
        (["pos", "neg", "--scenes", "list"], "--full and --scenes go together"),
        (["pos", "neg", "--full", "--scenes", "s", "--sanity"], "--sanity does not go with --full"),
        (["--table", "a.csv", "--target", "y", "--stages", "3"], "--stages does not go with --table"),
        (["--table", "a.csv", "--target", "y", "--samples", "9"], "--samples does not go with --table"),
        (["--table", "a.csv", "--target", "y", "--mode", "all"], "--mode does not go with --table"),
        (["pos", "neg", "--boosters", "adabost"], "no booster named 'adabost'; did you mean 'adaboost'?"),
        (["pos", "neg", "--costs", "0"], "cost ratio 0.0 is not a finite number above zero"),
        (["pos", "neg", "--costs", "1e300"], "costs 1e+300:1 are not both between 1e-09 and 1e+09"),
        (["pos", "pos"], "pos is given for positives and negatives"),
        (["pos", "neg", "--resume", "--overwrite"], "resume and overwrite contradict each other"),
        (["pos", "neg", "--samples", "19"], "n_samples 19 is too small: at least 20 is needed"),
        (["pos", "neg", "--costs", "many"], "costs 'many' cannot be read"),
        (["pos", "neg", "--rules", "natral"], "did you mean 'natural'?"),
        (["pos", "neg"], "does not exist"),
        (["--table", "no.csv", "--target", "y"], "no.csv"),
    ],
)
def test_misuse_is_met_with_a_sentence(run, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    ran = run("compare", *words)
    assert ran.code == 2
    assert message in ran.err
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
