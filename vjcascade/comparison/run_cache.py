"""Finished runs on disk, one line of JSON for each: an interrupted comparison goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from vjcascade.errors import SettingsError
from vjcascade.files import append_whole, write_atomic

RUNS_NAME = "runs.jsonl"

SCHEMA_VERSION = 2

Results = dict[str, Mapping[str, Any]]
"""What each entry of a run was judged to reach, by the entry's name."""


@dataclass(frozen=True, eq=False)
class RunCache:
    """Results of runs by dataset, seed and run; every new one is on disk before the next is begun.

    Attributes
    ----------
    path : Path
        The file: a line that says what the runs depend on, then a line for each.
    results : dict
        By name of the dataset, seed, and key of the run.
    """

    path: Path
    results: dict[tuple[str, int, str], Results]

    @classmethod
    def open(
        cls, folder: Path, origin: Mapping[str, Any], *, resume: bool = False, overwrite: bool = False
    ) -> Self:
        """Begin a file of runs, or go on with one.

        Parameters
        ----------
        folder : Path
            Where it is; must be there.
        origin : mapping
            Plain JSON values that the results depend on: data, rounds, targets. (Boosters, costs, rules and seeds may
            change: what is there of them is used.)
        resume : bool
            Continue with the runs that are there.
        overwrite : bool
            Forget them.

        Returns
        -------
        RunCache
            With those that are there. A torn last line, of a process that was killed, is dropped.

        Raises
        ------
        SettingsError
            If there are runs and neither `resume` nor `overwrite` is set, or if they are of another origin; every
            difference is named.
        """
        cls.check_folder(folder, resume=resume, overwrite=overwrite)
        path = folder / RUNS_NAME
        head = json.loads(json.dumps({"v": SCHEMA_VERSION, **origin}))
        if path.exists() and not overwrite:
            lines = _lines(path)
            _refuse_differences(path, lines[0] if lines else {}, head)
        else:
            lines = [head]
        write_atomic(path, b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        return cls(path, {(one["block"], one["seed"], one["run"]): one["results"] for one in lines[1:]})

    @staticmethod
    def check_folder(folder: Path, *, resume: bool, overwrite: bool) -> None:
        """Refuse a folder before the work that would end in it.

        Parameters
        ----------
        folder : Path
            Where the runs shall be.
        resume, overwrite : bool
            What to do with runs that are there: go on with them, or forget them.

        Raises
        ------
        SettingsError
            If what to do with the runs in it is unclear.
        """
        if resume and overwrite:
            raise SettingsError("resume and overwrite exclude each other: choose one")
        if (folder / RUNS_NAME).exists() and not (resume or overwrite):
            raise SettingsError(
                f"{folder} already holds a comparison: resume or overwrite it (resume=True, overwrite=True), "
                "or choose another output folder"
            )

    def add(self, dataset: str, seed: int, run: str, results: Results) -> None:
        """Keep the results of a run.

        Parameters
        ----------
        dataset : str
            Its name.
        seed : int
            Number of the split, from 0.
        run : str
            The run's key.
        results : dict
            What each entry that it serves was judged to reach.

        Raises
        ------
        OSError
            If they cannot be written, as on a full disk. Those before are there.
        """
        line = json.dumps({"block": dataset, "seed": seed, "run": run, "results": results}).encode() + b"\n"
        try:
            with self.path.open("ab", buffering=0) as file:
                append_whole(file, line)
                os.fsync(file.fileno())
        except OSError as error:
            reason = f"{error.strerror}; finished runs are saved: free some space and resume"
            raise OSError(error.errno, reason, str(self.path)) from error
        self.results[dataset, seed, run] = results


def _lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines that are whole."""
    found = []
    for line in path.read_bytes().splitlines():
        try:
            found.append(json.loads(line))
        except (ValueError, RecursionError):  # torn or damaged
            continue
    return [one for i, one in enumerate(found) if isinstance(one, dict) and (i == 0 or _is_run(one))]


def _is_run(line: Mapping[str, Any]) -> bool:
    kinds = {"block": str, "seed": int, "run": str, "results": dict}
    return all(isinstance(line.get(name), kind) for name, kind in kinds.items())


def _refuse_differences(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    if before.get("v") != SCHEMA_VERSION:
        raise SettingsError(
            f"{path} is not a record of a comparison that can be resumed; choose another output folder"
        )
    changed = [name for name in dict.fromkeys([*now, *before]) if before.get(name) != now.get(name)]
    telling = [name for name in changed if not name.endswith("sha256")]
    differences = [f"{name}: {before.get(name)} there, {now.get(name)} now" for name in telling]
    if changed and not telling:
        differences = [f"other contents: {', '.join(name.removesuffix('_sha256') for name in changed)}"]
    if changed:
        raise SettingsError(
            f"{path} cannot be resumed; {'; '.join(differences)}. Restore it, or choose another output folder"
        )
