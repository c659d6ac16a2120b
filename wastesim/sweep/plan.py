"""From `sweep:` to runs: every cell's experiment, its seeds, and the digests they go by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import wastesim
from wastesim.config import Experiment
from wastesim.config.cells import cell_tree
from wastesim.config.designs import sampled
from wastesim.config.paths import NAME_OR_PATH_KEYS, PATH_KEYS
from wastesim.config.sweep import written_cells
from wastesim.metrics import SCHEMA_VERSION
from wastesim.report.sweep_words import value

_LONGEST_NAME = 100


@dataclass(frozen=True)
class Cell:
    """One setting: the values of the varied keys, and what people call it."""

    values: Mapping[str, Any]
    label: str


@dataclass(frozen=True)
class Task:
    """One run: a cell with a seed.  `digest` names its file."""

    digest: str
    cell: Cell
    replication: int
    seed: int
    tree: Mapping[str, Any]
    report: str = "none"


@dataclass(frozen=True)
class Plan:
    """All runs of a sweep, cell by cell."""

    cells: tuple[Cell, ...]
    tasks: tuple[Task, ...]

    def of(self, cell: Cell) -> list[Task]:
        """The runs of one cell, by replication."""
        return [task for task in self.tasks if task.cell is cell]


def plan(experiment: Experiment) -> Plan:
    """The cells of `sweep:` in order, each once, with a run per replication."""
    sweep = experiment.sweep
    if sweep is None:
        raise ValueError("the experiment has no 'sweep'")
    points = sampled(sweep.sample)
    every = [
        {**{change.key: change.value for change in changes}, **point}
        for changes in written_cells(sweep)
        for point in points
    ]
    cells = tuple(Cell(values, label(values, _varied(every))) for values in _once(every))
    tree = experiment.to_tree()
    rounds = range(sweep.replications)
    tasks = tuple(task(tree, cell, r, sweep.cell_reports) for cell in cells for r in rounds)
    return Plan(cells, tasks)


def task(tree: Mapping[str, Any], cell: Cell, replication: int, report: str = "none") -> Task:
    """One run of a cell; only the first replication has a report of its own."""
    seed = replication_seed(int(tree.get("seed", 0)), replication)
    name = f"{tree.get('name', 'experiment')}, {cell.label}".replace("/", "-").replace("\\", "-")
    own = {**cell_tree(tree, cell.values), "seed": seed}
    own["name"] = name[:_LONGEST_NAME].strip(" .,")
    told = report if replication == 0 else "none"
    return Task(digest_of(own), cell, replication, seed, own, told)


def replication_seed(seed: int, replication: int) -> int:
    """The experiment's own seed, then seeds spawned from it: more runs leave the others alone."""
    if replication == 0:
        return seed
    import numpy as np

    child = np.random.SeedSequence(seed, spawn_key=(replication,))
    return int(child.generate_state(1, np.uint64)[0] >> np.uint64(11))  # exact in any JSON reader


def digest_of(tree: Mapping[str, Any]) -> str:
    """Sixteen hex digits of everything that decides a run's numbers, files by their content."""
    decides = {key: value for key, value in tree.items() if key not in ("name", "output")}
    content = {
        "experiment": decides,
        "files": {path: _file_digest(path) for path in _files(tree)},
        "version": [wastesim.__version__, SCHEMA_VERSION],
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def label(values: Mapping[str, Any], varied: Sequence[str] = ()) -> str:
    """`policy paged, max_model_len 2048`: the last parts of keys where these are unambiguous."""
    last = [key.rpartition(".")[2] for key in varied or values]
    return ", ".join(f"{_short(key, last)} {value(given)}" for key, given in values.items())


def _short(key: str, last: Sequence[str]) -> str:
    short = key.rpartition(".")[2]
    return key if last.count(short) > 1 else short


def _varied(every: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for values in every for key in values))


def _once(every: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Rounded samples may meet: one cell is run once."""
    seen: set[str] = set()
    for values in every:
        text = json.dumps(values, sort_keys=True, default=str)
        if text not in seen:
            seen.add(text)
            yield values


def _files(tree: Mapping[str, Any]) -> Iterator[str]:
    """The files that an experiment names."""
    for path in (*PATH_KEYS, *NAME_OR_PATH_KEYS):
        found: Any = tree
        for part in path:
            found = found.get(str(part)) if isinstance(found, Mapping) else None
        if isinstance(found, str) and Path(found).is_file():
            yield found


@cache
def _file_digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
