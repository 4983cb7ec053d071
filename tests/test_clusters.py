"""Training by a cluster of real processes: the same bytes as on one machine, whatever becomes of workers."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import builders
import numpy as np
import pytest

from vjcascade import Cascade, Detector, clusters
from vjcascade.cli.main import run
from vjcascade.clusters import open_cluster
from vjcascade.comparison import Design, compare_tables
from vjcascade.compat.data import find
from vjcascade.errors import ClusterError, ImageError, MissingLibraryError, SettingsError
from vjcascade.evaluation import Candidate, evaluate, read_scenes
from vjcascade.imaging import write_image
from vjcascade.training import Progress, RoundDone, TrainingSettings, train
from vjcascade.training.events import Event

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore")  # what Dask warns of is not ours
SETTINGS = TrainingSettings(max_stages=2, max_weak=5, n_negatives=200, copies=0)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Return a cluster of four processes, which tests make smaller."""
    with distributed.LocalCluster(
        n_workers=4, threads_per_worker=1, dashboard_address=None, memory_limit=0, silence_logs=50
    ) as four:
        yield four


@pytest.fixture(scope="module")
def crops() -> np.ndarray:
    mean = np.where(np.arange(12) < 6, 150, 110)
    return np.random.default_rng(0).normal(mean, 40, (120, 12, 12)).clip(0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(1)
    for i in range(8):
        write_image(folder / f"{i}.png", rng.integers(0, 256, (60, 80), np.uint8))
    return folder


@pytest.fixture(scope="module")
def train_on(
    crops: np.ndarray, photos: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., bytes]:
    """Return `train_on(client, ...)`: the bytes of a model."""

    def train_on(client: Any, settings: TrainingSettings = SETTINGS, **options: Any) -> bytes:
        output = tmp_path_factory.mktemp("model")
        train(crops, photos, output, settings, window=(12, 12), client=client, **options)
        return (output / "cascade.xml").read_bytes()

    return train_on


@pytest.fixture(scope="module")
def expected(train_on: Callable[..., bytes]) -> bytes:
    model = train_on(None, n_threads=1)
    assert model.count(b"<stageThreshold>") == SETTINGS.max_stages
    return model


def test_a_cluster_of_any_size_trains_the_same_model(
    cluster: Any, train_on: Callable[..., bytes], expected: bytes
) -> None:
    assert train_on(None, n_threads=4) == expected
    for n_workers in (4, 2, 1):
        with distributed.Client(cluster) as client:
            cluster.scale(n_workers)
            while len(client.nthreads()) != n_workers:
                pass
            assert train_on(client) == expected
    cluster.scale(2)


@pytest.mark.parametrize("when", ["boosting", "mining"])
def test_a_worker_that_is_killed_changes_nothing(
    when: str, cluster: Any, train_on: Callable[..., bytes], expected: bytes
) -> None:
    killed: list[str] = []
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)

        def kill(event: Event) -> None:
            is_now = (
                isinstance(event, RoundDone) and event.stage == 2 and event.n_weak == 2
                if when == "boosting"
                else isinstance(event, Progress) and event.part == "stage 2: mining negatives"
            )
            if is_now and not killed:
                worker, pid = sorted(client.run(os.getpid).items())[0]
                killed.append(worker)
                os.kill(pid, signal.SIGKILL)

        assert train_on(client, listener=kill) == expected
    assert killed


def test_a_worker_that_comes_later_and_a_resumed_run_change_nothing(
    cluster: Any, crops: np.ndarray, photos: Path, expected: bytes, tmp_path: Path
) -> None:
    """A worker is added while the first stage is boosted; stopped in the second, the run goes on with one of them."""

    def scale(n_workers: int) -> None:
        cluster.scale(n_workers)
        while len(cluster.scheduler_info["workers"]) != n_workers:
            pass

    def add_and_stop(event: Event) -> None:
        if isinstance(event, RoundDone) and (event.stage, event.n_weak) == (1, 2):
            scale(2)
        if isinstance(event, RoundDone) and (event.stage, event.n_weak) == (2, 2):
            raise KeyboardInterrupt

    def train_here(client: Any, **options: Any) -> None:
        train(crops, photos, tmp_path, SETTINGS, window=(12, 12), client=client, **options)

    scale(1)
    with distributed.Client(cluster) as client:
        with pytest.raises(KeyboardInterrupt):
            train_here(client, listener=add_and_stop)
        scale(1)
        train_here(client, resume=True)
    assert (tmp_path / "cascade.xml").read_bytes() == expected


@pytest.mark.parametrize("booster", ["cost-sensitive", "cost-generalized-logit"])
def test_losses_that_are_not_linear(booster: str, cluster: Any, train_on: Callable[..., bytes]) -> None:
    settings = TrainingSettings(
        booster=booster, max_stages=1, max_weak=4, max_depth=2, n_negatives=300, copies=0
    )
    with distributed.Client(cluster) as client:
        assert train_on(client, settings) == train_on(None, settings)


def test_a_photo_that_workers_cannot_read_is_searched_here(
    cluster: Any, train_on: Callable[..., bytes], expected: bytes
) -> None:
    def refuse(*_: Any) -> None:
        from vjcascade.training.data import backgrounds
        from vjcascade.training.mining import far_scan

        def load(photo: backgrounds.BackgroundImage) -> None:
            raise OSError(f"{photo.path}: not on this machine")

        far_scan._kept.load = load  # type: ignore[method-assign,assignment]

    with distributed.Client(cluster) as client:
        client.run(refuse)
        assert train_on(client) == expected


def test_a_scheduler_that_is_lost_ends_the_run_with_a_sentence(train_on: Callable[..., bytes]) -> None:
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50
    ) as small:
        client = distributed.Client(small.scheduler_address, timeout=2)

        def lose(event: Event) -> None:
            if isinstance(event, RoundDone):
                small.close()

        with pytest.raises(ClusterError, match=r"scheduler no longer answers.*resume"):
            train_on(client, listener=lose)
        with suppress(TimeoutError):
            client.close(timeout=0)


@pytest.fixture
def scenes(tmp_path: Path) -> Path:
    """Return a folder with a list of scenes, one of which is no picture."""
    for i in range(4):
        write_image(tmp_path / f"{i}.png", builders.picture("astronaut.png")[20 * i : 20 * i + 150, 150:300])
    (tmp_path / "broken.png").write_bytes(b"no picture")
    (tmp_path / "scenes.txt").write_text("".join(f"{i}.png 1 60 50 60 60\n" for i in range(4)))
    return tmp_path


def test_detection_on_a_cluster(
    cluster: Any, scenes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A picture that nobody can read is named, and the others are searched."""
    cluster.scale(2)
    words = ["detect", "frontalface", str(scenes), "--format", "jsonl", "--min-neighbors", "0"]
    assert run(words) == 2
    here = capsys.readouterr()
    assert run([*words, "--cluster", cluster.scheduler_address]) == 2
    there = capsys.readouterr()
    assert here.out == there.out
    assert here.out.count('"file"') == 4
    assert "broken.png" in there.err
    output = tmp_path / "found.jsonl"
    resumable = [*words, "--resume", "--output", str(output), "--cluster", cluster.scheduler_address]
    assert run(resumable) == 2
    assert output.read_text() == here.out


def test_pictures_that_workers_cannot_read_are_searched_here(
    cluster: Any, scenes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def lose(*_: Any) -> None:
        from vjcascade.cli import inputs

        def read(path: Path) -> None:
            raise ImageError(f"{path}: not on this machine")

        inputs.read_image = read  # type: ignore[assignment]

    def find_again(*_: Any) -> None:
        from vjcascade import imaging
        from vjcascade.cli import inputs

        inputs.read_image = imaging.read_image

    words = ["detect", "frontalface", str(scenes / "0.png"), "--format", "csv", "--min-neighbors", "0"]
    assert run(words) == 0
    expected = capsys.readouterr().out
    with distributed.Client(cluster) as client:
        client.run(lose)
        assert run([*words, "--cluster", cluster.scheduler_address]) == 0
        client.run(find_again)
    assert capsys.readouterr().out == expected
    assert expected.count("\n") > 1


@pytest.mark.parametrize("words", [["--camera", "0"], ["a.png", "--show"], ["a.png", "--draw", "out"]])
def test_what_a_cluster_cannot_do_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["detect", "car", *words, "--cluster", "local:2"]) == 2
    assert "--cluster works without" in capsys.readouterr().err


def test_videos_are_not_for_clusters(scenes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (scenes / "clip.avi").write_bytes(b"no video")
    assert run(["detect", "car", str(scenes / "clip.avi"), "--cluster", "local:2"]) == 2
    assert "--cluster is for pictures" in capsys.readouterr().err


def test_evaluation_on_a_cluster(cluster: Any, scenes: Path) -> None:
    candidate = Candidate("cars", Detector(Cascade.load(find("car"))))
    labelled = read_scenes(scenes / "scenes.txt")
    here = evaluate([candidate], labelled).models[0]
    with distributed.Client(cluster) as client:
        there = evaluate([candidate], labelled, client=client).models[0]
    np.testing.assert_array_equal(here.values, there.values)
    assert [one.found.boxes.tolist() for one in here.findings] == [
        one.found.boxes.tolist() for one in there.findings
    ]
    assert here.n_windows == there.n_windows


def test_comparison_on_a_cluster(cluster: Any, tmp_path: Path, rng: np.random.Generator) -> None:
    rows = rng.normal(size=(60, 2)) + (np.arange(60) % 2)[:, np.newaxis]
    lines = [f"{first:.3f},{second:.3f},{i % 2}" for i, (first, second) in enumerate(rows)]
    (tmp_path / "table.csv").write_text("\n".join(["first,second,state", *lines]) + "\n")
    design = Design(boosters=("adaboost", "adac2"), costs=(1, 5), n_rounds=4, n_seeds=2)

    def cells(folder: str, **where: Any) -> list[dict[str, Any]]:
        found = compare_tables([tmp_path / "table.csv"], "state", tmp_path / folder, design, **where)
        places = sorted(found.cells)
        return [
            {key: found.cells[place][key] for key in sorted(found.cells[place]) if key != "seconds"}
            for place in places
        ]

    with distributed.Client(cluster) as client:
        assert cells("there", client=client) == cells("here", n_threads=1)


def test_workers_asked_at_once_are_not_waited_for_when_they_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was lost closes its connection, and counts for nothing; one that hangs must not hold up the run."""
    monkeypatch.setattr(clusters, "POLL", 0.01)

    class Client:
        def __init__(self) -> None:
            self.answers: Any = {"tcp://a:1": 5, "tcp://b:1": OSError("it left")}
            self.at_the_end = threading.Event()

        def run(self, *_: Any, **__: Any) -> Any:
            return self.answers or self.at_the_end.wait()

        def nthreads(self) -> dict[str, int]:
            return {"tcp://a:1": 1}

    client, both = Client(), ["tcp://a:1", "tcp://b:1"]
    cluster = clusters.Cluster(client)
    assert cluster.ask_at_once(both, abs, -5) == {"tcp://a:1": 5}
    client.answers = None
    assert cluster.ask_at_once(both, abs, -5) == {}
    client.at_the_end.set()
    client.answers = {"tcp://a:1": ImageError("it is cut off")}
    with pytest.raises(ImageError, match="cut off"):
        cluster.ask_at_once(both, abs, -5)


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(clusters, "SECONDS_TO_CONNECT", 0.5)
    assert run(["train", "crops", "photos", "--cluster", "tcp://127.0.0.1:9"]) == 2
    assert "no scheduler answers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("answer", "reason"),
    [("0.0.1", "has vjcascade 0.0.1"), (ImportError("no numba"), r"cannot import vjcascade \(no numba\)")],
)
def test_workers_that_would_compute_something_else_are_refused(answer: Any, reason: str) -> None:
    class Answers:
        def run(self, *_: Any, **__: Any) -> dict[str, Any]:
            return {"tcp://a:1": OSError("it left"), "tcp://b:1": answer}

    with pytest.raises(ClusterError, match=f"worker tcp://b:1 {reason}"):
        clusters._check_versions(Answers())


def test_what_is_no_cluster_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="local:4"), open_cluster("local:0"):
        pass
    with pytest.raises(SettingsError, match="neither an address"), open_cluster(7):
        pass
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with (
        pytest.raises(MissingLibraryError, match=r"need Dask.*pip install distributed"),
        open_cluster("local:2"),
    ):
        pass
