"""Compare boosters on ordinary tables: what ``vjcascade compare tables`` does, as one function."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from vjcascade.clusters import open_cluster
from vjcascade.comparison.design import Design
from vjcascade.comparison.problems import TableProblem
from vjcascade.comparison.results import Comparison
from vjcascade.comparison.run_cache import RunCache
from vjcascade.comparison.runner import compare, origin_of
from vjcascade.comparison.table_files import read_table
from vjcascade.errors import SettingsError
from vjcascade.files import remove_leftovers
from vjcascade.parallel import checked_threads
from vjcascade.training.events import Listener, Note, null_listener, versions
from vjcascade.training.run_lock import only_run_in


def compare_tables(  # noqa: PLR0913  the door to all of it: each is a user's choice
    tables: Sequence[str | PathLike[str]],
    target: str,
    output: str | PathLike[str],
    design: Design,
    *,
    positive: str | None = None,
    ignored: Sequence[str] = (),
    resume: bool = False,
    overwrite: bool = False,
    n_threads: int | None = None,
    client: Any = None,
    listener: Listener = null_listener,
) -> Comparison:
    """Compare boosters on the rows of tables.

    Parameters
    ----------
    tables : sequence of path
        Files as `vjcascade.comparison.table_files.read_table` reads them.
    target : str
        The column to be learnt, the same in all.
    output : path
        Folder for finished runs; made if need be.
    design : Design
        Who is compared, and how.
    positive : str, optional
        Value of the target that makes a row a positive.
    ignored : sequence of str
        Columns to leave out.
    resume : bool
        Continue the comparison in `output`: finished runs are kept.
    overwrite : bool
        Forget it.
    n_threads : int, optional
        Processes, if more than one: a program that calls this must then begin, as Python wants it, with
        ``if __name__ == "__main__":``. All processors if not given. No result but the seconds depends on it.
    client : distributed.Client or str, optional
        A cluster of Dask whose workers do the runs; see `vjcascade.train`. No result but the seconds depends on it.
    listener : Listener
        Gets notes and progress; see `vjcascade.training.events`.

    Returns
    -------
    Comparison
        Complete.

    Raises
    ------
    SourceError
        If a file is not usable.
    SettingsError
        If settings cannot be used or contradict each other or what is in `output`, or if there are too few rows.
    ClusterError
        If the cluster cannot be reached, or is lost. What was finished before is kept.
    OSError
        If results cannot be kept. What was finished before is.

    Examples
    --------
    >>> design = Design(  # doctest: +SKIP
    ...     boosters=("adaboost", "adac2"), costs=(1, 10), rules=("natural", "calibrated")
    ... )
    >>> compare_tables(["patients.csv"], "ill", "tables", design)  # doctest: +SKIP
    """
    n_threads, folder = checked_threads(n_threads), Path(output)
    RunCache.check_folder(folder, resume=resume, overwrite=overwrite)
    problems = [read_table(path, target, positive, ignored) for path in tables]
    _refuse_same_names(problems)
    for path, problem in zip(tables, problems, strict=True):
        listener(Note(f"{path}: {problem.table.shape[1]:,} features; {'; '.join(problem.notes)}"))
    with only_run_in(folder), open_cluster(client) as cluster:
        remove_leftovers(folder)
        data = {f"{problem.name}_sha256": _digest(problem) for problem in problems}
        cache = RunCache.open(folder, origin_of(design, data), resume=resume, overwrite=overwrite)
        metadata = {
            "data": {
                "target": target,
                **{problem.name: "; ".join(problem.notes) for problem in problems},
            },
            "versions": versions(),
        }
        datasets = ((problem, None) for problem in problems)
        return compare(
            "tables",
            datasets,
            len(problems),
            design,
            cache,
            metadata=metadata,
            n_threads=n_threads,
            cluster=cluster,
            listener=listener,
        )


def _refuse_same_names(problems: Sequence[TableProblem]) -> None:
    names = [problem.name for problem in problems]
    if not names:
        raise SettingsError("tables: none is given; name at least one file")
    if len(set(names)) < len(names):
        raise SettingsError(f"two tables have the same name among {', '.join(names)}: rename a file")


def _digest(problem: TableProblem) -> str:
    digest = hashlib.sha256(str(problem.table.shape).encode())
    digest.update(problem.table.tobytes())
    digest.update(problem.labels.tobytes())
    return digest.hexdigest()
