"""``vjcascade compare``: from a command line to a report, and what may be wrong with either."""

from __future__ import annotations

import csv
import errno
import json
import shlex
from contextlib import ExitStack

import numpy as np
import pytest

from vjcascade import files
from vjcascade.boosters import booster_names
from vjcascade.cli import outputs
from vjcascade.cli.compare import _design
from vjcascade.cli.compare_options import TRAINED_BOOSTERS, USUAL_BOOSTERS, USUAL_COSTS, BoosterOptions
from vjcascade.cli.respelling import COMPARISONS, respelled
from vjcascade.comparison import Contender, Design, full_entries, nikolaou_design
from vjcascade.training.run_lock import only_run_in

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
    ran = run("compare", "stages", easy / "pos", easy / "neg", "--output", out, *QUICK, *BOOSTERS)
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
    assert words[:5] == ["vjcascade", "compare", "stages", str(easy / "pos"), str(easy / "neg")]
    again = run(*words[1:], "--overwrite")  # the command that is told gives the same numbers
    assert again.code == 0
    for cell, other in zip(
        results["cells"], json.loads((out / "results.json").read_text())["cells"], strict=True
    ):
        assert {**cell, "seconds": 0} == {**other, "seconds": 0}


def test_tables_are_compared(run, table, tmp_path):
    words = (
        "compare",
        "tables",
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


@pytest.mark.parametrize("n_finished", [0, 2])
def test_an_interrupt_tells_how_to_go_on(run, table, tmp_path, monkeypatch, n_finished):
    from vjcascade.comparison import runner as module

    boost_run, calls = module.boost_run, []

    def interrupted(*args):
        if len(calls) == n_finished:
            raise KeyboardInterrupt
        calls.append(args)
        return boost_run(*args)

    monkeypatch.setattr(module, "boost_run", interrupted)
    words = ("tables", table, "--target", "state", "--output", tmp_path / "out", "--rounds", "2")
    ran = run("compare", *words, "--threads", "1")
    assert ran.code == 130
    left = (
        f"finished runs are in {tmp_path / 'out'}: continue with --resume"
        if n_finished
        else "no run was finished"
    )
    assert left in ran.err


def test_a_comparison_that_fails_leaves_no_empty_folder(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    ran = run("compare", "tables", tmp_path / "t.csv", "--target", "y", "--output", tmp_path / "new" / "out")
    assert ran.code == 2
    assert not (tmp_path / "new").exists()


def test_whole_cascades_are_compared(run, easy, tmp_path):
    listed = easy / "scenes.txt"
    listed.write_text("pos/000.png 1 0 0 24 24\npos/001.png 0\n")
    words = (
        "compare",
        "cascades",
        easy / "pos",
        easy / "neg",
        "--scenes",
        listed,
        "--output",
        tmp_path / "out",
    )
    quick = ("--window", "12x12", "--samples", "40", "--rounds", "2", "--stages", "1")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / LEFT).touch()
    ran = run(*words, *quick, "--boosters", "adaboost", "cost-generalized", "--costs", "4")
    assert ran.code == 0, ran.err
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["full", "full.csv", "full.html", "full.json"]
    assert f"report: {tmp_path / 'out' / 'full.html'}" in ran.out
    assert "cost-generalized at 4:1" in (tmp_path / "out" / "full.csv").read_text()
    told = json.loads((tmp_path / "out" / "full.json").read_text())
    assert [one["booster"] for one in told["entries"]] == ["adaboost", "cost-generalized"]


@pytest.fixture
def annotated(easy):
    """Return COCO's JSON of the crops: three of four show a face, the others a hand."""
    names = sorted(path.name for path in (easy / "pos").iterdir())
    images = [
        {"id": i, "file_name": f"pos/{name}", "width": 24, "height": 24} for i, name in enumerate(names)
    ]
    boxes = [
        {"id": i, "image_id": i, "category_id": int(i % 4 == 0), "bbox": [0, 0, 24, 24]}
        for i in range(len(names))
    ]
    kinds = [{"id": 0, "name": "face"}, {"id": 1, "name": "hand"}]
    path = easy / "coco.json"
    path.write_text(json.dumps({"images": images, "annotations": boxes, "categories": kinds}))
    return path


def test_one_kind_of_object_is_compared_on(run, annotated):
    out = annotated.parent / "out"
    words = ("compare", "stages", annotated, annotated.parent / "neg", "--output", out, *QUICK, *BOOSTERS)
    ran = run(*words)
    assert (ran.code, "face" in ran.err and "hand" in ran.err) == (2, True)
    ran = run(*words, "--label", "face")
    assert ran.code == 0, ran.err
    assert "found 45 boxes" in ran.out
    told = json.loads((out / "results.json").read_text())["told"]
    assert told["data"]["positives"] == 45
    assert "--label face" in told["command"]["compare"]


@pytest.mark.parametrize("scenes", ["scenes.csv", "scenes.txt"])
def test_one_kind_of_object_is_looked_for(run, annotated, scenes):
    folder = annotated.parent
    (folder / "scenes.txt").write_text("pos/000.png 1 0 0 24 24\npos/004.png 0\n")
    rows = "pos/000.png,0,0,24,24,face\npos/004.png,0,0,24,24,hand\n"
    (folder / "scenes.csv").write_text(f"file,x,y,w,h,class\n{rows}")
    words = (
        "compare",
        "cascades",
        annotated,
        folder / "neg",
        "--scenes",
        folder / scenes,
        "--output",
        folder / "out",
    )
    quick = (
        "--window",
        "12x12",
        "--samples",
        "40",
        "--rounds",
        "2",
        "--stages",
        "1",
        "--boosters",
        "adaboost",
    )
    assert run(*words, *quick).code == 2
    ran = run(*words, *quick, "--costs", "4", "--label", "face")
    assert ran.code == 0, ran.err
    assert "found 45 boxes" in ran.out
    assert "--label face" in (folder / "out" / "full.json").read_text()


def test_every_booster_and_one_again():
    assert _design(BoosterOptions(boosters=["all", "adaboost"]), 5).boosters == (*booster_names(), "adaboost")


def test_what_is_given_comes_before_the_published_design():
    design = _design(BoosterOptions(costs=["7"]), None, base=nikolaou_design())
    assert (design.n_rounds, design.n_seeds, list(map(str, design.costs))) == (100, 30, ["7:1"])


FORMER = [
    ("pos neg --seeds 2", "stages pos neg --seeds 2"),
    ("pos neg --full --scenes list", "cascades pos neg --scenes list"),
    ("--scenes list pos neg --full", "cascades --scenes list pos neg"),
    ("--table a.csv --target y", "tables a.csv --target y"),
    ("--target y --table a.csv b.csv -o out", "tables a.csv b.csv --target y -o out"),
    ("--table=a.csv --table b.csv --target y", "tables a.csv b.csv --target y"),
    ("stages pos neg", "stages pos neg"),
    ("tabels a.csv", "tabels a.csv"),
    ("--help", "--help"),
]


@pytest.mark.parametrize(("before", "now"), FORMER)
def test_former_spellings(before, now):
    assert respelled(["compare", *before.split()]) == ["compare", *now.split()]


def test_a_folder_may_be_named_nearly_as_a_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tables2").mkdir()
    assert respelled(["compare", "tables2", "neg"]) == ["compare", "stages", "tables2", "neg"]


def test_other_commands_are_left_as_they_are():
    assert respelled(["train", "--table"]) == ["train", "--table"]
    assert respelled(["compare"]) == ["compare"]


def numbers(path):
    """Return the lines of a table without what was spent on them."""
    rows = csv.DictReader(path.read_text().splitlines())
    spent = {"seconds", "processor_seconds", "memory"}
    return [{name: value for name, value in row.items() if name not in spent} for row in rows]


def test_a_former_spelling_gives_the_same_results(run, table, easy, tmp_path):
    (easy / "scenes.txt").write_text("pos/000.png 1 0 0 24 24\npos/001.png 0\n")
    pictures = ["pos", "neg", *QUICK[:2], *QUICK[4:6], "--rounds", "2", "--stages", "1", *BOOSTERS]
    pictures[:2] = easy / "pos", easy / "neg"
    words = ["--target", "state", "--seeds", "2", "--rounds", "3", "--threads", "1", *BOOSTERS]
    for former, now, name in (
        (["--table", table, *words], ["tables", table, *words], "results.csv"),
        (pictures, ["stages", *pictures], "results.csv"),
        (
            [*pictures, "--full", "--scenes", easy / "scenes.txt"],
            ["cascades", *pictures, "--scenes", easy / "scenes.txt"],
            "full.csv",
        ),
    ):
        old = run("compare", *former, "--overwrite", "--output", tmp_path / "old")
        new = run("compare", *now, "--overwrite", "--output", tmp_path / "new")
        assert (old.code, new.code) == (0, 0), old.err + new.err
        assert f"note: this is now spelled: vjcascade compare {now[0]} " in old.err
        assert "note:" not in new.err
        assert numbers(tmp_path / "old" / name) == numbers(tmp_path / "new" / name)
        assert numbers(tmp_path / "new" / name)


def test_who_takes_part_unless_named_can_take_part():
    Design(USUAL_BOOSTERS)
    entries = full_entries([Contender(name) for name in TRAINED_BOOSTERS], USUAL_COSTS)
    assert {entry.contender.booster for entry in entries} == set(TRAINED_BOOSTERS) < set(USUAL_BOOSTERS)


@pytest.mark.parametrize("kind", COMPARISONS)
def test_help_shows_a_comparison_its_own_options(run, kind):
    page = run("compare", kind, "--help").out
    assert f"Usage: vjcascade compare {kind}" in page
    assert "--boosters" in page
    assert "--resume" in page
    for option, kinds in (
        ("--pool", {"stages"}),
        ("--reference", {"stages"}),
        ("--scenes", {"cascades"}),
        ("--target", {"tables"}),
        ("--preset", {"tables"}),
        ("--window", {"stages", "cascades"}),
        ("--label", {"stages", "cascades"}),
        ("--samples", {"stages", "cascades"}),
        ("--rules", {"stages", "tables"}),
        ("--sanity", {"stages", "tables"}),
        ("--contrasts", {"stages", "tables"}),
        ("--independent", {"stages"}),
    ):
        assert (option in page) == (kind in kinds), option


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("stages", "POSITIVES"),
        ("stages pos", "NEGATIVES"),
        ("pos", "NEGATIVES"),
        ("pos neg --table a.csv --target y", "there is no file"),
        ("tables a.csv", "--target requires an argument"),
        ("tables --target y", "tables: none is given; name at least one file"),
        ("tabels a.csv --target y", 'Did you mean "tables"?'),
        ("stages pos neg --target y", "Unknown option: --target"),
        ("cascades pos neg", "--scenes requires an argument"),
        ("pos neg --full", "--scenes requires an argument"),
        ("stages pos neg --scenes list", "Unknown option: --scenes"),
        ("cascades pos neg --scenes s --sanity", "Unknown option: --sanity"),
        ("tables a.csv --target y --stages 3", "Unknown option: --stages"),
        ("tables a.csv --target y --samples 9", "Unknown option: --samples"),
        ("tables a.csv --target y --mode all", "Unknown option: --mode"),
        ("stages pos neg --boosters adabost", "no booster named 'adabost'; did you mean 'adaboost'?"),
        ("stages pos neg --costs 0", "cost ratio 0.0 is not a finite number above zero"),
        ("stages pos neg --costs 1e300", "costs 1e+300:1 are not both between 1e-09 and 1e+09"),
        ("stages pos pos", "pos is given for positives and negatives"),
        ("cascades pos pos --scenes list", "pos is given for positives and negatives"),
        ("stages pos neg --resume --overwrite", "resume and overwrite exclude each other"),
        ("stages pos neg --samples 19", "--samples 19 is not a whole number, at least 20"),
        ("stages pos neg --costs many", "costs 'many' cannot be read"),
        ("stages pos neg --rules natral", "did you mean 'natural'?"),
        ("stages pos neg --seed 1.9", "'1.9' is not a whole number"),
        ("stages pos neg", "does not exist"),
        ("tables no.csv --target y", "no.csv"),
    ],
)
def test_misuse_is_met_with_a_sentence(run, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    ran = run("compare", *words.split())
    assert ran.code == 2
    assert message in ran.err
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


LEFT = ".vjcascade-0123456789abcdef.tmp"
"""What a process that was killed while it wrote may leave."""


def test_questions_that_were_asked_before_are_answered(run, table, tmp_path):
    asked = tmp_path / "asked.toml"
    asked.write_text('[[contrast]]\nquestion = "?"\nmeasure = "swapped"\n')
    words = ("compare", "tables", table, "--target", "state", "--output", tmp_path / "out", "--rounds", "2")
    words = (*words, "--threads", "1", *BOOSTERS, "--contrasts", asked)
    refused = run(*words)
    assert refused.code == 2
    assert f"{asked} is not a list of contrasts" in refused.err
    assert not (tmp_path / "out").exists()
    sides = (
        'first = {booster = "adaboost", rule = "theory"}\nsecond = {booster = "adaboost", rule = "natural"}\n'
    )
    asked.write_text(f'[[contrast]]\nquestion = "Is it?"\nmeasure = "cost"\n{sides}')
    other = sides.replace("adaboost", "csb0").replace("theory", "calibrated")
    with asked.open("a") as file:
        file.write(f'[[contrast]]\nquestion = "Or not?"\nmeasure = "cost"\n{other}')
    answered = run(*words)
    assert answered.code == 0
    assert (
        "Of 1 contrast fixed in advance, 0 are significant after Holm's correction."
        in answered.out.replace("\n", " ")
    )
    assert "Left out, as a side or its costs take no part: Or not?" in answered.out
    assert "Is it?" in (tmp_path / "out" / "contrasts.csv").read_text()
    assert "Is it?" in (tmp_path / "out" / "report.html").read_text()


def test_of_results_all_are_written_or_none(run, table, tmp_path, monkeypatch):
    words = ("compare", "tables", table, "--target", "state", "--output", tmp_path / "out", "--rounds", "2")
    words = (*words, "--threads", "1", *BOOSTERS)
    write = files._Waiting.write

    def full(waiting, data):
        if waiting.path.name == "report.html":
            raise OSError(errno.ENOSPC, "No space left on device")
        write(waiting, data)

    monkeypatch.setattr(files._Waiting, "write", full)
    ran = run(*words)
    assert ran.code == 2
    report, out = tmp_path / "out" / "report.html", tmp_path / "out"
    assert ran.err.endswith(
        f"{report}: No space left on device; finished runs are in {out}: continue with --resume (without "
        "--overwrite)\n"
    )
    assert [path.name for path in out.iterdir()] == ["runs.jsonl"]
    monkeypatch.undo()
    (out / LEFT).touch()
    assert run(*words, "--resume").code == 0
    names = ["curves.csv", "report.html", "results.csv", "results.json", "runs.jsonl", "summary.csv"]
    assert sorted(path.name for path in out.iterdir()) == names


def test_results_are_not_written_into_a_folder_of_another_run(run, table, tmp_path, monkeypatch):
    """It would take the half-written ones for leftovers."""
    from vjcascade import comparison as module

    compare_tables, others = module.compare_tables, ExitStack()

    def compared(files, target, output, *arguments, **options):
        results = compare_tables(files, target, output, *arguments, **options)
        others.enter_context(only_run_in(output))
        return results

    monkeypatch.setattr(module, "compare_tables", compared)
    words = ("compare", "tables", table, "--target", "state", "--output", tmp_path / "out", "--rounds", "2")
    with others:
        ran = run(*words, "--threads", "1", *BOOSTERS)
    assert ran.code == 2
    assert "another run is writing into this folder" in ran.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["runs.jsonl"]


def test_a_disk_without_room_for_a_file_gets_no_folder(run, table, tmp_path, monkeypatch):
    def full(folder):
        raise OSError(errno.ENOSPC, "No space left on device", str(folder))

    monkeypatch.setattr(outputs, "nameless_file", full)
    ran = run("compare", "tables", table, "--target", "state", "--output", tmp_path / "out")
    assert ran.code == 2
    assert "cannot be used (no space left on device); give another path, or make room" in ran.err
    assert not (tmp_path / "out").exists()
