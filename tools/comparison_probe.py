"""Small comparisons on made-up data, whose results tell whether code still gives the numbers of published tables.

``python tools/comparison_probe.py --output FOLDER`` writes ``probe.json``: what every booster and rule reaches on a small
table, and some of them on two stages of a small cascade, with splits and with independent draws. It goes the whole way of
a real comparison: reading, training the reference, mining, binning, search, boosting, thresholds, measuring. So it changes
when results do, and not when code is only moved or renamed, as a hash of sources would. Numbers are compared to five digits:
other processors add in another order.

``python tools/comparison_probe.py --check samples/comparison`` says whether the tables in a folder are those of this code.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vjcascade.boosters import booster_names
from vjcascade.boosters.registry import code_digest
from vjcascade.boosters.state import Floats
from vjcascade.comparison import Comparison, Design, StagePlan, compare_stages, compare_tables
from vjcascade.comparison.design import Rule
from vjcascade.files import write_atomic
from vjcascade.imaging import write_image
from vjcascade.types import Size

PROBE_NAME = "probe.json"

PROVENANCE_NAME = "provenance.json"
"""Which tables there are in a folder, and with which code they were made."""

MEASURED = ("weak", "hit_rate", "false_alarm_rate", "cost", "auc", "calibration_error_platt", "threshold")

DIGITS = 1e-5
"""Numbers that differ by no more, of their size or of 1, are the same."""

SEED = 20
N_CROPS, N_PHOTOS, N_ROWS, N_COLUMNS = 300, 20, 240, 6
WINDOW = Size(10, 10)
PRIORS = ("cost-generalized:sample", "cost-sensitive:class")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--output", type=Path, help="folder for probe.json")
    action.add_argument("--check", type=Path, help="folder of published tables")
    arguments = parser.parse_args()
    if arguments.output:
        write_probe(arguments.output, probe())
        print(f"{arguments.output / PROBE_NAME} written")
        return
    faults = list(staleness(arguments.check, probe()))
    print("\n".join(faults) or f"the tables in {arguments.check} are those of this code")
    sys.exit(bool(faults))


def probe() -> dict[str, list[float | None]]:
    """Return what is reached, by dataset, entry and seed: `MEASURED`, None where there is no number."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _write_data(folder)
        found = dict(_numbers("table", _table(folder)))
        for n_draws in (0, 2):
            found |= _numbers(f"{n_draws} draws", _stages(folder, n_draws))
    return found


def write_probe(folder: Path, values: Mapping[str, Any]) -> None:
    """Keep a probe beside what was made with the same code."""
    lines = (f"  {json.dumps(name)}: {json.dumps(numbers)}" for name, numbers in values.items())
    write_atomic(folder / PROBE_NAME, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the names of what is no longer the same."""
    return [name for name in {**before, **now} if not _same(before.get(name), now.get(name))]


def staleness(folder: Path, now: Mapping[str, Any]) -> Iterator[str]:
    """Yield what shows that tables are not those of this code: one sentence each, none if they are.

    Parameters
    ----------
    folder : Path
        Of the tables, with `PROVENANCE_NAME` and `PROBE_NAME`.
    now : mapping
        Of `probe`.
    """
    absent = [name for name in (PROVENANCE_NAME, PROBE_NAME) if not (folder / name).exists()]
    if absent:
        yield f"{folder}: there is no {absent[0]}, so nothing tells how its tables were made"
        return
    provenance = json.loads((folder / PROVENANCE_NAME).read_text(encoding="utf-8"))
    kept = (folder / PROBE_NAME).read_bytes()
    digest = hashlib.sha256(kept).hexdigest()
    for name in sorted(
        {path.name for ending in ("*.csv*", "*.json.gz") for path in folder.glob(ending)} | provenance.keys()
    ):
        if name not in provenance:
            yield f"{name}: nothing tells how it was made; write it with tools/comparison_tables.py"
        elif not (folder / name).exists():
            yield f"{name}: {PROVENANCE_NAME} tells of it, but it is not there"
        elif hashlib.sha256((folder / name).read_bytes()).hexdigest() != provenance[name]["sha256"]:
            yield f"{name}: it was changed since it was made"
        elif provenance[name]["probe_sha256"] != digest:
            yield f"{name}: it was made with other code than {PROBE_NAME}"
    changed = differences(json.loads(kept), now)
    if changed:
        yield (
            f"the code has changed since the tables were made: {len(changed)} of {len(now)} results of the probe differ, "
            f"as {', '.join(changed[:3])}; make the tables anew (tools/run_comparison.py)"
        )


def _same(before: list[float | None] | None, now: list[float | None] | None) -> bool:
    if before is None or now is None or len(before) != len(now):
        return False
    pairs = zip(before, now, strict=True)
    return all(
        a is b is None or (a is not None and b is not None and abs(a - b) <= DIGITS * max(abs(a), 1))
        for a, b in pairs
    )


def _numbers(kind: str, comparison: Comparison) -> Iterator[tuple[str, list[float | None]]]:
    for (dataset, entry, seed), cell in sorted(comparison.cells.items()):
        name = f"{kind}, {comparison.datasets[dataset].name}, {comparison.entries[entry].name}, seed {seed}"
        yield name, [_short(cell[measure]) for measure in MEASURED]


def _short(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.7g}")


def _write_data(folder: Path) -> None:
    """Write crops with a bright side, photos of noise, and a table; the same on every machine."""
    rng = np.random.default_rng(SEED)

    def noise(*shape: int) -> Floats:
        """Return numbers that are nearly normal, from sums only: these are the same everywhere."""
        return rng.random((4, *shape)).sum(axis=0) - 2

    for kind in ("crops", "photos"):
        (folder / kind).mkdir()
    side = np.where(np.arange(WINDOW.width) < WINDOW.width // 2, 20.0, -20.0)
    for i in range(N_CROPS):
        grey = np.clip(128 + side + 55 * noise(WINDOW.height, WINDOW.width), 0, 255)
        write_image(folder / "crops" / f"{i:03}.png", grey.astype(np.uint8))
    for i in range(N_PHOTOS):
        write_image(folder / "photos" / f"{i:02}.png", (256 * rng.random((44, 52))).astype(np.uint8))
    labels = np.arange(N_ROWS) % 3 == 0
    rows = noise(N_ROWS, N_COLUMNS) + np.where(labels, 0.4, 0.0)[:, np.newaxis]
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([*(f"x{i}" for i in range(N_COLUMNS)), "y"])
    writer.writerows([*row, int(label)] for row, label in zip(rows.round(4).tolist(), labels, strict=True))
    (folder / "rows.csv").write_text(text.getvalue(), encoding="utf-8")


def _table(folder: Path) -> Comparison:
    own = [name for name in booster_names() if not code_digest(name)]  # no plug-ins
    boosters = (*own, *PRIORS)
    design = Design(boosters, (3,), tuple(Rule), n_rounds=12, n_seeds=1)
    return compare_tables([folder / "rows.csv"], "y", folder / "table", design, n_threads=1)


def _stages(folder: Path, n_draws: int) -> Comparison:
    boosters = ("adaboost", "cost-generalized", "cost-sensitive", "gentle")
    design = Design(boosters, (3,), n_rounds=6, n_seeds=max(n_draws, 1), hit_rate=0.95)
    # All features: of fewer than are split at their real values, bins would decide nothing.
    plan = StagePlan(n_stages=2, n_samples=200 // max(n_draws, 1), n_draws=n_draws)
    output = folder / f"stages-{n_draws}"
    return compare_stages(
        folder / "crops", folder / "photos", output, design, plan, window=WINDOW, n_threads=1
    )


if __name__ == "__main__":
    main()
