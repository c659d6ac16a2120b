"""Variants in processes of their own: spawned, one BLAS thread each, stopped by a shared flag."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from wastesim.config import Experiment
from wastesim.engine import Observer
from wastesim.errors import WastesimError
from wastesim.result import Result

POLL_S = 0.1
#: Ticks between two looks at the flag.
LOOK_EVERY = 64

_stop: Any = None  # the flag, in a worker


def usual_workers(experiment: Experiment) -> int:
    """As many as there are processors, but one where a decode needs the machine to itself."""
    variants = experiment.variants.values()
    if any(variant.decode.engine != "none" for variant in variants):
        return 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(usable or 1, len(variants)))


def run_in_processes(
    variants: dict[str, Experiment],
    observer: Observer,
    workers: int,
    told: Callable[[str, int], None],
    folder: Path | None = None,
) -> dict[str, Result]:
    """Results of the variants that came to their end; the first error is raised."""
    context = get_context("spawn")  # a fork would copy the progress bar's thread
    flag = context.Event()
    results: dict[str, Result] = {}
    with ProcessPoolExecutor(workers, context, _begin, (flag,)) as pool:
        names = {pool.submit(_run, *item, folder): item[0] for item in variants.items()}
        waiting: set[Future[Result | None]] = set(names)
        try:
            while waiting:
                done, waiting = wait(waiting, POLL_S, FIRST_COMPLETED)
                for future in done:
                    result = _result(future)
                    if result is not None:
                        results[names[future]] = result
                        told(names[future], len(results))
                if observer.should_stop():
                    flag.set()
        finally:
            flag.set()
    return results


def _result(future: Future[Result | None]) -> Result | None:
    try:
        return future.result()
    except BrokenExecutor:
        raise WastesimError(
            "a process that ran a variant was ended from outside, perhaps for want of memory;"
            " compare fewer requests or a shorter window"
        ) from None


class _Flag(Observer):
    """Stops a worker's run when the flag is up, looking now and then."""

    def __init__(self) -> None:
        self._ticks = 0
        self._up = False

    def should_stop(self) -> bool:
        """After each tick."""
        if self._ticks % LOOK_EVERY == 0 and not self._up:
            self._up = _stop.is_set()
        self._ticks += 1
        return self._up


def _begin(flag: Any) -> None:
    """In a worker, before its first run: Ctrl-C is the main process's to handle."""
    global _stop
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
    _stop = flag


def _run(name: str, experiment: Experiment, folder: Path | None) -> Result | None:
    """In a worker: the result, or None when the flag went up before the end."""
    from wastesim.studies.comparison import run_variant

    return run_variant(name, experiment, _Flag(), folder)
