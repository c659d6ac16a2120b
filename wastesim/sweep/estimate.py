"""`--dry-run`: the cells, and how long they will take, from pieces of some of them that are run."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

from wastesim.engine import Observer
from wastesim.errors import WastesimError
from wastesim.sweep.plan import Task
from wastesim.sweep.work import experiment_of

PIECE_S = 1.0
PIECES = 3
#: What a new process needs before its first run, measured at 1.5 to 2 s.
START_S = 2.0


class Estimate(NamedTuple):
    """Seconds of one run on average, of the whole on the wall, and what it rests on."""

    run_s: float | None
    wall_s: float | None
    pieces: int


def estimate(tasks: Sequence[Task], width: int) -> Estimate:
    """Run pieces of the first, a middle and the last task and scale them up."""
    if not tasks:
        return Estimate(None, 0.0, 0)
    some = sorted({round(i * (len(tasks) - 1) / max(1, PIECES - 1)) for i in range(PIECES)})
    found = [run_s for index in some if (run_s := _run_s(tasks[index])) is not None]
    if not found:
        return Estimate(None, None, 0)
    mean = sum(found) / len(found)
    rounds = -(-len(tasks) // width)
    return Estimate(mean, rounds * mean + (START_S if width > 1 else 0.0), len(found))


def _run_s(task: Task) -> float | None:
    """Seconds that a task takes, from the share of its requests that ended in a piece of it."""
    from wastesim.result import run_one

    watch = _Watch()
    try:
        result = run_one(experiment_of(task.tree), watch)
    except WastesimError:
        return watch.run_s if watch.cut else None
    taken, total = watch.run_s, result.records.totals.requests.submitted
    total = max(total, result.experiment.workload.num_requests or 0)
    return taken * total / watch.ended if watch.cut and watch.ended else taken


class _Watch(Observer):
    """Ends a run after a piece of it."""

    def __init__(self) -> None:
        self._began = perf_counter()
        self.ended = 0
        self.cut = False

    @property
    def run_s(self) -> float:
        """Since it began."""
        return perf_counter() - self._began

    def passed(self, now_s: float, running: int, waiting: int, ended: int) -> None:
        """So many have ended."""
        self.ended = ended

    def should_stop(self) -> bool:
        """After the piece."""
        self.cut = self.cut or self.run_s > PIECE_S
        return self.cut
