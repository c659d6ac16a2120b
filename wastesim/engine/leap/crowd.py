"""Many wait for equal slots: who comes when is known before anything is computed.

While the line is never empty, each slot is filled in the tick after it was left, so that ticks of
admission follow from outputs alone.  What every tick stores, moves and takes then follows in
columns, for thousands of ticks and requests at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heapreplace
from typing import NamedTuple

import numpy as np

from wastesim.engine.cost import CostModel
from wastesim.engine.leap.job import Entry
from wastesim.records import Array

#: So many must wait before it is worth it, and so many come in at once; measured.
FEWEST, MOST = 256, 4096
#: Rows that are made at once.
MOST_TICKS = 1 << 14


class Crowd(NamedTuple):
    """Requests that come in, in columns; ticks are numbered from the first of the crowd's."""

    entries: Sequence[Entry]
    prompt: Array
    outputs: Array
    start: Array
    ticks: int  # that pass meanwhile: nobody else comes in before their end

    @property
    def final(self) -> Array:
        """Stored tokens at the end of each."""
        return self.prompt + self.outputs - 1

    @property
    def end(self) -> Array:
        """The tick of each one's last token, which may be later than all of these."""
        return self.start + self.outputs - 1


class Before(NamedTuple):
    """What the crowd finds: tokens stored now and in the end by those that run, and their ends."""

    stored: int
    final: int
    ends: Array
    finals: Array


def gather(entries: list[Entry], free: list[int]) -> Crowd:
    """Who of the waiting comes in, when slots are free in the ticks of `free`.

    Nothing is said of the tick in which the last of them would, as others might come with it.
    """
    heapify(free)
    start = []
    for entry in entries:
        start.append(free[0])
        heapreplace(free, free[0] + entry[3])
    ticks = min(start[-1], MOST_TICKS)
    here = entries[: int(np.searchsorted(start, ticks))]
    columns = np.array([(entry[2], entry[3]) for entry in here], dtype=np.int64).reshape(-1, 2)
    begins = np.array(start[: len(here)], dtype=np.int64)
    return Crowd(here, columns[:, 0], columns[:, 1], begins, ticks)


def rows(crowd: Crowd, before: Before, cost: CostModel, slot_cells: int) -> dict[str, Array]:
    """Columns of TickRow, without times and what follows from times and the pool's size."""
    n, prompt, start = crowd.ticks, crowd.prompt, crowd.start
    end, final = np.append(before.ends, crowd.end), np.append(before.finals, crowd.final)
    over = end < n
    finished = np.bincount(end[over], minlength=n)
    gone = sums_by_tick(end[over], final[over], n)
    admitted, prefill = np.bincount(start, minlength=n), sums_by_tick(start, prompt, n)
    left = np.cumsum(finished) - finished  # before each tick
    running = len(before.ends) + np.cumsum(admitted) - left
    decoding = running - admitted
    lost = np.cumsum(gone) - gone
    stored = before.stored + np.cumsum(decoding + prefill) - lost
    planned = before.final + np.cumsum(sums_by_tick(start, crowd.final, n)) - lost
    contexts = stored - prefill + sums_by_tick(start, prompt * (prompt + 1) // 2, n)
    reserved = running * slot_cells
    nothing = np.zeros(n, dtype=np.int64)
    flop = cost.flop_per_token * (decoding + prefill)
    return {
        "written": stored,
        "future": planned - stored,
        "unused": reserved - planned,
        "padding": nothing,
        "running": running,
        "prefill_tokens": prefill,
        "decode_tokens": decoding,
        "moved_bytes": cost.weights_read_bytes + cost.kv_bytes_per_token * stored,
        "flop": flop + cost.attention_flop_per_context * contexts,
        "stored_tokens": stored,
        "scheduled": running,
        "admitted": admitted,
        "preempted": nothing,
        "finished": finished,
        "reserved_end": reserved - finished * slot_cells,
        "largest_free": nothing - 1,
        "free_spans": nothing - 1,
    }


def sums_by_tick(ticks: Array, amounts: Array, count: int) -> Array:
    """Amounts by tick; whole numbers below 2^53 stay exact."""
    found: Array = np.bincount(ticks, amounts, minlength=count).astype(np.int64)
    return found
