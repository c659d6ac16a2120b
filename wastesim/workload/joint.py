"""Pairs from a table of quantiles that keeps correlation and total.

The table is a CSV file.  Column `permille` has levels from 0 to 1000, `prompt` the quantiles of
prompt lengths there.  Every further column is a bin of prompts and is named after the longest
prompt in it (`<=23`); it has the quantiles of output lengths given such a prompt.  An empty cell
is not a knot: quantiles are interpolated linearly between the cells that are filled.

With a `max_total` the output columns hold 10,000ths of the room that the prompt leaves, so that
an output is ``1 + share * (max_total - P - 1)``: no pair can exceed the total, whatever is drawn.
Without one they hold tokens.

A sample takes two uniform numbers: one for the prompt, one for the output within the bin of the
prompt that was drawn.  Quantiles of a bin are those of all its rows, so the table reproduces
what the bins resolve: means, rank correlation, and moments such as E[P O].
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from wastesim.errors import InputError, Problem
from wastesim.workload.pairs import Floats, Ints, Pairs

if TYPE_CHECKING:
    from numpy.random import Generator

#: Unit of the shares in a table with a `max_total`.
SHARES = 10_000


@dataclass(frozen=True, eq=False)
class JointTable:
    """Quantiles: `prompt[k]` at `prompt_levels[k]`, `outputs[b, k]` at `output_levels[k]`.

    `edges[b]` is the longest prompt of bin b, in tokens; levels are shares in [0, 1].
    """

    prompt_levels: Floats
    prompt: Floats
    edges: Ints
    output_levels: Floats
    outputs: Floats
    max_total: int | None


@dataclass(frozen=True, eq=False)
class JointSource:
    """Draws pairs from a `JointTable`."""

    table: JointTable
    title: str = "a joint table"
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def draw(self, rng: Generator, size: int) -> Pairs:
        """`size` pairs; nothing is ever clipped."""
        u = rng.random((size, 2))
        table = self.table
        prompt = np.rint(np.interp(u[:, 0], table.prompt_levels, table.prompt)).astype(np.int64)
        value = self._given(prompt, u[:, 1])
        if table.max_total is None:
            return Pairs(prompt, np.rint(value).astype(np.int64))
        room = table.max_total - prompt - 1
        return Pairs(prompt, 1 + np.rint(value / SHARES * room).astype(np.int64))

    def _given(self, prompt: Ints, u: Floats) -> Floats:
        """The quantile at `u` in each prompt's own bin."""
        table, levels = self.table, self.table.output_levels
        row = np.searchsorted(table.edges, prompt, side="left")
        left = np.searchsorted(levels, u, side="right") - 1
        share = (u - levels[left]) / (levels[left + 1] - levels[left])
        low, high = table.outputs[row, left], table.outputs[row, left + 1]
        return np.asarray(low + share * (high - low))


def read_table(path: Path, max_total: int | None) -> JointTable:
    """Read a table; InputError with file and line when it is not one."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            lines = [line for line in csv.reader(stream) if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError([Problem(str(path), f"cannot be read ({error})")]) from None
    header, cells = _header(path, lines), _cells(path, lines)
    levels = cells[:, 0] / 1000
    edges = [_edge(path, name) for name in header[2:]]
    knots = ~np.isnan(cells[:, 2:]).all(axis=1)
    table = JointTable(
        prompt_levels=levels,
        prompt=cells[:, 1],
        edges=np.array(edges, dtype=np.int64),
        output_levels=levels[knots],
        outputs=np.ascontiguousarray(cells[knots, 2:].T),
        max_total=max_total,
    )
    _check(path, table)
    return table


def _refuse(path: Path, line: int, message: str) -> NoReturn:
    raise InputError([Problem(f"{path}:{line}", message)])


def _header(path: Path, lines: Sequence[Sequence[str]]) -> Sequence[str]:
    if not lines or list(lines[0][:2]) != ["permille", "prompt"] or len(lines[0]) < 3:
        _refuse(path, 1, "must have columns permille, prompt and one '<=N' per bin of prompts")
    return lines[0]


def _edge(path: Path, name: str) -> int:
    if not name.startswith("<=") or not name[2:].isdigit():
        _refuse(path, 1, f"bins must be named like '<=23' (got {name!r})")
    return int(name[2:])


def _cells(path: Path, lines: Sequence[Sequence[str]]) -> Floats:
    width, rows = len(lines[0]), []
    for number, line in enumerate(lines[1:], start=2):
        try:
            rows.append([float(cell) if cell else np.nan for cell in line])
        except ValueError:
            _refuse(path, number, f"must be numbers (got {','.join(line)[:60]!r})")
        if len(line) != width:
            _refuse(path, number, f"must have {width} cells (got {len(line)})")
    return np.array(rows).reshape(-1, width)


def _check(path: Path, table: JointTable) -> None:
    """InputError unless the table can be drawn from."""
    most = table.max_total
    wrong = {
        "levels must rise from 0 to 1000": _is_scale(table.prompt_levels),
        "output quantiles must be filled at levels 0 and 1000": _is_scale(table.output_levels),
        "prompts must be >= 1 and never fall": _never_falls(table.prompt, least=1),
        "bins must rise and the last must hold the longest prompt": bool(
            (np.diff(table.edges) > 0).all() and table.edges[-1] >= table.prompt.max()
        ),
        "outputs must never fall and be given in every bin": all(
            _never_falls(row, least=1 if most is None else 0) for row in table.outputs
        ),
        f"outputs must be shares of the room, 0 to {SHARES}": most is None
        or bool(table.outputs.max() <= SHARES),
        f"prompts must leave room for an output below max_total {most}": most is None
        or bool(table.prompt.max() < most),
    }
    for message, holds in wrong.items():
        if not holds:
            raise InputError([Problem(str(path), message)])


def _is_scale(levels: Floats) -> bool:
    inside = len(levels) >= 2 and levels[0] == 0 and levels[-1] == 1
    return bool(inside and (np.diff(levels) > 0).all())


def _never_falls(values: Floats, least: int) -> bool:
    return bool(values.min() >= least and (np.diff(values) >= 0).all())
