"""One run of a sweep, in whatever process or machine it is given to."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from wastesim.config import Document, Experiment
from wastesim.config.cells import without_numbers
from wastesim.config.validation import validate
from wastesim.errors import WastesimError
from wastesim.sweep.plan import Task

if TYPE_CHECKING:
    from wastesim.engine import Observer
    from wastesim.result import Result

_TRACE_LINES = 12


class Outcome(NamedTuple):
    """What became of a run.  `files` are its report, by name."""

    digest: str
    status: str  # done | failed | stopped
    summary: dict[str, Any] | None
    error: str
    wall_s: float
    files: Mapping[str, bytes] = {}


def run_task(task: Task, observer: Observer | None = None) -> Outcome:
    """Run it; an error is an outcome, and a run that was stopped leaves nothing."""
    from wastesim.result import run_one

    one_blas_thread()
    began = perf_counter()
    try:
        result = run_one(experiment_of(_as_wanted(task)), observer)
        if observer is not None and observer.should_stop():
            return Outcome(task.digest, "stopped", None, "", perf_counter() - began)
        summary = result.summary
        files = _report(result, task)
    except Exception as error:  # the others go on
        return failed(task, error_text(error), perf_counter() - began)
    return Outcome(task.digest, "done", summary, "", perf_counter() - began, files)


def check_workloads(trees: Iterable[Mapping[str, Any]]) -> None:
    """InputError or ConfigError for a trace or table that cannot be read, each read once."""
    from wastesim.rng import Streams
    from wastesim.workload import build_workload

    seen: set[str] = set()
    for tree in trees:
        names = repr(without_numbers(tree["workload"]))
        if names not in seen:
            seen.add(names)
            build_workload(experiment_of(tree).workload, Streams(0))


def _as_wanted(task: Task) -> dict[str, Any]:
    """The run's experiment, without rows and a map of memory that nobody will see."""
    output = {"records": "none", "figures": task.report == "figures"}
    return {**task.tree, "output": {**task.tree.get("output", {}), **output}}


def experiment_of(tree: Mapping[str, Any]) -> Experiment:
    """The experiment of a run; ConfigError where its values cannot be used together."""
    return validate(Experiment, Document.from_mapping(tree, ""))


def failed(task: Task, error: str, wall_s: float = 0.0) -> Outcome:
    """An outcome without numbers."""
    return Outcome(task.digest, "failed", None, error, wall_s)


def error_text(error: BaseException) -> str:
    """The message of an error raised on purpose, in one line; of others their last calls too."""
    if isinstance(error, WastesimError):
        return "; ".join(str(error).splitlines())
    lines = traceback.format_exception(error)
    return "".join(lines).rstrip().rpartition("Traceback")[2][-_TRACE_LINES * 100 :].strip()


@cache
def one_blas_thread() -> None:
    """Once per process: runs share the machine by processes, not by threads."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    threadpool_limits(1)


def _report(result: Result, task: Task) -> dict[str, bytes]:
    """The pages of one run; what goes wrong there never loses its numbers."""
    if task.report == "none":
        return {}
    from wastesim.config import dump_yaml
    from wastesim.report import write_report

    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_report(
                result.records,
                result.summary,
                folder,
                resolved=dump_yaml(dict(task.tree)),
                provenance={"seed": task.seed, "digest": task.digest},
                figures=task.report == "figures",
            )
            return {
                str(path.relative_to(folder)): path.read_bytes()
                for path in sorted(folder.rglob("*"))
                if path.is_file()
            }
    except Exception as error:
        return {"report.txt": f"no report could be made: {error_text(error)}\n".encode()}
