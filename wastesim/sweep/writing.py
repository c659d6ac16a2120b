"""The files of a finished sweep or search: tables, summary, report; and what the terminal says."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import wastesim
from wastesim.config import Experiment
from wastesim.output import LIBRARIES
from wastesim.report.sweep_parts import Cell, Parts, Show
from wastesim.statistics.intervals import LEVEL
from wastesim.sweep.plan import Plan
from wastesim.sweep.results import cell_rows, cells, run_rows, summary
from wastesim.sweep.store import MARK, Store, write_json, write_text

if TYPE_CHECKING:
    from wastesim.sweep.found import Found


@dataclass(frozen=True)
class Run:
    """One call of the verb."""

    experiment: Experiment
    store: Store
    source: str
    command: Sequence[str]
    options: argparse.Namespace

    @property
    def level(self) -> float:
        """Of intervals."""
        wanted = self.experiment.statistics
        return wanted.level if wanted else LEVEL


def write_sweep(run: Run, plan: Plan, *, interrupted: bool) -> int:
    """Write everything that follows from the runs; returns how many failed."""
    sweep = run.experiment.sweep
    if sweep is None:
        return 0
    show = Show(**sweep.show.model_dump())
    wanted = [*(show.metrics or ()), *(show.pareto or ())]
    found, metrics = cells(plan, run.store, list(dict.fromkeys(wanted)), run.level)
    told = _with_base(found, run.experiment)
    parts = Parts(
        name=run.experiment.name,
        question=question(run.source),
        setting=setting(run.experiment),
        keys=sweep.keys,
        metrics=metrics,
        cells=told,
        replications=sweep.replications,
        level=run.level,
        state=_state(told, plan, interrupted),
        show=show,
    )
    rows = run_rows(plan, run.store)
    more = {"runs_planned": len(plan.tasks), "interrupted": interrupted}
    _write(run, parts, rows, summary(parts.name, "sweep", told, run.level, more), interrupted)
    return sum(len(cell.errors) for cell in told)


def _with_base(told: Sequence[Cell], experiment: Experiment) -> list[Cell]:
    """Cells with the experiment's own value of each key that only other cells name."""
    tree, sweep = experiment.to_tree(), experiment.sweep
    base = {key: _value(tree, key) for key in sweep.keys} if sweep else {}
    own = {key: value for key, value in base.items() if value is not None}
    every = [{**own, **cell.values} for cell in told]
    return [
        replace(cell, values={key: values[key] for key in base if key in values})
        for cell, values in zip(told, every, strict=True)
    ]


def _value(tree: Mapping[str, Any], key: str) -> Any:
    """What the tree has there; of what has a name, such as a policy, that."""
    found: Any = tree
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found.get("name", found) if isinstance(found, Mapping) else found


def write_search(run: Run, found: Found, *, interrupted: bool) -> int:
    """The same for a search."""
    parts = found.parts(run.experiment, run.store, question(run.source), setting(run.experiment))
    more = {**found.told(), "interrupted": interrupted}
    content = summary(parts.name, "search", parts.cells, run.level, more)
    _write(run, parts, run_rows(found.plan, run.store), content, interrupted)
    return sum(len(cell.errors) for cell in parts.cells)


def _write(
    run: Run, parts: Parts, rows: Sequence[Any], content: Mapping[str, Any], interrupted: bool
) -> None:
    """Numbers first, then pictures."""
    from wastesim.report.sweep import print_sweep, write_report

    folder = run.store.folder
    write_text(folder / "runs.csv", _csv(rows))
    write_text(folder / "summary.csv", _csv(cell_rows(parts.cells, parts.metrics)))
    write_json(folder / "summary.json", content)
    made = provenance(run, interrupted=interrupted)
    write_json(folder / MARK, made)
    figures = run.experiment.output.figures
    resolved = (folder / "resolved.yaml").read_text(encoding="utf-8")
    for warning in write_report(parts, folder, resolved, made, figures=figures):
        print(f"warning: {warning}", file=sys.stderr)
    if not run.options.quiet:
        print_sweep(parts, folder)


def provenance(run: Run, *, interrupted: bool) -> dict[str, Any]:
    """Where the numbers come from."""
    return {
        "wastesim": wastesim.__version__,
        "command": " ".join(run.command),
        "seed": run.experiment.seed,
        "digest": run.experiment.digest,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "executor": run.options.executor,
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in LIBRARIES},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "interrupted": interrupted,
    }


def question(source: str) -> str:
    """What a file opens with: its first comment, up to the first question mark or line's end."""
    words = []
    for line in source.splitlines():
        if not line.startswith("#"):
            break
        words.append(line.lstrip("# ").rstrip())
    text = " ".join(words)
    return text[: text.index("?") + 1] if "?" in text else ""


def setting(experiment: Experiment) -> str:
    """What all cells have in common, unless it is varied."""
    varied = _varied(experiment)
    model, gpu = experiment.model, experiment.gpu
    said = {
        "model": model if isinstance(model, str) else "a model of its own",
        "gpu": Path(gpu).stem if isinstance(gpu, str) else "a GPU of its own",
        "server.policy": f"policy {experiment.server.policy.name}",
        "server.max_model_len": f"max_model_len {experiment.server.max_model_len:,}",
        "server.max_num_seqs": f"max_num_seqs {experiment.server.max_num_seqs:,}",
        "clock": f"{experiment.clock.kind} clock",
    }
    return ", ".join(text for key, text in said.items() if key not in varied)


def _varied(experiment: Experiment) -> set[str]:
    if experiment.search is not None:
        return {experiment.search.key}
    return set(experiment.sweep.keys) if experiment.sweep else set()


def _state(told: Sequence[Cell], plan: Plan, interrupted: bool) -> str:
    """What is missing."""
    done = sum(cell.runs for cell in told)
    failed = sum(len(cell.errors) for cell in told)
    said = [f"{failed:,} of {len(plan.tasks):,} runs failed." if failed else ""]
    if interrupted:
        said.append(f"This sweep was interrupted: {done:,} of {len(plan.tasks):,} runs are done.")
    return " ".join(text for text in said if text)


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    import pandas as pd

    return str(pd.DataFrame(list(rows)).to_csv(index=False, lineterminator="\n"))
