"""The benchmark beside OpenCV's trainer: what both trainers are told."""

from __future__ import annotations

from pathlib import Path

import builders
import numpy as np
import pytest
from easy_pictures import save

from vjcascade import Size


@pytest.mark.parametrize(
    ("features", "theirs"),
    [("haar", ["HAAR", "-mode", "BASIC"]), ("lbp", ["LBP"])],
)
def test_both_train_the_same(program, tmp_path, monkeypatch, features, theirs):
    bench = program("bench_traincascade")
    commands = []

    def run(command):
        """Make a model where the command says, in no time."""
        output = Path(command[next(i for i, word in enumerate(command) if word in {"--output", "-data"}) + 1])
        output.mkdir(exist_ok=True)
        builders.accept_all(Size(24, 24), 3).save(output / "cascade.xml")
        commands.append(command)
        return 2.0, 3.0, 0.5

    monkeypatch.setattr(bench, "_run", run)
    save(tmp_path / "faces", np.zeros((2, 24, 24), np.uint8))
    save(tmp_path / "photos", np.zeros((1, 30, 30), np.uint8))
    task = bench.Task(tmp_path / "faces", tmp_path / "photos", features, 3)
    ours, peer = bench._ours(task, tmp_path / "ours"), bench._opencv(task, Path("trainer"), tmp_path / "peer")
    assert (ours.wall, ours.cpu, ours.memory, ours.cascade.n_stages) == (2.0, 3.0, 0.5, 3)
    assert peer.name == "trainer"
    (first, second) = commands
    assert first[first.index("--features") + 1] == features
    assert second[second.index("-featureType") + 1 :][: len(theirs)] == theirs
    assert ("-mode" in second) == (features == "haar")
    assert first[first.index("--stages") + 1] == second[second.index("-numStages") + 1] == "3"
    assert (tmp_path / "peer" / "faces.vec").stat().st_size == 12 + 2 * (1 + 2 * 24 * 24)
