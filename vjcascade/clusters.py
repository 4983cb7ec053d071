"""The only door to Dask: work that is done by the workers of a cluster, and comes back in the order of the tasks.

What a cluster does must not depend on how many workers it has, or on which of them does what. Workers may come and go:
what one was doing when it was lost is done again by another.
"""

from __future__ import annotations

import re
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from vjcascade.errors import CascadeError, ClusterError, MissingLibraryError, SettingsError
from vjcascade.parallel import ordered_map

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

AHEAD = 3
"""Tasks for each thread of the cluster that are under way or wait to be taken."""

SECONDS_TO_CONNECT = 20
"""For a scheduler to answer."""

SECONDS_WITHOUT_WORKERS = 60.0
"""So long a cluster may be without a worker: new ones may be on their way."""

POLL = 1.0
"""Seconds between looks at who is still there, while an answer is waited for."""

_LOCAL = re.compile(r"local:([1-9]\d{0,2})")


class Cluster:
    """A cluster of Dask.

    Parameters
    ----------
    client : distributed.Client
        Connected to its scheduler.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._without_workers_since: float | None = None

    def workers(self) -> dict[str, int]:
        """Return the threads of each worker, by its address, sorted.

        Raises
        ------
        ClusterError
            If the scheduler is lost, or there has been no worker for `SECONDS_WITHOUT_WORKERS`.
        """
        while True:
            try:
                threads: dict[str, int] = self._client.nthreads()
            except Exception as error:  # whatever its connection raises
                raise self._lost(error) from error
            if threads:
                self._without_workers_since = None
                return dict(sorted(threads.items()))
            self._without_workers_since = self._without_workers_since or time.monotonic()
            if time.monotonic() - self._without_workers_since > SECONDS_WITHOUT_WORKERS:
                raise ClusterError(
                    f"the cluster has had no worker for {SECONDS_WITHOUT_WORKERS:.0f} s: start some, and begin again "
                    "or resume"
                )
            time.sleep(POLL)

    def ordered_map(
        self, function: Callable[[Shared, Task], Result], shared: Shared, tasks: Iterable[Task]
    ) -> Iterator[Result]:
        """Yield `function(shared, task)` for every task, in order, computed by whatever workers there are.

        Parameters
        ----------
        function : callable
            Of a module. It must not depend on other tasks: where a worker is lost, it is called again.
        shared : object
            What all tasks need: each worker gets it once.
        tasks : iterable
            Read lazily.

        Yields
        ------
        object
            The results, in the order of `tasks`.

        Raises
        ------
        ClusterError
            If the scheduler or all workers are lost, or a task ends one worker after the other.
        """
        held = self._submit(_same, shared)
        queue = iter(tasks)
        pending: deque[Any] = deque()
        n_ahead = AHEAD * sum(self.workers().values())
        try:
            while True:
                for task in islice(queue, n_ahead - len(pending)):
                    pending.append(self._submit(function, held, task))
                if not pending:
                    return
                yield self.result(pending.popleft())
        finally:
            with suppress(Exception):  # a scheduler that is lost cannot be told
                self._client.cancel(list(pending))

    def submit_to(self, worker: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Have one worker, and no other, call a function.

        Parameters
        ----------
        worker : str
            Its address.
        function : callable
            Of a module.
        *arguments
            What it is called with.

        Returns
        -------
        distributed.Future
            For `is_done`, `died_of` and `result`.
        """
        return self._submit(function, *arguments, workers=[worker], allow_other_workers=False)

    def is_done(self, future: Any, seconds: float = POLL) -> bool:
        """Wait a while for an answer; tell whether it is there, or will never be."""
        from distributed import wait

        try:
            wait(future, timeout=seconds)  # type: ignore[no-untyped-call]
        except TimeoutError:
            return False
        except Exception as error:  # it was cancelled, or the connection is gone
            raise self._lost(error) from error
        return bool(future.done())

    def died_of(self, future: Any) -> bool:
        """Tell whether a call ended because its worker was lost."""
        from distributed import KilledWorker

        return future.status == "lost" or (
            future.status == "error" and isinstance(future.exception(), KilledWorker)
        )

    def result(self, future: Any) -> Any:
        """Return an answer.

        Raises
        ------
        ClusterError
            As `ordered_map`.
        """
        from distributed import KilledWorker

        while not self.is_done(future):
            self.workers()
        try:
            return future.result()
        except CascadeError:
            raise
        except KilledWorker as error:
            raise ClusterError(
                f"the same work ended several workers, one after the other ({error}): it probably takes more "
                "memory than they have"
            ) from error
        except Exception as error:
            if future.status in {"cancelled", "lost"}:
                raise self._lost(error) from error
            raise

    def _submit(self, function: Callable[..., Any], *arguments: Any, **where: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sending large graph")  # once for a stage
                return self._client.submit(function, *arguments, pure=False, **where)
        except Exception as error:
            raise self._lost(error) from error

    def _lost(self, error: BaseException) -> ClusterError:
        reason = str(error).split("\n")[0] or type(error).__name__
        return ClusterError(
            f"the cluster's scheduler no longer answers ({reason}): start it again and repeat the command; with "
            "--resume it keeps what was finished, on a cluster of any size or without one"
        )


def spread(
    cluster: Cluster | None,
    function: Callable[[Shared, Task], Result],
    shared: Shared,
    tasks: Sequence[Task],
    n_threads: int,
) -> Iterator[Result]:
    """Yield `function(shared, task)` for every task, in order, computed by a cluster or by threads of this process.

    Parameters
    ----------
    cluster : Cluster or None
        None for threads.
    function : callable
        As for `Cluster.ordered_map`. What a worker refuses with a `CascadeError`, such as a picture that it cannot
        read, is tried again here.
    shared : object
        What all tasks need.
    tasks : sequence
        What is to be done.
    n_threads : int
        Threads where there is no cluster.

    Yields
    ------
    object
        The results, in the order of `tasks`.

    Raises
    ------
    ClusterError
        As `Cluster.ordered_map`.

    Examples
    --------
    >>> list(spread(None, pow, 2, [1, 2, 3], n_threads=1))
    [2, 4, 8]
    """
    here = partial(function, shared)
    if cluster is None:
        yield from ordered_map(here, tasks, n_threads)
        return
    answers = cluster.ordered_map(_attempt, (function, shared), tasks)
    for task, answer in zip(tasks, answers, strict=True):
        yield here(task) if answer is None else answer[0]


def _attempt(work: tuple[Callable[[Shared, Task], Result], Shared], task: Task) -> tuple[Result] | None:
    """Do a task on a worker; None where it refuses."""
    function, shared = work
    try:
        return (function(shared, task),)
    except CascadeError:
        return None


@contextmanager
def open_cluster(given: Any) -> Iterator[Cluster | None]:
    """Connect to a cluster for the `with` block; None for None.

    Parameters
    ----------
    given : str, distributed.Client or None
        An address, as ``tcp://host:8786``; ``local:4`` for four processes on this machine, which end with the block; or
        a client of the caller's own, which stays open.

    Yields
    ------
    Cluster or None
        Connected; its workers have this version of the package.

    Raises
    ------
    MissingLibraryError
        If Dask is not installed.
    ClusterError
        If nobody answers, or workers lack this package.
    SettingsError
        If it is none of these.
    """
    if given is None:
        yield None
        return
    try:
        import distributed
    except ImportError:
        raise MissingLibraryError(
            "clusters need Dask, which is not installed: pip install distributed"
        ) from None
    with ExitStack() as stack:
        client = given
        if not isinstance(given, distributed.Client):
            if not isinstance(given, str) or not given:
                raise SettingsError(
                    f"cluster {given!r:.80} is neither an address, as tcp://host:8786, nor a Client"
                )
            client = stack.enter_context(_connected(given))
        _check_versions(client)
        yield Cluster(client)


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        if found := _LOCAL.fullmatch(address):
            target: Any = stack.enter_context(
                LocalCluster(  # type: ignore[no-untyped-call]
                    n_workers=int(found[1]),
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=None,
                    memory_limit=0,  # what a stage takes is known before, and is not what Dask counts
                    silence_logs=50,
                )
            )
        elif address.startswith("local:"):
            raise SettingsError(f"cluster {address}: write local: and a number of processes, such as local:4")
        else:
            target = address
        try:
            client = Client(target, timeout=SECONDS_TO_CONNECT)  # type: ignore[no-untyped-call]
        except Exception as error:  # OSError, ValueError of an address, and others
            reason = str(error).split("\n")[0] or type(error).__name__
            raise ClusterError(
                f"cluster {address}: no scheduler answers there ({reason}); check the address, and that it runs"
            ) from error
        yield stack.enter_context(client)


def _check_versions(client: Any) -> None:
    """Refuse workers that would compute something else, or nothing."""
    from vjcascade import __version__

    for worker, version in sorted(client.run(_version, on_error="return").items()):
        if isinstance(version, OSError):
            continue  # it is gone
        if isinstance(version, BaseException):
            reason = str(version).split("\n")[0] or type(version).__name__
            raise ClusterError(
                f"worker {worker} cannot import vjcascade ({reason}): install {__version__} on all of them"
            )
        if version != __version__:
            raise ClusterError(
                f"worker {worker} has vjcascade {version}, and this is {__version__}: install the same on all"
            )


def _version() -> str:
    from vjcascade import __version__

    return __version__


def _same(value: Shared) -> Shared:
    return value
