"""Test all exports of models on many windows: the C, JavaScript, Python and JSON exports must give the engine's results.

``python tools/check_exports.py --windows 100000`` tests the models of the project and scikit-image's LBP file;
``python tools/check_exports.py FILE FOLDER ...`` any cascade files, such as OpenCV's. Windows are generated so that they
reach every stage, and some are accepted (see `vjcascade.exports.trial`). For OpenMV, the last column reports how many
decisions differ. Models that an export cannot express must be refused, with a reason. The program fails if anything
differs, or an export was not run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from detection_data import LBP_FILE, files_in

from vjcascade.cascade import Cascade
from vjcascade.errors import ModelError
from vjcascade.exports import EXPORTS
from vjcascade.exports.base import Export
from vjcascade.exports.trial import Trial

MODELS = Path(__file__).resolve().parent.parent / "models"

HEADER = "| model | stages, weak classifiers | export | windows | accepted | seconds | outcome |\n|---|---|---|---|---|---|---|"


def main() -> None:
    arguments = options()
    failed = False
    print(HEADER)
    for path in arguments.models:
        cascade = Cascade.load(path)
        trial = Trial.of(cascade, arguments.windows, arguments.seed)
        size = f"{trial.cascade.n_stages}, {trial.cascade.n_trees:,}"
        windows = f"{len(trial.windows):,} | {trial.n_accepted:,}"
        for name in arguments.exports:
            began = time.perf_counter()
            outcome, is_good = tried(EXPORTS[name], cascade, trial)
            failed |= not is_good
            took = time.perf_counter() - began
            print(f"| {path.name} | {size} | {name} | {windows} | {took:.1f} | {outcome} |", flush=True)
    sys.exit(1 if failed else 0)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "models", nargs="*", type=Path, default=[MODELS, LBP_FILE], help="cascade files, or folders of them"
    )
    parser.add_argument("--exports", nargs="+", choices=list(EXPORTS), default=list(EXPORTS))
    parser.add_argument("--windows", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arguments.models = [
        file
        for path in arguments.models
        for file in ([one.ours for one in files_in(path)] if path.is_dir() else [path])
    ]
    return arguments


def tried(export: Export, cascade: Cascade, trial: Trial) -> tuple[str, bool]:
    """Return what came of one export, and whether that is as it must be."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{export.suffixes[0]}"
        try:
            data = export.dump(cascade, path)
        except ModelError as error:
            return f"refused: {error}", True
        try:
            how = export.verify(data, trial, path)
        except ModelError as error:
            return f"**differs**: {error}", False
    return how, "was not run" not in how


if __name__ == "__main__":
    main()
