"""The life of each request: waiting, prefill, decode, and preempted in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from wastesim.records import Array, Records

Phase = tuple[str, float, float]


class Life(NamedTuple):
    """One request from its arrival to its end; phases follow each other inside."""

    request_id: int
    begin_s: float
    end_s: float
    admitted_s: float
    phases: list[Phase]
    facts: dict[str, Any]


def lives(records: Records) -> list[Life]:
    """Every request but the rejected ones, by arrival."""
    rows = records.requests
    if not len(records.ticks["t_s"]):
        return []
    end_s = float(records.ticks["t_s"][-1] + records.ticks["dt_s"][-1])
    gaps = _gaps(records)
    order = np.lexsort((rows["request_id"], rows["arrival_s"]))
    chosen = [int(row) for row in order if rows["status"][row] != "rejected"]
    return [_life(rows, row, end_s, gaps.get(row, [])) for row in chosen]


def _life(rows: dict[str, Array], row: int, run_end_s: float, gaps: list[Phase]) -> Life:
    arrival_s = float(rows["arrival_s"][row])
    finished_s = float(rows["finished_s"][row])
    end_s = max(arrival_s, run_end_s if np.isnan(finished_s) else finished_s)
    marks = [arrival_s, *_marks(rows, row, end_s), end_s]
    names = ("waiting", "prefill", "decode")
    phases = [
        piece
        for name, begin, end in zip(names, marks[:-1], marks[1:], strict=True)
        for piece in _without(name, begin, end, gaps)
    ]
    return Life(
        int(rows["request_id"][row]),
        arrival_s,
        end_s,
        marks[1],
        sorted([*phases, *gaps], key=lambda phase: phase[1]),
        _facts(rows, row),
    )


def _marks(rows: dict[str, Array], row: int, end_s: float) -> list[float]:
    """When it was admitted and when its first token came, at the latest at its end."""
    moments = [float(rows[name][row]) for name in ("admitted_s", "first_token_s")]
    return [end_s if np.isnan(moment) else min(moment, end_s) for moment in moments]


def _without(name: str, begin_s: float, end_s: float, gaps: list[Phase]) -> Iterator[Phase]:
    """The phase, cut where the request was preempted."""
    for _, gap_begin, gap_end in gaps:
        if gap_begin < end_s and gap_end > begin_s:
            if gap_begin > begin_s:
                yield name, begin_s, gap_begin
            begin_s = max(begin_s, gap_end)
    if end_s > begin_s:
        yield name, begin_s, end_s


def _gaps(records: Records) -> dict[int, list[Phase]]:
    """Times in which a preempted request held nothing, by its row."""
    spans, rows = records.spans, records.requests
    found: dict[int, list[Phase]] = {}
    for row in np.flatnonzero(rows["preemptions"] > 0).tolist():
        own = spans["request_id"] == rows["request_id"][row]
        order = np.argsort(spans["from_s"][own], kind="stable")
        begins, ends = spans["from_s"][own][order], spans["to_s"][own][order]
        held_until = np.maximum.accumulate(ends)[:-1] if len(ends) else ends
        pauses = np.flatnonzero(begins[1:] > held_until)
        found[row] = [("preempted", float(held_until[p]), float(begins[p + 1])) for p in pauses]
    return found


def _facts(rows: dict[str, Array], row: int) -> dict[str, Any]:
    names = ("prompt_tokens", "output_tokens", "stored_tokens", "reserved_cells", "preemptions")
    return {"status": str(rows["status"][row]), **{name: int(rows[name][row]) for name in names}}
