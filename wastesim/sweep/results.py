"""From finished runs to cells: means with intervals, and paired differences with the first cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from wastesim.metrics import SCHEMA_VERSION, flat
from wastesim.report.sweep_parts import Cell as Told
from wastesim.statistics import Interval, of_mean, of_paired, within
from wastesim.sweep.numbers import USUAL, number
from wastesim.sweep.plan import Cell, Plan, Task
from wastesim.sweep.store import REPORTS, Store

#: Summaries of a cell's finished runs, by replication.
Summaries = Mapping[int, Mapping[str, Any]]
#: Two sums of the same levels differ by no more.
ROUNDING = 1e-9


def cells(
    plan: Plan, store: Store, metrics: Sequence[str], level: float
) -> tuple[list[Told], list[str]]:
    """Every cell with its numbers, and the metrics that are defined in any of them."""
    tasks = [plan.of(cell) for cell in plan.cells]
    found = [_summaries(one, store) for one in tasks]
    defined = [name for name in metrics or USUAL if _defined(found, name)]
    told = [
        _cell(cell, own, store, (summaries, found[0]), defined, level)
        for cell, own, summaries in zip(plan.cells, tasks, found, strict=True)
    ]
    return told, defined


def _cell(
    cell: Cell,
    tasks: Sequence[Task],
    store: Store,
    summaries: tuple[Summaries, Summaries],
    metrics: Sequence[str],
    level: float,
) -> Told:
    own, first = summaries
    linked = [task.digest for task in tasks if store.has_report(task.digest)]
    outcomes = [store.outcome(task.digest) for task in tasks]
    return Told(
        label=cell.label,
        values=dict(cell.values),
        numbers={name: interval(own, name, level, len(tasks)) for name in metrics},
        less={name: _less(first, own, name, level) for name in metrics} if own != first else {},
        runs=len(own),
        errors=[found["error"] for found in outcomes if found and found["status"] == "failed"],
        link=f"{REPORTS}/{linked[0]}/report.html" if linked else "",
        saturated=sum(_saturated(found) for found in own.values()),
    )


def _saturated(summary: Mapping[str, Any]) -> bool:
    return bool(summary["statistics"]["saturation"]["verdict"] == "saturated")


def interval(summaries: Summaries, name: str, level: float, planned: int = 1) -> Interval:
    """Over replications; of a single run its own batch means, where they are of its number.

    They are where the steady part is all that was measured; elsewhere the steady estimate is
    another number, whose interval says nothing of this one.  Of several runs that were `planned`
    the only one that is done has none either: in one table all intervals are over replications.
    """
    values = [found for s in summaries.values() if (found := number(s, name)) is not None]
    if len(values) != 1 or len(summaries) != 1 or planned > 1:
        return within(of_mean(values, level), name)
    (summary,) = summaries.values()
    rows = {row["of"]: row for row in summary["statistics"]["intervals"]}
    row = rows.get(name)
    if row is None or not _same(row["estimate"], values[0]):
        return of_mean(values, level)
    return Interval(values[0], row["low"], row["high"], 1, level)


def _same(estimate: float | None, value: float) -> bool:
    return estimate is not None and math.isclose(estimate, value, rel_tol=ROUNDING)


def _less(first: Summaries, own: Summaries, name: str, level: float) -> Interval:
    """Own minus first, replication by replication: the same seeds, so luck cancels."""
    pairs = [
        (before, after)
        for r in sorted(set(first) & set(own))
        if (before := number(first[r], name)) is not None
        and (after := number(own[r], name)) is not None
    ]
    return of_paired([b for b, _ in pairs], [a for _, a in pairs], level)


def _summaries(tasks: Sequence[Task], store: Store) -> dict[int, Mapping[str, Any]]:
    found = {task.replication: store.done(task.digest) for task in tasks}
    return {r: content["summary"] for r, content in found.items() if content is not None}


def _defined(every: Any, name: str) -> bool:
    return any(number(s, name) is not None for found in every for s in found.values())


def run_rows(plan: Plan, store: Store) -> list[dict[str, Any]]:
    """What `runs.csv` holds: a row per run, wall times left out so that equal runs are equal."""
    rows = []
    for task in plan.tasks:
        found = store.outcome(task.digest)
        head = {**task.cell.values, "replication": task.replication, "seed": task.seed}
        status = found["status"] if found else "missing"
        error = found["error"] if found else ""
        numbers = flat(found["summary"]) if found and found["summary"] else {}
        rows.append({**head, "digest": task.digest, "status": status, "error": error, **numbers})
    return rows


def cell_rows(told: Sequence[Told], metrics: Sequence[str]) -> list[dict[str, Any]]:
    """What `summary.csv` holds: a row per cell, each metric with the ends of its interval."""
    rows = []
    for cell in told:
        row: dict[str, Any] = {**cell.values, "runs": cell.runs, "failed": len(cell.errors)}
        row["saturated"] = cell.saturated
        for name in metrics:
            found = cell.numbers[name]
            row |= {name: found.estimate, f"{name}.low": found.low, f"{name}.high": found.high}
        rows.append(row)
    return rows


def summary(
    name: str, study: str, told: Sequence[Told], level: float, more: Mapping[str, Any]
) -> dict[str, Any]:
    """What `summary.json` holds."""
    return {
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "study": study,
        "level": level,
        **more,
        "cells": [
            {
                "label": cell.label,
                "values": cell.values,
                "runs": cell.runs,
                "saturated": cell.saturated,
                "errors": list(cell.errors),
                "report": cell.link or None,
                "numbers": {key: _ends(found) for key, found in cell.numbers.items()},
                "less_first": {key: _ends(found) for key, found in cell.less.items()},
            }
            for cell in told
        ],
    }


def _ends(found: Interval) -> dict[str, float | None]:
    return {"estimate": found.estimate, "low": found.low, "high": found.high}
