"""The `statistics` of `summary.json`: one run's headline numbers with intervals, and a judgement.

Intervals are batch means over the steady part.  `whole` is the number as the rest of the summary
has it, over the whole run; the two differ where a start or an end weighs much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from wastesim.records import OUTSIDE, SHARES, Array, Records
from wastesim.records.request_totals import LATENCIES, good
from wastesim.records.request_totals import latencies as of_rows
from wastesim.statistics.batches import BATCHES, FEWEST, of_pairs
from wastesim.statistics.bounds import within
from wastesim.statistics.intervals import LEVEL, Interval, of_ratio
from wastesim.statistics.rare import CARRIED, rare_queues
from wastesim.statistics.series import (
    Window,
    completed_within,
    integrals,
    latencies,
    output_tokens,
    per_step,
    reserved,
    steps_within,
)
from wastesim.statistics.steadiness import is_steady, saturation, steady_part

#: A batch is at least so many times as long as requests stay, or its neighbours lean on it.
STAYS = 2.0
#: Where requests wait, in a saturated run, these are as long as the run is.
GROWING = ("latency.ttft_s.", "latency.e2el_s.")
#: Numbers by how their names begin, and why they have no interval.
Doubts = Sequence[tuple[tuple[str, ...], str]]
RARE = "how long requests wait hangs on rare moments"
GROWS = "saturated: it grows for as long as requests come"


class Objectives(NamedTuple):
    """What makes a request good; None is no objective."""

    ttft_s: float | None = None
    tpot_s: float | None = None
    e2el_s: float | None = None


def of_run(
    records: Records, level: float = LEVEL, objectives: Objectives | None = None
) -> dict[str, Any]:
    """Intervals, warm-up, saturation and warnings of one run; undefined is None."""
    part = steady_part(records)
    loaded = saturation(records, part)
    saturated = loaded["verdict"] == "saturated"
    batches = _batches(records, part.window, saturated)
    found = dict(_intervals(records, part.window, batches, level)) if batches else {}
    steady = is_steady(records, part.window) if part.window and batches else None
    known = part.window if batches and not saturated else None
    rare = rare_queues(records, known, batches) if known else ""
    doubts = [(GROWING, GROWS)] if saturated else [(CARRIED, f"{RARE}: {rare}")] if rare else []
    return {
        "level": level,
        "steady_from_s": part.window.from_s if part.window else None,
        "steady_until_s": part.window.until_s if part.window else None,
        "warm_up_found": part.cut.settled if part.cut else None,
        "batches": batches or None,
        "steady": steady,
        "saturation": loaded,
        "goodput": None if objectives is None else goodput(records, objectives),
        "intervals": [_row(name, interval, doubts) for name, interval in found.items()],
        "warnings": [*_warnings(part.window, batches, part.cut, steady, loaded), *_rare(rare)],
    }


def goodput(records: Records, objectives: Objectives) -> dict[str, float | None]:
    """Requests that met every objective: of all submitted, and per second of the horizon."""
    share, good = good_share(records, objectives)
    end_s = records.totals.ticks.end_s
    if end_s is None:
        return {"share": share, "requests_per_s": None}
    first_s = records.totals.requests.first_arrival_s
    seconds = end_s - float(records.facts.window.get("begin_s", first_s))
    return {"share": share, "requests_per_s": good / seconds if seconds else None}


def good_share(records: Records, objectives: Objectives) -> tuple[float | None, int]:
    """The share of submitted requests that were good, and their number.

    A request that did not complete is not good; one token has no time per output token to miss.
    """
    found, wanted = records.totals.requests, objectives._asdict()
    if found.objectives == wanted:
        met = found.good
    else:  # of a streamed run, where nobody asked before: scaled up from the sample
        met = round(int(good(of_rows(records.requests), wanted).sum()) * records.requests_per_row)
    submitted = found.submitted - found.statuses[OUTSIDE]
    return (met / submitted if submitted else None), met


def _batches(records: Records, window: Window | None, saturated: bool) -> int:
    """How many batches the steady part has; 0 when it is too short for any.

    Where a queue grows, what levels remember is how long requests run, not how long they wait.
    """
    if window is None or window.length_s <= 0:
        return 0
    done = completed_within(records, window)
    if len(done) < 2 * FEWEST:
        return 0
    begin_s = records.requests["admitted_s" if saturated else "arrival_s"][done]
    stay_s = float((records.requests["finished_s"][done] - begin_s).mean())
    fit = int(window.length_s / (STAYS * stay_s)) if stay_s > 0 else BATCHES
    return min(BATCHES, max(FEWEST, fit))


def _intervals(
    records: Records, window: Window | None, batches: int, level: float
) -> Iterator[tuple[str, Interval]]:
    """Every headline number, in the order of the summary."""
    if window is None:
        return
    ticks, edges = records.ticks, window.edges(batches)
    held, seconds = reserved(records), np.diff(edges)
    cells = records.facts.capacity_cells * seconds

    def over(parts: Array, wholes: Array) -> Interval:
        return of_ratio(parts, wholes, level, correlated=True)

    written = integrals(records, ticks["written"], edges)
    ran, (step_written, step_reserved) = steps_within(records, window), per_step(records)
    yield "memory.written_over_reserved.time", over(written, integrals(records, held, edges))
    by_step = of_pairs(step_written[ran], step_reserved[ran], level, batches)
    yield "memory.written_over_reserved.step", by_step
    for name in SHARES:
        share = integrals(records, ticks[name], edges)
        yield f"memory.shares_of_pool.time.{name}", over(share, cells)
    yield "concurrency.mean", over(integrals(records, ticks["running"], edges), seconds)
    yield "throughput.output_tokens_per_s", over(output_tokens(records, edges), seconds)
    yield from _latency_intervals(records, window, batches, level)


def _latency_intervals(
    records: Records, window: Window, batches: int, level: float
) -> Iterator[tuple[str, Interval]]:
    found = latencies(records, completed_within(records, window))
    for name in LATENCIES:
        values = found[name][~np.isnan(found[name])]
        yield f"latency.{name}.mean", of_pairs(values, np.ones(len(values)), level, batches)


def _row(name: str, found: Interval, doubts: Doubts) -> dict[str, Any]:
    """One number; where no interval would be true it has none, and the reason."""
    reason = next((why for names, why in doubts if name.startswith(names)), None)
    found = found._replace(low=None, high=None) if reason else within(found, name)
    return {
        "of": name,
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "reason": reason,
    }


def _rare(why: str) -> Iterator[str]:
    if why:
        yield f"{RARE}: {why}; send more requests"


def _warnings(
    window: Window | None, batches: int, cut: Any, steady: bool | None, loaded: dict[str, Any]
) -> Iterator[str]:
    """What a reader of the intervals has to know."""
    if window is None:
        yield "no part is steady as all requests come at once: only replications give intervals"
    elif not batches:
        yield "the run is too short for intervals: send more requests, or use replications"
    elif batches <= FEWEST:
        yield (
            f"the run is short: its batches are less than {STAYS:g} times as long as requests stay,"
            " and intervals may be too narrow; send more requests"
        )
    if cut is not None and not cut.settled:
        yield "where the warm-up ends is not certain (MSER-5): send more requests"
    if steady is False:
        yield "the run drifts: its means depend on how long it is"
    if loaded["verdict"] == "saturated":
        yield "latencies grow with the length of the run: more requests come than are served"
    if loaded["verdict"] == "sheds load":
        yield "clients give up because they wait: latencies are of those that were served"
