"""Time what grows beyond a machine: a detection over shards beside one over files, and a stage on a cluster beside threads.

``python tools/bench_clusters.py shards`` makes small pictures, as files and in tar shards, has ``vjcascade detect`` search
both in processes of their own, and prints time and memory as a Markdown table. With ``--pictures`` of two sizes, memory that
grows shows.
``python tools/bench_clusters.py stage`` trains a stage on windows of noise with threads and with as many workers of one thread
each, and checks that the weak classifiers are the same. ``--windows 200000 --memory 4GiB`` keeps bins on disk.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from vjcascade import Size
from vjcascade.boosters import Costs, make_booster
from vjcascade.clusters import Cluster, open_cluster
from vjcascade.features.binning import spread_places
from vjcascade.features.families import FAMILIES
from vjcascade.features.haar import HaarMode
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.imaging import write_image
from vjcascade.learning.boosting import WeakClassifier, boost
from vjcascade.learning.samples import WindowSamples, WindowValues
from vjcascade.learning.search import Search, StumpSearch
from vjcascade.learning.sharding import ShardedSearch
from vjcascade.messages import memory_size
from vjcascade.parallel import checked_memory
from vjcascade.training.memory_plan import MemoryEstimate, MemoryPlan
from vjcascade.training.usage import resident_memory
from vjcascade.types import FeatureType

PER_SHARD = 1000
"""Pictures."""


def make_pictures(folder: Path, n_pictures: int) -> str:
    """Write pictures into a folder, and all of them into shards; return the name of these."""
    rng = np.random.default_rng(0)
    pictures = folder / "pictures"
    pictures.mkdir()
    n_shards = -(-n_pictures // PER_SHARD)
    for shard in range(n_shards):
        with tarfile.open(folder / f"shard-{shard:04}.tar", "w") as archive:
            for i in range(shard * PER_SHARD, min((shard + 1) * PER_SHARD, n_pictures)):
                path = pictures / f"{i:07}.jpg"
                coarse = rng.integers(0, 256, (12, 16), np.uint8)
                write_image(path, np.kron(coarse, np.ones((8, 8), np.uint8)))
                archive.add(path, path.name)
    return str(folder / f"shard-{{0000..{n_shards - 1:04}}}.tar")


def measure_detection(source: str, output: Path) -> str:
    """Search pictures in a process of its own; return cells of the table."""
    words = [
        "detect",
        "frontalface",
        source,
        "--format",
        "jsonl",
        "--output",
        output,
        "--resume",
        "--threads",
        "1",
    ]
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "vjcascade", *map(str, words)], stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"vjcascade {' '.join(map(str, words))}: it ended with code {status}")
    seconds, cpu = time.perf_counter() - began, usage.ru_utime + usage.ru_stime
    return f"{seconds:.1f} | {cpu:.1f} | {memory_size(usage.ru_maxrss * 1024)}"


def bench_shards(arguments: argparse.Namespace) -> None:
    """Print the table of detections."""
    print("| pictures | in | s | processor s | memory |")
    print("|---|---|---|---|---|")
    for n_pictures in arguments.pictures:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            shards = make_pictures(folder, n_pictures)
            for kind, source in (("files", str(folder / "pictures")), ("shards", shards)):
                print(f"| {n_pictures:,} | {kind} | {measure_detection(source, folder / f'{kind}.jsonl')} |")
            files, tars = (
                (folder / f"{kind}.jsonl").read_text().splitlines() for kind in ("files", "shards")
            )
            if [line.split('"width"')[1] for line in files] != [line.split('"width"')[1] for line in tars]:
                sys.exit("shards gave other detections than files")


class Stage:
    """A stage's windows: noise, a little brighter on the left in positives."""

    def __init__(self, n_windows: int, side: int) -> None:
        rng = np.random.default_rng(0)
        self.windows = rng.integers(0, 256, (n_windows, side, side), np.uint8)
        self.n_positives = n_windows // 2
        self.windows[: self.n_positives, :, : side // 2] |= 32
        self.pool = FAMILIES[FeatureType.HAAR].enumerate(Size(side, side), HaarMode.BASIC)
        self.few = self.windows[spread_places(self.n_positives)]

    def rounds(self, search: Search, n_rounds: int) -> Iterator[WeakClassifier]:
        """Yield the weak classifiers of a boosting run."""
        return islice(boost(search, make_booster("cost-generalized", Costs(2, 1))), n_rounds)

    def search_here(self, n_threads: int, plan: MemoryPlan) -> StumpSearch:
        """Return the search by threads."""
        family, few = FAMILIES[FeatureType.HAAR], WindowIntegrals.of(self.few)
        store = family.bin_store(self.pool, few, n_threads, plan.bins)
        samples = WindowSamples(store, WindowIntegrals.of(self.windows), self.n_positives)
        return StumpSearch(samples, n_threads, plan.histograms)

    def search_there(self, cluster: Cluster, n_threads: int) -> ShardedSearch:
        """Return the search by a cluster."""
        values = WindowValues(self.pool, WindowIntegrals.of(self.windows), self.n_positives)
        return ShardedSearch(cluster, values, self.windows, self.few, n_threads)


def bench_stage(arguments: argparse.Namespace) -> None:
    """Print the table of stages."""
    stage, n_workers = Stage(arguments.windows, arguments.side), arguments.workers
    n_windows, n_features = len(stage.windows), len(stage.pool)
    print(f"{n_windows:,} windows, {n_features:,} features, {arguments.rounds} rounds\n")
    print("| by | bins, s | round, s | memory here | bins lie |")
    print("|---|---|---|---|---|")
    estimate = MemoryEstimate.of(
        Size(arguments.side, arguments.side), n_features, n_windows, n_threads=n_workers
    )
    models = []
    kinds = (arguments.only,) if arguments.only else ("threads", "workers")
    address = (arguments.cluster or f"local:{n_workers}") if "workers" in kinds else None
    with tempfile.TemporaryDirectory() as folder, open_cluster(address) as cluster:
        for kind in kinds:
            began = time.perf_counter()
            if kind == "threads":
                taken = resident_memory() or 0
                plan = estimate.plan(checked_memory(arguments.memory), Path(folder), taken)
                search, place = (
                    stage.search_here(n_workers, plan),
                    "on disk" if plan.bins.folder else "in memory",
                )
            else:
                search, place = stage.search_there(cluster, n_workers), "in the workers"
            rounds = stage.rounds(search, arguments.rounds)
            model = [next(rounds)]
            ready = time.perf_counter()
            model += rounds
            a_round = (time.perf_counter() - ready) / max(len(model) - 1, 1)
            used = memory_size(resident_memory() or 0)
            print(
                f"| {n_workers} {kind} | {ready - began:.1f} | {a_round:.3f} | {used} | {place} |", flush=True
            )
            models.append([(one.tree.stumps, one.alpha) for one in model])
    if models[0] != models[-1]:
        sys.exit("workers found other weak classifiers than threads")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    shards = commands.add_parser("shards")
    shards.add_argument("--pictures", type=int, nargs="+", default=[2000, 8000])
    shards.set_defaults(run=bench_shards)
    stage = commands.add_parser("stage")
    stage.add_argument("--windows", type=int, default=10_000)
    stage.add_argument("--side", type=int, default=24)
    stage.add_argument("--rounds", type=int, default=20)
    stage.add_argument("--workers", type=int, default=2)
    stage.add_argument("--memory", help="for the threads, as 4GiB")
    stage.add_argument("--only", choices=("threads", "workers"))
    stage.add_argument("--cluster", help="address of a scheduler, in place of workers on this machine")
    stage.set_defaults(run=bench_stage)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
