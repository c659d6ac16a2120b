"""What `wastesim run` and `wastesim sweep run` do with `sweep:` and `search:`.

Exit codes: 0 done, 2 bad input, 3 some runs failed, 130 interrupted (what is done is kept).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from time import monotonic

from wastesim.config import Experiment, dump_yaml
from wastesim.progress import Progress
from wastesim.sweep.estimate import estimate
from wastesim.sweep.executors import Place, place, usable_processors
from wastesim.sweep.plan import Plan, Task, plan
from wastesim.sweep.resuming import refuse_another
from wastesim.sweep.runner import Runner
from wastesim.sweep.status import duration
from wastesim.sweep.store import MARK, PLAN, RUNS, Store, write_json, write_text
from wastesim.sweep.work import Outcome, check_workloads
from wastesim.sweep.writing import Run, provenance, write_search, write_sweep

SOME_FAILED, INTERRUPTED = 3, 130
#: Where there is no progress bar, a line of text so often.
LINE_EVERY_S = 30.0


def run_varied(
    experiment: Experiment, options: argparse.Namespace, source: str, command: Sequence[str]
) -> int:
    """Run the sweep or search of an experiment; returns the exit code."""
    planned = plan(experiment) if experiment.sweep else None
    check_workloads([task.tree for task in planned.tasks] if planned else [experiment.to_tree()])
    if options.dry_run:
        _show(experiment, planned, options)
        return 0
    total = len(planned.tasks) if planned else None
    with Progress(total, quiet=options.quiet, noun="runs") as bar:
        where = place(options.executor, options.workers, bar)
        try:
            with Store(_folder(experiment, options), resume=options.resume) as store:
                refuse_another(experiment, store.folder)
                run = Run(experiment, store, source, command, options)
                _open(run, planned, where)
                return _run(run, planned, where, bar)
        finally:
            where.close(at_once=bar.should_stop() or sys.exc_info()[0] is not None)


def _run(run: Run, planned: Plan | None, where: Place, bar: Progress) -> int:
    counts = _Counts(run, planned, bar)
    runner = Runner(where, run.store, bar, counts.told)
    if planned is not None:
        runner.run(planned.tasks)
        failed = write_sweep(run, planned, interrupted=runner.stopped)
    else:
        from wastesim.sweep.search import search

        found = search(run.experiment, runner, run.store)
        failed = write_search(run, found, interrupted=runner.stopped)
    if runner.stopped:
        return INTERRUPTED
    return SOME_FAILED if failed else 0


def _open(run: Run, planned: Plan | None, where: Place) -> None:
    """Say in the folder what is to come, so that it can be resumed and asked for its status."""
    folder, experiment = run.store.folder, run.experiment
    write_text(folder / "experiment.yaml", run.source)
    write_text(folder / "resolved.yaml", dump_yaml(experiment.to_tree()))
    write_json(folder / MARK, provenance(run, interrupted=True))
    tasks = planned.tasks if planned else ()
    content = {
        "name": experiment.name,
        "study": "sweep" if planned else "search",
        "width": where.width,
        "runs": {task.digest: _name(task) for task in tasks},
    }
    write_json(folder / PLAN, content)


def _name(task: Task) -> str:
    return f"{task.cell.label}, replication {task.replication}"


class _Counts:
    """Tells the progress bar, or now and then the terminal, how far things are."""

    def __init__(self, run: Run, planned: Plan | None, bar: Progress) -> None:
        self._bar, self._quiet = bar, run.options.quiet
        self._tasks = planned.tasks if planned else ()
        done = [task for task in self._tasks if run.store.done(task.digest)]
        self._done = self._kept = len(done)
        self._began = self._spoke = monotonic()
        if done and not self._quiet:
            print(f"{len(done):,} of {len(self._tasks):,} runs were done already", file=sys.stderr)

    def told(self, task: Task, outcome: Outcome) -> None:
        """One more is kept."""
        self._done += 1
        self._bar.told(_name(task), self._done)
        if outcome.status == "failed" and not self._quiet:
            print(f"failed: {_name(task)}: {outcome.error}", file=sys.stderr)
        now = monotonic()
        if not self._quiet and not sys.stderr.isatty() and now - self._spoke > LINE_EVERY_S:
            self._spoke = now
            print(self._line(now), file=sys.stderr)

    def _line(self, now: float) -> str:
        if not self._tasks:
            return f"{self._done:,} runs done"
        each_s = (now - self._began) / max(1, self._done - self._kept)
        left = duration(each_s * (len(self._tasks) - self._done))
        return f"{self._done:,} of {len(self._tasks):,} runs done, about {left} left"


def _folder(experiment: Experiment, options: argparse.Namespace) -> Path:
    """`--output`, or the newest folder to resume, or a new one."""
    if options.output is not None:
        return Path(options.output)
    home = Path("reports") / experiment.name
    earlier = sorted(home.glob(f"*-{experiment.digest}*")) if options.resume else []
    resumable = [folder for folder in earlier if (folder / RUNS).is_dir()]
    if resumable:
        return resumable[-1]
    stem = f"{datetime.now():%Y%m%dT%H%M%S}-{experiment.digest}"
    return next(home / name for name in _names(stem) if not (home / name).exists())


def _names(stem: str) -> Sequence[str]:
    return [stem, *(f"{stem}-{again}" for again in range(2, 1000))]


def _show(experiment: Experiment, planned: Plan | None, options: argparse.Namespace) -> None:
    """`--dry-run`."""
    if planned is None:
        from wastesim.sweep.search import told

        print("\n".join(told(experiment)))
        return
    say: Callable[[str], None] = print
    say(f"{len(planned.cells):,} cells, {len(planned.tasks):,} runs:")
    for cell in planned.cells:
        say(f"  {cell.label}")
    width = 1 if options.executor == "serial" else options.workers or usable_processors()
    found = estimate(planned.tasks, width)
    if found.run_s is None or found.wall_s is None:
        say("no estimate: the pieces that were tried failed")
        return
    say(
        f"about {duration(found.wall_s)} with {width} at once: {duration(found.run_s)} for a run,"
        f" from pieces of {found.pieces} of them (reports not counted)"
    )
