"""What each number of the summary means, in plain words, with its unit and denominator.

The order is the order of the tables; every numeric key of `summary.json` has its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from wastesim.report.text import DASH, bytes_, count, number, percent, rate, seconds

Format = Callable[[Any], str]


class Definition(NamedTuple):
    """One number: its key in `summary.json`, its name, how it is printed, what it means."""

    key: str
    label: str
    show: Format
    meaning: str


class Group(NamedTuple):
    """Definitions that are read together."""

    title: str
    lines: tuple[Definition, ...]


SHARE_MEANINGS = {
    "written": "cells that hold a token's key and value",
    "future": "cells held for tokens that will still come",
    "unused": "cells held for tokens that never come: the length was over-estimated",
    "padding": "cells held because the policy rounds up",
    "stranded": "free cells while the first request in the queue was refused for memory",
    "idle": "all other free cells",
}
_QUANTILES = {"mean": "mean", "p50": "median", "p90": "p90", "p99": "p99"}
_LATENCIES = {
    "ttft_s": (
        "time to first token",
        "from arrival to the end of the tick that made the first token",
    ),
    "tpot_s": ("time per output token", "(end-to-end - first token) / (output tokens - 1)"),
    "e2el_s": ("end-to-end latency", "from arrival to the last token"),
}


def _tokens_per_s(value: Any) -> str:
    return rate(value, "tokens")


def _requests_per_s(value: Any) -> str:
    return rate(value, "requests")


def words(value: Any) -> str:
    """Of what is a text in the summary, and no number."""
    return DASH if value is None else str(value)


def _cells(value: Any) -> str:
    return "–" if value is None else f"{count(value)} cells"


def _ratio_lines() -> tuple[Definition, ...]:
    base = "memory.written_over_reserved"
    return (
        Definition(
            f"{base}.at_finish",
            "written / reserved, at the end",
            percent,
            "cells written when requests ended / cells they held then, over completed and cancelled"
            " requests",
        ),
        Definition(
            f"{base}.step",
            "written / reserved, per step",
            percent,
            "written cells / reserved cells, each summed over the steps that ran something",
        ),
        Definition(
            f"{base}.time",
            "written / reserved, over time",
            percent,
            "integral of written cells / integral of reserved cells, from first tick to last",
        ),
        Definition(
            "memory.exact_anchor.at_finish",
            "the same at the end, by formula",
            percent,
            "sum (p + o - 1) / (n S) of these requests: must equal the number above",
        ),
        Definition(
            "memory.exact_anchor.step",
            "the same per step, by formula",
            percent,
            "sum o (p + (o - 1) / 2) / (S sum o) of these requests: must equal the number above",
        ),
    )


def _share_lines(average: str) -> tuple[Definition, ...]:
    base = f"memory.shares_of_pool.{average}"
    return tuple(
        Definition(f"{base}.{name}", name, percent, meaning)
        for name, meaning in SHARE_MEANINGS.items()
    )


def _latency_lines() -> tuple[Definition, ...]:
    return tuple(
        Definition(f"latency.{name}.{key}", f"{label}, {word}", seconds, meaning)
        for name, (label, meaning) in _LATENCIES.items()
        for key, word in _QUANTILES.items()
    )


_POOL = (
    Definition("memory.capacity_cells", "capacity", _cells, "one cell holds one token's K and V"),
    Definition(
        "memory.bytes_per_token", "bytes per cell", bytes_, "K and V of one token, all layers"
    ),
    Definition("memory.capacity_bytes", "pool", bytes_, "capacity x bytes per cell"),
)
_CONCURRENCY = (
    Definition(
        "concurrency.mean", "running, over time", number, "mean of running requests over time"
    ),
    Definition(
        "concurrency.mean_step", "running, per step", number, "mean over steps that ran something"
    ),
    Definition("concurrency.peak", "running, peak", count, "largest number at once"),
    Definition("concurrency.ceiling", "ceiling", count, "min(what memory holds, max_num_seqs)"),
    Definition("concurrency.at_ceiling_share", "time at the ceiling", percent, "share of all time"),
    Definition("concurrency.waiting_peak", "waiting, peak", count, "largest queue"),
)
_REQUESTS = (
    Definition("requests.submitted", "submitted", count, "requests that arrived"),
    Definition("requests.completed", "completed", count, "got their last token"),
    Definition("requests.rejected", "rejected", count, "refused on arrival, reasons below"),
    Definition("requests.cancelled", "cancelled", count, "given up by the caller before the end"),
    Definition("requests.unfinished", "unfinished", count, "still waiting or running at the end"),
    Definition(
        "requests.outside",
        "outside",
        count,
        "ended outside the window that was measured: in no other number",
    ),
    Definition("requests.truncated", "truncated", count, "served with fewer tokens than asked for"),
)
_SPEED = (
    Definition(
        "throughput.output_tokens_per_s", "output", _tokens_per_s, "generated tokens / horizon"
    ),
    Definition(
        "throughput.total_tokens_per_s",
        "prompt and output",
        _tokens_per_s,
        "(generated tokens + prompts of completed requests) / horizon",
    ),
    Definition(
        "throughput.requests_per_s", "requests", _requests_per_s, "completed requests / horizon"
    ),
    Definition(
        "utilization.bandwidth", "memory bandwidth used", percent, "of the card's, over all ticks"
    ),
    Definition(
        "utilization.flops", "arithmetic used", percent, "of the card's peak, over all ticks"
    ),
    Definition("time.horizon_s", "horizon", seconds, "first arrival to last completion, simulated"),
    Definition("time.ticks", "steps", count, "ticks that ran something"),
    Definition(
        "time.measured_from_s",
        "measured from",
        seconds,
        "what was before does not count; a dash: the whole run counts",
    ),
    Definition("time.measured_until_s", "measured until", seconds, "likewise what came after"),
)
_SCHEDULING = (
    Definition(
        "scheduling.preemptions", "preemptions", count, "times a running request lost memory"
    ),
    Definition("scheduling.requests_preempted", "requests preempted", count, "at least once"),
    Definition(
        "scheduling.preemptions_most", "preemptions, most of one", count, "of a single request"
    ),
    Definition(
        "scheduling.recomputed_tokens",
        "recomputed tokens",
        count,
        "forward passes of completed requests beyond one per token",
    ),
    Definition("scheduling.copied_tokens", "copied tokens", count, "moved when buffers grew"),
    Definition("scheduling.copied_bytes", "copied bytes", bytes_, "the same in bytes"),
    Definition(
        "scheduling.double_residency_peak_cells",
        "double residency, peak",
        _cells,
        "old and new buffers held at once while copying",
    ),
)
_FRAGMENTATION = (
    Definition(
        "memory.fragmentation.stranded_share_of_time",
        "time with stranded cells",
        percent,
        "share of all time in which free memory did not help the first in the queue",
    ),
    Definition(
        "memory.fragmentation.largest_free_cells",
        "largest free span",
        _cells,
        "mean over time; a dash where any free cells will do",
    ),
    Definition("memory.fragmentation.free_spans", "free spans", number, "mean number over time"),
)
_LONG_RUN = (
    Definition(
        "records.quantiles_within",
        "latency quantiles within",
        percent,
        "of themselves; a dash where they are exact",
    ),
    Definition(
        "records.sampled_requests",
        "requests drawn",
        count,
        "for figures and intervals; a dash for all",
    ),
    Definition(
        "records.merged_ticks",
        "rows of merged ticks",
        count,
        "for figures and intervals; a dash where ticks are single",
    ),
)
_LOAD = (
    Definition(
        "statistics.saturation.verdict", "does it keep up", words, "whether the queue grows"
    ),
    Definition(
        "statistics.saturation.arrived_per_s",
        "requests that came",
        _requests_per_s,
        "in the steady part",
    ),
    Definition(
        "statistics.saturation.served_per_s",
        "requests that completed",
        _requests_per_s,
        "in the steady part",
    ),
    Definition(
        "statistics.saturation.given_up_per_s",
        "clients that gave up",
        _requests_per_s,
        "in the steady part, most of their time spent in the queue",
    ),
    Definition(
        "statistics.saturation.queue_growth_per_s",
        "growth of the queue",
        _requests_per_s,
        "median slope of waiting requests over the steady part",
    ),
    Definition(
        "statistics.steady_from_s", "steady from", seconds, "where MSER-5 cuts, or as measured"
    ),
    Definition(
        "statistics.steady_until_s", "steady until", seconds, "last arrival, or as measured"
    ),
    Definition("statistics.batches", "batches", count, "that the steady part is cut into"),
    Definition("statistics.level", "level", percent, "of repetitions whose interval covers"),
    Definition("statistics.goodput.share", "goodput", percent, "met every objective / submitted"),
    Definition(
        "statistics.goodput.requests_per_s",
        "goodput per second",
        _requests_per_s,
        "requests that met every objective / horizon",
    ),
)
_DECODE = (
    Definition("decode.tokens", "tokens decoded", count, "by the NumPy transformer"),
    Definition("decode.wall_s", "wall time of the decode", seconds, "real time on this machine"),
    Definition(
        "decode.tokens_per_s", "speed of the decode", _tokens_per_s, "real tokens per real second"
    ),
)

GROUPS: tuple[Group, ...] = (
    Group("Written and reserved KV memory", _ratio_lines()),
    Group("Shares of the whole pool, mean over time", _share_lines("time")),
    Group("Shares of the whole pool, mean over steps", _share_lines("step")),
    Group("The pool", _POOL),
    Group("Requests at once", _CONCURRENCY),
    Group("Fragmentation", _FRAGMENTATION),
    Group("Requests", _REQUESTS),
    Group("Preemption and copying", _SCHEDULING),
    Group("Latency of completed requests", _latency_lines()),
    Group("Throughput and utilization", _SPEED),
    Group("Load and the steady part", _LOAD),
    Group("The real decode", _DECODE),
    Group("A run too long to keep", _LONG_RUN),
)
#: Keys of the summary that the pages tell in words instead.
_TOLD = re.compile(r"schema_version$|counted\.|workload\.|requests\.reasons\.")


def others(values: dict[str, Any]) -> Group:
    """Numbers that have no line above, under their own keys: nothing of a summary is left out."""
    defined = {line.key for group in GROUPS for line in group.lines}
    lines = [
        Definition(key, key, number, "as named in summary.json")
        for key, value in values.items()
        if key not in defined
        and not _TOLD.match(key)
        and not isinstance(value, bool)
        and isinstance(value, int | float)
    ]
    return Group("Other numbers", tuple(lines))
