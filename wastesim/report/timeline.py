"""A run as a timeline: `trace.json`, in the Trace Event Format that Perfetto and Chrome open.

===================  ==============================================================
process 1, requests  a track per request: `request 17`, and in it `waiting`, `prefill`,
                     `decode`, `preempted`.  With more than 1,000 requests a track per
                     lane that admitted requests take in turn, as slots are taken
process 2, pool      counters: the six shares in cells, requests running and waiting
===================  ==============================================================

Times are whole microseconds of simulated time, so slices nest exactly.  A request that comes back
after a preemption is shown as `decode` while it recomputes: records keep first tokens only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from wastesim.records import SHARES, Array, Records
from wastesim.report.figures.thin import bin_edges, means
from wastesim.report.timeline_lanes import Lane, lanes
from wastesim.report.timeline_phases import lives

NAME = "trace.json"
REQUESTS, POOL = 1, 2
#: Points of each counter; beyond that many ticks they are means over equal times.
MOST_POINTS = 4000

Event = dict[str, Any]


def write_timeline(records: Records, folder: Path) -> None:
    """Write `trace.json`, an event per line."""
    found = timeline(records)
    lines = ",\n".join(_compact(event) for event in found["traceEvents"])
    other = _compact(found["otherData"])
    text = f'{{"displayTimeUnit":"ms","otherData":{other},"traceEvents":[\n{lines}\n]}}\n'
    (folder / NAME).write_text(text, encoding="utf-8")


def timeline(records: Records) -> dict[str, Any]:
    """The whole trace."""
    placed = lanes(lives(records))
    events = [*_names(placed), *_slices(placed), *_rejections(records), *_counters(records)]
    facts = records.facts
    about = {"name": facts.name, "policy": facts.policy, "model": facts.model, "gpu": facts.gpu}
    return {"displayTimeUnit": "ms", "otherData": about, "traceEvents": events}


def microseconds(time_s: float) -> int:
    """Simulated time as the format wants it."""
    return round(time_s * 1e6)


def _names(placed: list[Lane]) -> Iterator[Event]:
    for pid, name in ((REQUESTS, "requests"), (POOL, "pool")):
        yield {"ph": "M", "pid": pid, "tid": 0, "name": "process_name", "args": {"name": name}}
        yield _meta(pid, 0, "process_sort_index", {"sort_index": pid})
    for track, lane in enumerate(placed, start=1):
        yield _meta(REQUESTS, track, "thread_name", {"name": lane.name})
        yield _meta(REQUESTS, track, "thread_sort_index", {"sort_index": track})


def _meta(pid: int, tid: int, name: str, args: dict[str, Any]) -> Event:
    return {"ph": "M", "pid": pid, "tid": tid, "name": name, "args": args}


def _slices(placed: list[Lane]) -> Iterator[Event]:
    """Outer slices before those inside them, as readers of equal times expect."""
    for track, lane in enumerate(placed, start=1):
        for life in lane.lives:
            yield _slice(track, f"request {life.request_id}", life.begin_s, life.end_s, life.facts)
            for name, begin_s, end_s in life.phases:
                if microseconds(end_s) > microseconds(begin_s):
                    yield _slice(track, name, begin_s, end_s)


def _slice(
    track: int, name: str, begin_s: float, end_s: float, args: dict[str, Any] | None = None
) -> Event:
    begin = microseconds(begin_s)
    event: Event = {"ph": "X", "pid": REQUESTS, "tid": track, "name": name, "ts": begin}
    return {**event, "dur": microseconds(end_s) - begin, **({"args": args} if args else {})}


def _rejections(records: Records) -> Iterator[Event]:
    rows = records.requests
    for row in np.flatnonzero(rows["status"] == "rejected").tolist():
        yield {
            "ph": "i",
            "s": "p",
            "pid": REQUESTS,
            "tid": 0,
            "name": f"request {rows['request_id'][row]} rejected",
            "ts": microseconds(float(rows["arrival_s"][row])),
            "args": {"reason": str(rows["reason"][row])},
        }


def _counters(records: Records) -> Iterator[Event]:
    ticks = records.ticks
    if not len(ticks["t_s"]):
        return
    edges = bin_edges(ticks["t_s"], ticks["dt_s"], MOST_POINTS)
    levels = {name: _level(ticks, name, edges) for name in (*SHARES, "running", "waiting")}
    for at, begin_s in enumerate(edges[:-1].tolist()):
        shares = {name: levels[name][at] for name in SHARES}
        yield _counter("cells", begin_s, shares)
        yield _counter("requests", begin_s, {n: levels[n][at] for n in ("running", "waiting")})
    yield _counter("cells", float(edges[-1]), dict.fromkeys(SHARES, 0))
    yield _counter("requests", float(edges[-1]), {"running": 0, "waiting": 0})


def _level(ticks: dict[str, Array], name: str, edges: Array) -> list[float]:
    """Per tick as they are, integers; averaged with two decimals."""
    if len(edges) == len(ticks["t_s"]) + 1:
        exact: list[float] = ticks[name].tolist()
        return exact
    averaged = means(ticks["t_s"], ticks["dt_s"], ticks[name], edges)
    rounded: list[float] = averaged.round(2).tolist()
    return rounded


def _counter(name: str, time_s: float, args: dict[str, float]) -> Event:
    at = microseconds(time_s)
    return {"ph": "C", "pid": POOL, "tid": 0, "name": name, "ts": at, "args": args}


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
