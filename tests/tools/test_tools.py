"""The developers' programs run."""

from __future__ import annotations

import builders
import pytest

from vjcascade.imaging import write_image


@pytest.fixture
def run(run_program):
    """Return `run(name, *arguments) -> str`: what a program prints; it must not fail."""

    def call(name, *arguments):
        done = run_program(name, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def test_training_benchmark(run):
    out = run("bench_training.py", "--samples", "60", "--window", "8x8", "--rounds", "1", "--threads", "1")
    assert "2,056 features x 60 windows" in out
    assert "| adaboost: a round, mean of 1 |" in out


@pytest.mark.parametrize(("memory", "where"), [(None, "in memory"), ("256MiB", "on disk")])
def test_costs_are_measured_where_training_would_keep_features(program, monkeypatch, tmp_path, memory, where):
    bench = program("bench_training")
    monkeypatch.setattr(bench, "resident_memory", lambda: 256 * 2**20 - 70_000_000 if memory else 0)
    monkeypatch.setattr("sys.argv", ["", "--table", "--window", "8x8", "--threads", "1", "--samples", "80"])
    arguments = bench.options()
    assert (arguments.table, arguments.rounds) == ([], bench.TABLE_ROUNDS)
    arguments.rounds, arguments.memory = 2, memory
    bench.save_windows(tmp_path / "windows.npy", arguments)
    make, spaces = bench.window_samples, []
    monkeypatch.setattr(
        bench,
        "window_samples",
        lambda *args, space=None: spaces.append(space) or make(*args, space=space),
    )
    row = bench.table_row(arguments, tmp_path / "windows.npy", (bench.HaarMode.CORE, 60))
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    assert cells[:2] == ["core, 2,569", "60"]
    assert cells[-1] == where
    assert spaces[-1].folder == (tmp_path if memory else None)
    assert all(float(cell) >= 0 for cell in cells[2:-1])
    assert bench.TABLE_HEADER.splitlines()[0].count("|") == row.count("|")


def test_cluster_benchmark(run):
    size = ["--windows", "80", "--side", "8", "--rounds", "2", "--workers", "1"]
    out = run("bench_clusters.py", "stage", *size, "--only", "threads")
    assert "80 windows, 2,056 features, 2 rounds" in out
    assert "| 1 threads |" in out


def test_cluster_simulation(run):
    pytest.importorskip("distributed")
    size = ["--windows", "80", "--side", "8", "--rounds", "3", "--workers", "2", "--share", "1"]
    lines = run("simulate_cluster.py", *size).splitlines()
    assert lines[0] == "80 windows, 2,056 features, a stage of 200 rounds"
    header, _, alone, two = (line.split("|")[1:-1] for line in lines[2:])
    assert [alone[0].strip(), two[0].strip()] == ["one thread", "2"]
    assert len(header) == len(alone) == len(two)
    assert float(two[-1]) > 0


def test_boosters_benchmark(run, tmp_path, rng):
    for folder, side in (("crops", 9), ("photos", 40)):
        (tmp_path / folder).mkdir()
        write_image(tmp_path / folder / "picture.png", builders.smooth_noise(rng, side, side))
    folders = ["--positives", str(tmp_path / "crops"), "--negatives", str(tmp_path / "photos")]
    size = ["--samples", "60", "--window", "8x8", "--features-step", "4", "--rounds", "3", "--threads", "1"]
    which = ["--ratios", "2", "10", "--boosters", "adacost", "cost-sensitive", "gentle"]
    lines = run("bench_boosters.py", *size, *folders, *which).splitlines()
    assert lines[0] == "514 features x 60 samples, 1 threads"
    assert [line.split("|")[1].strip() for line in lines if line.startswith("| ")] == [
        "booster, costs",
        "adacost, 2:1",
        "cost-sensitive, 2:1",
        "cost-sensitive, 10:1",
        "cost-sensitive sign=any, 2:1",
        "cost-sensitive sign=any, 10:1",
        "gentle, 2:1",
    ]
    assert [line.partition(":")[0] for line in lines[-2:]] == ["one weighted error", "another loss"]


def test_boosters_have_limits_by_their_kind(program):
    bench = program("bench_boosters")
    none = bench.Timed(0.0, 0.0)

    def measured(name, ratio):
        case = bench.Case(name, bench.Costs(2, 1), {})
        return bench.Measurement(case, 1, none, bench.Timed(ratio, ratio))

    one, other, logit = bench.verdict(
        [measured("adac1", 1.3), measured("csb0", 1.0), measured("gentle", 1.3), measured("logit", 4.0)]
    ).splitlines()
    assert one == (
        "one weighted error: the greatest ratio of processor seconds is 1.30 (adac1, 2:1); above 1.25: adac1, 2:1"
    )
    assert other.startswith("another loss: ")
    assert other.endswith("above 1.75: none")
    assert logit.endswith("is 4.00 (logit, 2:1); above 3.5: logit, 2:1")


@pytest.mark.parametrize("name", ["build_models.py", "check_spoiled.py", "compare_face_models.py"])
def test_programs_explain_themselves(run, name):
    assert "usage:" in run(name, "--help")
