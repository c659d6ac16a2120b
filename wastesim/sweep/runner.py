"""Keeps a place busy: gives it runs, keeps what comes back, and stops when asked.

A worker that dies takes all runs of its pool with it, and nobody can say whose fault it was:
those that were in flight are then tried one at a time, and one that kills its worker when it is
alone has failed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait

from wastesim.engine import Observer
from wastesim.sweep.executors import Place
from wastesim.sweep.plan import Task
from wastesim.sweep.store import Store
from wastesim.sweep.work import Outcome, error_text, failed

POLL_S = 0.1
#: Runs given to a place for each of its workers: the next one waits where it is needed.
AHEAD = 2

#: Told of each run when it is kept.
Told = Callable[[Task, Outcome], None]


class Runner:
    """Runs tasks and keeps them; `stopped` says that it was asked to stop before the end."""

    def __init__(self, place: Place, store: Store, observer: Observer, told: Told) -> None:
        self._place = place
        self._store = store
        self._observer = observer
        self._told = told
        self._flight: dict[Future[Outcome], Task] = {}
        self._suspects: deque[Task] = deque()

    @property
    def stopped(self) -> bool:
        """Whether somebody wants it to stop."""
        return self._observer.should_stop()

    def run(self, tasks: Sequence[Task]) -> None:
        """Run what is not done yet; returns when all is done, or soon after being stopped."""
        waiting = deque(task for task in tasks if self._store.done(task.digest) is None)
        while (waiting or self._flight or self._suspects) and not self.stopped:
            self._fill(waiting)
            done, _ = wait(self._flight, POLL_S, FIRST_COMPLETED)
            for future in sorted(done, key=_is_broken):
                self._take(future)
        for future in [future for future in self._flight if future.done()]:
            self._take(future)
        self._flight.clear()

    def _fill(self, waiting: deque[Task]) -> None:
        """Give the place what it can take; suspects one at a time and alone."""
        while self._suspects and not self._flight:
            self._submit(self._suspects[0])
        while not self._suspects and waiting and len(self._flight) < AHEAD * self._place.width:
            if self.stopped:
                return
            self._submit(waiting.popleft())

    def _submit(self, task: Task) -> None:
        try:
            self._flight[self._place.submit(task)] = task
        except BrokenExecutor as error:
            lost: Future[Outcome] = Future()
            lost.set_exception(error)
            self._flight[lost] = task

    def _take(self, future: Future[Outcome]) -> None:
        task = self._flight.pop(future, None)
        if task is None:  # went down with another
            return
        try:
            outcome = future.result()
        except BrokenExecutor:
            self._survive(task)
            return
        except Exception as error:  # the executor's own: a run's errors are outcomes
            outcome = failed(task, error_text(error))
        self._keep(task, outcome)

    def _keep(self, task: Task, outcome: Outcome) -> None:
        if self._suspects and self._suspects[0] is task:
            self._suspects.popleft()
        if outcome.status != "stopped":
            self._store.keep(task, outcome)
            self._told(task, outcome)

    def _survive(self, task: Task) -> None:
        """The pool is gone: a new one, and everything that was in flight is a suspect."""
        alone = bool(self._suspects) and self._suspects[0] is task
        if alone:
            self._keep(task, failed(task, "its process died (out of memory, or killed)"))
        else:
            self._suspects.extend([task, *self._flight.values()])
        self._flight.clear()
        self._place.fresh()


def _is_broken(future: Future[Outcome]) -> bool:
    return not future.cancelled() and isinstance(future.exception(), BrokenExecutor)
