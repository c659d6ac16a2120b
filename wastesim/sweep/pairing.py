"""Two sweeps beside each other: each cell with its namesake, each replication with its own seed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wastesim.errors import InputError
from wastesim.report.runs import Comparison, Side
from wastesim.statistics import of_mean, of_paired
from wastesim.statistics.twins import Difference
from wastesim.sweep.numbers import USUAL, number
from wastesim.sweep.plan import label
from wastesim.sweep.store import PLAN, RUNS, read_json

#: Summaries by cell (its values as text), then by seed.
Runs = Mapping[str, Mapping[int, Mapping[str, Any]]]
#: What is read of the file of a run.
READ = {"status", "digest", "values", "seed", "summary"}


def compare_sweeps(sides: tuple[Side, Side], level: float) -> Comparison:
    """Every number of every cell that both have; InputError when they have none."""
    labels: dict[str, str] = {}
    first, second = (_runs(side.folder, labels) for side in sides)
    both = [name for name in first if name in second]
    if not both:
        raise InputError(f"{sides[0].folder} and {sides[1].folder}: have no cell in common")
    pairs = [
        (cell, one)
        for cell in both
        for name in USUAL
        if (one := _difference(first[cell], second[cell], name, level)) is not None
    ]
    left = len(set(first) ^ set(second))
    note = f"{left:,} cells are in one of them only." if left else "Both have the same cells."
    found, names = [one for _, one in pairs], [labels[cell] for cell, _ in pairs]
    return Comparison(sides, found, note, level, names)


def _difference(
    first: Mapping[int, Any], second: Mapping[int, Any], name: str, level: float
) -> Difference | None:
    seeds = sorted(set(first) & set(second))
    pairs = [(number(first[seed], name), number(second[seed], name)) for seed in seeds]
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not known:
        return None
    a, b = [pair[0] for pair in known], [pair[1] for pair in known]
    how = f"{len(known)} runs with equal seeds, paired"
    means = of_mean(a).estimate, of_mean(b).estimate
    return Difference(name, *means, of_paired(a, b, level), how)


def _runs(folder: Path, labels: dict[str, str]) -> Runs:
    """Finished runs of the folder's plan, in its order; notes what their cells are called."""
    plan = read_json(folder / PLAN) or {}
    wanted = list(plan.get("runs") or {})
    order = {digest: place for place, digest in enumerate(wanted)}
    found: dict[str, dict[int, Mapping[str, Any]]] = {}
    files = sorted((folder / RUNS).glob("*.json"), key=lambda path: order.get(path.stem, -1))
    for path in files:
        content = read_json(path)
        if content is None or not set(content) >= READ:
            raise InputError(f"{path}: is damaged; delete it and let '--resume' run it again")
        if content["status"] != "done" or (wanted and content["digest"] not in order):
            continue
        cell = json.dumps(content["values"], sort_keys=True)
        labels.setdefault(cell, label(content["values"]))
        found.setdefault(cell, {})[content["seed"]] = content["summary"]
    return found
