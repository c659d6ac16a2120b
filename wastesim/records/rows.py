"""The columns of the three tables: one flat row per request, per tick and per span held."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy.typing as npt

Array = npt.NDArray[Any]

#: The shares of the pool, in the order in which they are drawn and printed.
SHARES = ("written", "future", "unused", "padding", "stranded", "idle")


class RequestRow(NamedTuple):
    """One request.  Undefined values are None: a rejected request was never admitted."""

    request_id: int
    status: str  # completed | rejected | cancelled | unfinished | outside (the window)
    reason: str
    arrival_s: float
    prompt_tokens: int
    output_tokens: int  # as served: less than asked for when truncated
    truncated_tokens: int
    generated_tokens: int
    stored_tokens: int  # when it ended: P + O - 1 if completed
    reserved_cells: int  # then, in all KV groups together
    written_cells: int  # of those: all stored tokens where there is one group and no window
    preemptions: int
    scheduled_tokens: int  # of all its forward passes, recomputation included
    admitted_s: float | None
    first_token_s: float | None
    finished_s: float | None
    admitted_tick: int | None
    first_token_tick: int | None
    finished_tick: int | None


class TickRow(NamedTuple):
    """One tick, holding over [t_s, t_s + dt_s); cells are integers and sum to the capacity."""

    t_s: float
    dt_s: float
    written: int
    future: int
    unused: int
    padding: int
    stranded: int
    idle: int
    running: int
    waiting: int
    prefill_tokens: int
    decode_tokens: int
    moved_bytes: int
    flop: int
    stored_tokens: int  # of running requests; equals written where there is one KV group
    scheduled: int  # requests that had work
    admitted: int
    preempted: int
    finished: int  # delivered their last token at the end of this tick
    reserved_end: int  # cells still held after those were released
    largest_free: int  # cells of the largest free span; -1 where any free cells will do
    free_spans: int  # -1 likewise


class SpanRow(NamedTuple):
    """One span held by a request over [from_s, to_s): the memory map."""

    request_id: int
    start: int
    stop: int
    from_s: float
    to_s: float
