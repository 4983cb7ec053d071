"""Tasks on a Dask cluster, with results in the order of the tasks. Only this module imports Dask.

Results must not depend on the number of workers, or on which worker does which task. Workers may join and leave: the
tasks of a lost worker are repeated by others.
"""

from __future__ import annotations

import re
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait as wait_for
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import islice
from threading import Thread
from typing import Any, TypeVar

from vjcascade.errors import CascadeError, ClusterError, MissingLibraryError, SettingsError
from vjcascade.parallel import ordered_map

Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")

AHEAD = 3
"""Submitted tasks per thread of the cluster."""

SECONDS_TO_CONNECT = 20
"""Timeout for connecting to a scheduler."""

SECONDS_WITHOUT_WORKERS = 60.0
"""Timeout for a cluster without workers: new ones may be starting."""

POLL = 1.0
"""Seconds between checks of the workers, while waiting for a result."""

_LOCAL = re.compile(r"local:([1-9]\d{0,2})")


class Cluster:
    """A Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        Connected to its scheduler.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._without_workers_since: float | None = None

    def workers(self) -> dict[str, int]:
        """Return the number of threads of each worker by its address, sorted, once there is a worker.

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
                    f"the cluster has had no worker for {SECONDS_WITHOUT_WORKERS:.0f} s: start workers, then start "
                    "again or resume"
                )
            time.sleep(POLL)

    def ordered_map(
        self, function: Callable[[Shared, Task], Result], shared: Shared, tasks: Iterable[Task]
    ) -> Iterator[Result]:
        """Yield `function(shared, task)` for every task, in order, computed by the workers.

        Parameters
        ----------
        function : callable
            A module-level function. It must not depend on other tasks: if a worker is lost, it is called again.
        shared : object
            An argument of all tasks, sent to each worker once.
        tasks : iterable
            Read lazily.

        Yields
        ------
        object
            The results, in the order of `tasks`.

        Raises
        ------
        ClusterError
            If the scheduler or all workers are lost, or a task kills several workers.
        """
        scattered = self._submit(_identity, shared)
        queue = iter(tasks)
        pending: deque[Any] = deque()
        n_ahead = AHEAD * sum(self.workers().values())
        try:
            while True:
                for task in islice(queue, n_ahead - len(pending)):
                    pending.append(self._submit(function, scattered, task))
                if not pending:
                    return
                yield self.result(pending.popleft())
        finally:
            with suppress(Exception):  # the scheduler may be lost
                self._client.cancel(list(pending))

    def ask_at_once(
        self, workers: Sequence[str], function: Callable[..., Any], *arguments: Any
    ) -> dict[str, Any]:
        """Call a function on several workers at the same time, without the scheduler's queue.

        That takes some milliseconds where tasks take tens of them, but nothing is repeated if a worker is lost.

        Parameters
        ----------
        workers : sequence of str
            Their addresses.
        function : callable
            A module-level function.
        *arguments
            Its arguments, the same for all.

        Returns
        -------
        dict
            The results by worker, of those that answered. If one is lost without closing its connection, there are
            none.
        """
        answers = _in_background(
            partial(
                self._client.run, _in_thread, function, arguments, workers=list(workers), on_error="return"
            )
        )
        while not answers.done():
            wait_for([answers], timeout=POLL)
            if not answers.done() and not self.workers().keys() >= set(workers):
                return {}
        try:
            found: dict[str, Any] = answers.result()
        except Exception as error:  # whatever its connection raises
            raise self._lost(error) from error
        for answer in found.values():
            if isinstance(answer, CascadeError):
                raise answer
        return {worker: answer for worker, answer in found.items() if not isinstance(answer, BaseException)}

    def submit_to(self, worker: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Submit a function call to one worker; no other may do it.

        Parameters
        ----------
        worker : str
            Its address.
        function : callable
            A module-level function.
        *arguments
            Its arguments.

        Returns
        -------
        distributed.Future
            For `is_done`, `died_of` and `result`.
        """
        return self._submit(function, *arguments, workers=[worker], allow_other_workers=False)

    def is_done(self, future: Any, seconds: float = POLL) -> bool:
        """Wait up to `seconds` for a call; return whether it has finished or failed."""
        from distributed import wait

        try:
            wait(future, timeout=seconds)  # type: ignore[no-untyped-call]
        except TimeoutError:
            return False
        except Exception as error:  # it was cancelled, or the connection is gone
            raise self._lost(error) from error
        return bool(future.done())

    def died_of(self, future: Any) -> bool:
        """Return whether a call failed because its worker was lost."""
        from distributed import KilledWorker

        return future.status == "lost" or (
            future.status == "error" and isinstance(future.exception(), KilledWorker)
        )

    def result(self, future: Any) -> Any:
        """Wait for a call and return its result.

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
                f"the same task killed several workers ({error}): it probably needs more memory than they have; use "
                "workers with more memory"
            ) from error
        except Exception as error:
            if future.status in {"cancelled", "lost"}:
                raise self._lost(error) from error
            raise

    def _submit(self, function: Callable[..., Any], *arguments: Any, **where: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sending large graph")  # expected once per stage
                return self._client.submit(function, *arguments, pure=False, **where)
        except Exception as error:
            raise self._lost(error) from error

    def _lost(self, error: BaseException) -> ClusterError:
        reason = str(error).split("\n")[0] or type(error).__name__
        return ClusterError(
            f"the cluster's scheduler no longer answers ({reason}): restart it and repeat the command; --resume "
            "continues after what was finished, on a cluster of any size or without one"
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
        An address such as ``tcp://host:8786``; ``local:4`` for four processes on this machine, which end with the
        block; or the caller's client, which stays open.

    Yields
    ------
    Cluster or None
        Connected; its workers have this version of the package.

    Raises
    ------
    MissingLibraryError
        If Dask is not installed.
    ClusterError
        If no scheduler answers, or workers lack this version of the package.
    SettingsError
        If `given` is none of these.
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
                    f"cluster {given!r:.80} is neither an address, such as tcp://host:8786, nor a Client"
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
                    memory_limit=0,  # memory is planned before each stage, and Dask measures it differently
                    silence_logs=50,
                )
            )
        elif address.startswith("local:"):
            raise SettingsError(f"cluster {address}: give local: and a number of processes, such as local:4")
        else:
            target = address
        try:
            client = Client(target, timeout=SECONDS_TO_CONNECT)  # type: ignore[no-untyped-call]
        except Exception as error:  # OSError, ValueError of an address, and others
            reason = str(error).split("\n")[0] or type(error).__name__
            raise ClusterError(
                f"cluster {address}: no scheduler answers ({reason}); check the address, and that it is running"
            ) from error
        yield stack.enter_context(client)


def _check_versions(client: Any) -> None:
    """Refuse workers without this version of the package."""
    from vjcascade import __version__

    for worker, version in sorted(client.run(_version, on_error="return").items()):
        if isinstance(version, OSError):
            continue  # the worker has left
        if isinstance(version, BaseException):
            reason = str(version).split("\n")[0] or type(version).__name__
            raise ClusterError(
                f"worker {worker} cannot import vjcascade ({reason}): install {__version__} on all of them"
            )
        if version != __version__:
            raise ClusterError(
                f"worker {worker} has vjcascade {version}, but this is {__version__}: install the same version on all"
            )


def _in_background(function: Callable[[], Result]) -> Future[Result]:
    """Call a function in a thread that does not keep the process from ending."""
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future


async def _in_thread(function: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
    """On a worker: call a function beside the loop that answers the scheduler."""
    import asyncio  # 20 ms, which only those with a cluster shall wait

    return await asyncio.get_running_loop().run_in_executor(None, partial(function, *arguments))


def _version() -> str:
    from vjcascade import __version__

    return __version__


def _identity(value: Shared) -> Shared:
    return value
