"""Where runs run: here, in processes of their own, or on a Dask cluster.

All are `concurrent.futures.Executor`s.  `fresh` gives a new one when its workers have died.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from typing import Any, Protocol

from wastesim.engine import Observer
from wastesim.errors import ConfigError, Problem
from wastesim.sweep.plan import Task
from wastesim.sweep.work import Outcome, one_blas_thread, run_task

#: Ticks between two looks at the flag.
LOOK_EVERY = 64
DASK = "dask://"
CONNECT_S = 10.0

_stop: Any = None  # the flag, in a worker


class Place(Protocol):
    """Somewhere to run tasks; `width` is how many at once."""

    width: int

    def submit(self, task: Task) -> Future[Outcome]:
        """Begin it, now or later."""

    def fresh(self) -> None:
        """Begin again with new workers; what was submitted is lost."""

    def close(self, *, at_once: bool) -> None:
        """End the workers; `at_once` also what they are at."""


def place(spec: str, workers: int | None, observer: Observer) -> Place:
    """`processes`, `serial` or `dask://HOST:PORT`; ConfigError for anything else."""
    if spec == "serial":
        return Here(observer)
    if spec == "processes":
        return Processes(workers or usable_processors())
    if spec.startswith(DASK) and len(spec) > len(DASK):
        return Cluster(spec.removeprefix(DASK))
    message = f"must be processes, serial or {DASK}HOST:PORT (got {spec!r})"
    raise ConfigError([Problem("--executor", message)])


def usable_processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Here:
    """In this process, one after the other: for debugging."""

    width = 1

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def submit(self, task: Task) -> Future[Outcome]:
        """Run it now."""
        future: Future[Outcome] = Future()
        future.set_result(run_task(task, self._observer))
        return future

    def fresh(self) -> None:
        """Nothing to do."""

    def close(self, *, at_once: bool) -> None:
        """Nothing to do."""


class Processes:
    """A pool of spawned processes with one BLAS thread each; they end when this one does."""

    def __init__(self, workers: int) -> None:
        self.width = workers
        self._context = get_context("spawn")  # a fork would copy the threads of the progress bar
        self._flag = self._context.Event()
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, task: Task) -> Future[Outcome]:
        """Give it to the pool, which is made when first needed."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.width, self._context, _begin, (self._flag,))
        return self._pool.submit(_run, task)

    def fresh(self) -> None:
        """Another pool; the broken one's workers are dead."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = None

    def close(self, *, at_once: bool) -> None:
        """Raise the flag that every run looks at, and wait for the workers."""
        if at_once:
            self._flag.set()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


class Cluster:
    """An existing Dask cluster.  Its scheduler repeats what a lost worker had."""

    def __init__(self, address: str) -> None:
        distributed = _distributed()
        try:
            self._client = distributed.Client(address, set_as_default=False, timeout=CONNECT_S)
        except OSError as error:
            raise ConfigError(
                [Problem("--executor", f"no cluster at {address} ({error})")]
            ) from None
        self.width = max(1, sum(self._client.ncores().values()))
        self._executor: Executor = self._client.get_executor(pure=False, retries=2)

    def submit(self, task: Task) -> Future[Outcome]:
        """Give it to the scheduler."""
        return self._executor.submit(run_task, task)

    def fresh(self) -> None:
        """The scheduler looks after its workers."""

    def close(self, *, at_once: bool) -> None:
        """Leave the cluster as it was; what waits there is taken back."""
        self._executor.shutdown(wait=not at_once)
        self._client.close()


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        message = f"{DASK} needs Dask: pip install 'wastesim[cluster]'"
        raise ConfigError([Problem("--executor", message)]) from None
    return distributed


class _Flag(Observer):
    """Stops a worker's run when the flag is up, looking now and then."""

    def __init__(self, raised: Callable[[], bool]) -> None:
        self._raised = raised
        self._asked = 0
        self._up = False

    def should_stop(self) -> bool:
        """After each tick."""
        if self._asked % LOOK_EVERY == 0 and not self._up:
            self._up = self._raised()
        self._asked += 1
        return self._up


def _begin(flag: Any) -> None:
    """In a worker, before its first run: Ctrl-C is the main process's to handle."""
    global _stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    one_blas_thread()
    _stop = flag


def _end_with_parent() -> None:
    """A main process that was killed cannot tell: its workers see that it is gone."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(task: Task) -> Outcome:
    """In a worker."""
    return run_task(task, _Flag(_stop.is_set))
