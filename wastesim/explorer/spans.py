"""The boxes of the memory map: adjacent ones of one moment merged, the claim's part marked.

A cell that its request never writes is `unused` inside the claim and `padding` beyond it.
Records do not keep claims, so each rule that policies have is tried until the padding it implies
is the ledger's, tick by tick; where none is, the page says that the two are not told apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wastesim.records import Array, Records
from wastesim.report.figures.holdings import Holdings, holdings


class Boxes(NamedTuple):
    """One entry per box; `offset` is how many cells of the same stay come before it."""

    held: Holdings
    request: Array  # row of the request
    offset: Array
    claimed: Array  # cells of the box inside the claim
    rule: str  # how claims were found; empty when they were not


def boxes(records: Records) -> Boxes:
    """Every box of the run."""
    held = holdings(records)
    ids = records.requests["request_id"]
    request = np.searchsorted(ids, records.spans["request_id"])
    offset = _offsets(request, held)
    keep, sizes = _runs(request, held)
    merged = _merged(held, keep, sizes)
    rule, claimed = _claimed(records, merged, request[keep], offset[keep])
    return Boxes(merged, request[keep], offset[keep], claimed, rule)


def held_at(held: Holdings, cells: Array, t_s: Array) -> Array:
    """Sum of `cells` over the boxes that are held at each time; times ascend."""
    change = np.zeros(len(t_s) + 1, dtype=np.int64)
    np.add.at(change, np.searchsorted(t_s, held.from_s), cells)
    np.add.at(change, np.searchsorted(t_s, held.to_s), -cells)
    total: Array = np.cumsum(change)[:-1]
    return total


def _offsets(request: Array, held: Holdings) -> Array:
    size = held.stop - held.start
    order = np.lexsort((np.arange(len(size)), held.to_s, request))
    before = np.cumsum(size[order]) - size[order]
    fresh = _changes(request[order], held.to_s[order])
    base = np.maximum.accumulate(np.where(fresh, before, 0))
    offset = np.empty_like(size)
    offset[order] = before - base
    return offset


def _changes(*columns: Array) -> Array:
    """Where any column differs from the row before; True for the first row."""
    different = np.zeros(len(columns[0]), dtype=bool)
    different[:1] = True
    for column in columns:
        different[1:] |= column[1:] != column[:-1]
    return different


def _runs(request: Array, held: Holdings) -> tuple[Array, Array]:
    """Rows that begin a box, and how many rows each box merges."""
    begins = _changes(request, held.from_s, held.to_s)
    begins[1:] |= held.start[1:] != held.stop[:-1]
    first = np.flatnonzero(begins)
    return first, np.diff(np.append(first, len(begins)))


def _merged(held: Holdings, first: Array, rows: Array) -> Holdings:
    last = first + rows - 1
    written = [np.add.reduceat(column, first) if len(first) else column[:0]
               for column in (held.first_written, held.last_written)]  # fmt: skip
    return Holdings(
        held.start[first],
        held.stop[last],
        held.from_s[first],
        held.grows_s[first],
        held.full_s[last],
        held.to_s[first],
        *written,
    )


def _claimed(records: Records, held: Holdings, request: Array, offset: Array) -> tuple[str, Array]:
    size, ticks = held.stop - held.start, records.ticks
    if not ticks["padding"].any():
        return "nothing is rounded up", size
    if not ticks["unused"].any():
        return "nothing is over-estimated", held.last_written
    for rule, claims in _rules(records):
        claimed = np.clip(claims[request] - offset, held.last_written, size)
        if np.array_equal(held_at(held, size - claimed, ticks["t_s"]), ticks["padding"]):
            return rule, claimed
    return "", size


def _rules(records: Records) -> Iterator[tuple[str, Array]]:
    """Claims by request: those of every policy that the records can tell."""
    rows, limit = records.requests, records.facts.max_model_len
    prompt, output = rows["prompt_tokens"], np.maximum(rows["output_tokens"], 1)
    yield "prompt + output", np.minimum(prompt + output, limit)
    power = 2 ** np.ceil(np.log2(output)).astype(np.int64)
    yield "prompt + the output's power of two", np.minimum(prompt + power, limit)
    yield "max_model_len", np.full(len(prompt), limit)
