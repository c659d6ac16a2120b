"""What each held span had written, and when: the geometry behind the memory map.

Growth is drawn straight between the two moments that are recorded exactly: a prompt's cells are
written when its first token comes, and one more per token until the request ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wastesim.records import Array, Records


class Holdings(NamedTuple):
    """One entry per span: its cells, its time, and its written cells at three moments."""

    start: Array
    stop: Array
    from_s: Array
    grows_s: Array  # the first token: from here on one cell per token
    to_s: Array
    first_written: Array  # at grows_s, and before
    last_written: Array  # at to_s


def holdings(records: Records) -> Holdings:
    """Spans with their requests' lengths; a request fills its spans in the order of its rows."""
    spans, rows = records.spans, records.requests
    at = np.searchsorted(rows["request_id"], spans["request_id"])
    offset = _offsets(records)
    size = spans["stop"] - spans["start"]
    prompt, stored = rows["prompt_tokens"][at], rows["stored_tokens"][at]
    first_token = rows["first_token_s"][at]
    grows = np.clip(
        np.where(np.isnan(first_token), spans["to_s"], first_token), spans["from_s"], spans["to_s"]
    )
    return Holdings(
        spans["start"],
        spans["stop"],
        spans["from_s"],
        grows,
        spans["to_s"],
        np.clip(np.minimum(prompt, stored) - offset, 0, size),
        np.clip(stored - offset, 0, size),
    )


def _offsets(records: Records) -> Array:
    """Cells of the same request, given back at the same time, that come before each span."""
    spans = records.spans
    size = spans["stop"] - spans["start"]
    order = np.lexsort((np.arange(len(size)), spans["to_s"], spans["request_id"]))
    grown = np.cumsum(size[order]) - size[order]
    keys = np.column_stack([spans["request_id"][order], spans["to_s"][order]])
    fresh = np.concatenate([[True], (np.diff(keys, axis=0) != 0).any(axis=1)])[: len(size)]
    base = np.maximum.accumulate(np.where(fresh, grown, 0))
    offset = np.empty_like(size)
    offset[order] = grown - base
    return offset


def written_at(held: Holdings, index: Array, at_s: Array) -> Array:
    """Written cells of the spans `index` at the times `at_s`, along the straight line."""
    begin, end = held.grows_s[index], held.to_s[index]
    part = np.clip((at_s - begin) / np.where(end > begin, end - begin, 1), 0, 1)
    first, last = held.first_written[index], held.last_written[index]
    written: Array = first + (last - first) * part
    return written
