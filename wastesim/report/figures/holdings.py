"""What each held span had written, and when: the geometry behind the memory map.

Growth is drawn straight between two moments that are recorded exactly: a prompt's cells are
written when its first token comes, and one more per token until the cells are given back.  A
later stay, after a preemption or a copy into a larger buffer, begins with what the one before had.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wastesim.records import Array, Records


class Holdings(NamedTuple):
    """One entry per span: its cells, its time, and its written cells as they grow."""

    start: Array
    stop: Array
    from_s: Array
    grows_s: Array  # from here on one cell per token
    full_s: Array  # until here
    to_s: Array
    first_written: Array  # before grows_s
    last_written: Array  # after full_s


class _Stay(NamedTuple):
    """The stay in memory that each span belongs to: first and last written cells, and when."""

    offset: Array  # cells of the same stay before this span
    first: Array
    last: Array
    grows_s: Array


def holdings(records: Records) -> Holdings:
    """Spans with their requests' lengths; a request fills its spans in the order of its rows."""
    spans = records.spans
    stay, size = _stays(records), spans["stop"] - spans["start"]
    seconds = (spans["to_s"] - stay.grows_s) / np.maximum(stay.last - stay.first, 1)

    def when(cells: Array) -> Array:
        at = stay.grows_s + (np.clip(cells, stay.first, stay.last) - stay.first) * seconds
        inside: Array = np.clip(at, spans["from_s"], spans["to_s"])
        return inside

    return Holdings(
        spans["start"],
        spans["stop"],
        spans["from_s"],
        when(stay.offset),
        when(stay.offset + size),
        spans["to_s"],
        np.clip(stay.first - stay.offset, 0, size),
        np.clip(stay.last - stay.offset, 0, size),
    )


def _stays(records: Records) -> _Stay:
    """Spans of one request that are given back together are one stay."""
    spans, rows = records.spans, records.requests
    size = spans["stop"] - spans["start"]
    keys = np.column_stack([spans["request_id"], spans["to_s"]])
    stays, stay = np.unique(keys, axis=0, return_inverse=True)
    stay = stay.reshape(-1)
    begin_s = np.full(len(stays), np.inf)
    np.minimum.at(begin_s, stay, spans["from_s"])
    held = np.bincount(stay, size, len(stays))
    row = np.searchsorted(rows["request_id"], stays[:, 0])
    token_s = rows["first_token_s"][row]
    token_s = np.where(np.isnan(token_s), stays[:, 1], token_s)
    last = np.minimum(rows["stored_tokens"][row], held)
    before = np.concatenate([[0], last[:-1]])[: len(last)]
    again = np.concatenate([[False], np.diff(stays[:, 0]) == 0])[: len(last)]
    first = np.minimum(np.where(again, before, rows["prompt_tokens"][row]), last)
    grows_s = np.clip(token_s, begin_s, stays[:, 1])
    return _Stay(_offsets(stay, size), first[stay], last[stay], grows_s[stay])


def _offsets(stay: Array, size: Array) -> Array:
    """Cells of the same stay that come before each span."""
    order = np.argsort(stay, kind="stable")
    grown = np.cumsum(size[order]) - size[order]
    fresh = np.concatenate([[True], np.diff(stay[order]) != 0])[: len(size)]
    base = np.maximum.accumulate(np.where(fresh, grown, 0))
    offset = np.empty_like(size)
    offset[order] = grown - base
    return offset


def written_at(held: Holdings, index: Array, at_s: Array) -> Array:
    """Written cells of the spans `index` at the times `at_s`, along the straight line."""
    begin, end = held.grows_s[index], held.full_s[index]
    part = np.clip((at_s - begin) / np.where(end > begin, end - begin, 1), 0, 1)
    part = np.where(end > begin, part, at_s >= end)
    first, last = held.first_written[index], held.last_written[index]
    written: Array = first + (last - first) * part
    return written
