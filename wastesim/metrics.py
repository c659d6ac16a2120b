"""Every number of `summary.json`, from records alone.  Defined with symbols in docs/metrics.md.

Each follows from the totals of a run, so that it is the same whether rows were kept or streamed.

Undefined is None, never 0: a ratio without a denominator, a latency nobody had.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wastesim.records import OUTSIDE, RESERVED, SHARES, Array, Records
from wastesim.records.request_totals import Values
from wastesim.records.request_totals import latencies as latencies_of

SCHEMA_VERSION = 1
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def summarize(records: Records) -> dict[str, Any]:
    """The summary of one run; its keys are the contract of `summary.json`."""
    return {
        "schema_version": SCHEMA_VERSION,
        "name": records.facts.name,
        "policy": records.facts.policy,
        "interrupted": records.facts.interrupted,
        "memory": memory(records),
        "concurrency": concurrency(records),
        "requests": requests(records),
        "scheduling": scheduling(records),
        "latency": latency(records),
        "throughput": throughput(records),
        "utilization": utilization(records),
        "time": time(records),
        "decode": decode(records),
        "counted": records.facts.counted,
        "workload": records.facts.workload,
        "records": kept(records),
    }


def memory(records: Records) -> dict[str, Any]:
    """Written over reserved, the six shares of the pool, and what a cell is."""
    facts, ticks = records.facts, records.totals.ticks
    return {
        "capacity_cells": facts.capacity_cells,
        "bytes_per_token": facts.bytes_per_token,
        "capacity_bytes": facts.capacity_cells * facts.bytes_per_token,
        "written_over_reserved": written_over_reserved(records),
        "exact_anchor": exact_anchor(records),
        "fragmentation": fragmentation(records),
        "shares_of_pool": {
            "time": _shares(ticks.integrals, facts.capacity_cells * ticks.seconds),
            "step": _shares(ticks.step_sums, facts.capacity_cells * ticks.steps),
        },
    }


def written_over_reserved(records: Records) -> dict[str, float | None]:
    """`.time`, `.step`, `.at_finish`: see "Ratios" in docs/metrics.md."""
    ticks, ended = records.totals.ticks, records.totals.requests.ended
    return {
        "time": _ratio(ticks.integrals["written"], ticks.integrals["reserved"]),
        "step": _ratio(ticks.sums["written"], sum(ticks.sums[name] for name in RESERVED)),
        "at_finish": _ratio(ended["written_cells"], ended["reserved_cells"]),
    }


def exact_anchor(records: Records) -> dict[str, float | None]:
    """What `.step` and `.at_finish` must be for a contiguous reservation of S cells.

    step = sum o (p + (o - 1) / 2) / (S sum o), at_finish = sum (p + o - 1) / (n S), over the
    completed requests.  None unless they alone ran, each in as many ticks as it has outputs, and
    gave its cells back at once: then the whole prompt was written in the first of them.
    """
    found, facts, ticks = records.totals.requests, records.facts, records.totals.ticks
    n, slot = found.statuses["completed"], facts.max_model_len
    p, o = found.completed["prompt_tokens"], found.completed["output_tokens"]
    contiguous = facts.policy == "contiguous" and facts.scheduler != "static"
    if not contiguous or facts.window or ticks.sums["running"] != o:
        return {"step": None, "at_finish": None}
    return {
        "step": _ratio(found.twice_written, 2 * slot * o),
        "at_finish": _ratio(p + o - n, slot * n),
    }


def _shares(cells: Mapping[str, float], pool: float) -> dict[str, float | None]:
    """Each share as a part of the whole pool, both summed over the same time or steps."""
    return {name: _ratio(float(cells[name]), float(pool)) for name in SHARES}


def fragmentation(records: Records) -> dict[str, float | None]:
    """How free memory is cut up over time; only where a request needs one piece of it."""
    ticks = records.totals.ticks
    free = ticks.free
    return {
        "stranded_share_of_time": _ratio(free["stranded_s"], ticks.seconds),
        "largest_free_cells": _ratio(free["largest_free"], free["matters_s"]),
        "free_spans": _ratio(free["free_spans"], free["matters_s"]),
    }


def scheduling(records: Records) -> dict[str, Any]:
    """Preemptions and what they cost, and what growing by copying costs."""
    found, facts = records.totals.requests, records.facts
    done = found.completed
    kept = done["prompt_tokens"] + done["generated_tokens"] - found.statuses["completed"]
    return {
        "scheduler": facts.scheduler,
        "preemptions": records.totals.ticks.sums["preempted"],
        "requests_preempted": found.preempted,
        "preemptions_most": found.preemptions_most,
        "recomputed_tokens": done["scheduled_tokens"] - kept,
        "copied_tokens": facts.copied_tokens,
        "copied_bytes": facts.copied_tokens * facts.bytes_per_token,
        "double_residency_peak_cells": facts.double_residency_peak_cells,
    }


def concurrency(records: Records) -> dict[str, Any]:
    """Running requests: mean over time and over ticks, peak, and the ceiling with its reason."""
    ticks, facts = records.totals.ticks, records.facts
    return {
        "mean": _ratio(ticks.integrals["running"], ticks.seconds),
        "mean_step": _ratio(ticks.sums["running"], ticks.steps),
        "peak": ticks.peaks["running"],
        "ceiling": facts.ceiling,
        "ceiling_reason": facts.ceiling_reason,
        "at_ceiling_share": _ratio(ticks.at_least_running(facts.ceiling), ticks.seconds),
        "waiting_peak": ticks.peaks["waiting"],
    }


def requests(records: Records) -> dict[str, Any]:
    """How many requests came and what became of them, with reasons."""
    found = records.totals.requests
    ends = ("completed", "rejected", "cancelled", "unfinished", OUTSIDE)
    return {
        "submitted": found.submitted,
        **{name: found.statuses[name] for name in ends},
        "truncated": found.truncated,
        "reasons": found.reasons,
    }


def latencies(records: Records) -> dict[str, Array]:
    """`ttft_s`, `tpot_s`, `e2el_s` of completed requests of which there are rows.

    tpot of O = 1 is left out.
    """
    found = latencies_of(records.requests)
    return {name: values[~np.isnan(values)] for name, values in found.items()}


def latency(records: Records) -> dict[str, dict[str, float | None]]:
    """Mean and quantiles over completed requests."""
    return {
        name: _distribution(values) for name, values in records.totals.requests.latencies.items()
    }


def throughput(records: Records) -> dict[str, float | None]:
    """Per second of the horizon: generated tokens, all tokens of completed requests, requests."""
    found, span_s = records.totals.requests, horizon_s(records)
    outputs = sampled_tokens(records) if records.facts.window else found.generated_tokens
    total = outputs + found.completed["prompt_tokens"]
    return {
        "output_tokens_per_s": _ratio(outputs, span_s),
        "total_tokens_per_s": _ratio(total, span_s),
        "requests_per_s": _ratio(found.statuses["completed"], span_s),
    }


def sampled_tokens(records: Records) -> int:
    """Output tokens of the window: those of decoding, and one per prefill that came to its end.

    Prefills that ended are first tokens and, after a preemption, as many as were admitted again.
    """
    ticks, found = records.totals.ticks, records.totals.requests
    again = ticks.sums["admitted"] - found.newly_admitted
    return ticks.sums["decode_tokens"] + found.first_tokens + again


def utilization(records: Records) -> dict[str, float | None]:
    """Shares of the card's ideal bandwidth and arithmetic used over all ticks, idle included."""
    ticks, facts = records.totals.ticks, records.facts
    moved, flop = float(ticks.sums["moved_bytes"]), float(ticks.sums["flop"])
    return {
        "bandwidth": _ratio(moved, facts.bandwidth_bytes_per_s * ticks.seconds),
        "flops": _ratio(flop, facts.peak_flop_per_s * ticks.seconds),
    }


def decode(records: Records) -> dict[str, Any]:
    """The NumPy decode: tokens it generated, its wall time, and its speed."""
    facts = dict(records.facts.decode)
    facts["tokens_per_s"] = _ratio(facts.get("tokens") or 0, facts.get("wall_s") or 0.0)
    return facts


def time(records: Records) -> dict[str, Any]:
    """The horizon, its steps, and the window that was measured."""
    window = records.facts.window
    return {
        "horizon_s": horizon_s(records),
        "ticks": records.totals.ticks.steps,
        "measured_from_s": window.get("begin_s"),
        "measured_until_s": window.get("end_s"),
    }


def horizon_s(records: Records) -> float | None:
    """First arrival to last completion; to the last tick's end where a run was stopped.

    Of a measured window, its length.
    """
    end_s = records.totals.ticks.end_s
    begin_s = records.facts.window.get("begin_s", records.totals.requests.first_arrival_s)
    return None if end_s is None else end_s - float(begin_s)


def kept(records: Records) -> dict[str, Any]:
    """Whether rows were kept, or streamed; what quantiles and pictures are then made of."""
    streamed = records.streamed
    if streamed is None:
        nothing = ("quantiles_within", "sampled_requests", "merged_ticks")
        return {"streamed": False, **dict.fromkeys(nothing)}
    return {
        "streamed": True,
        "quantiles_within": streamed.accuracy,
        "sampled_requests": len(records.requests["status"]),
        "merged_ticks": len(records.ticks["t_s"]),
    }


def flat(summary: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The summary as dotted keys and plain values: the columns of `summary.csv`."""
    out: dict[str, Any] = {}
    for key, value in summary.items():
        if isinstance(value, dict):
            out.update(flat(value, f"{prefix}{key}."))
        elif not isinstance(value, list):
            out[f"{prefix}{key}"] = value
    return out


def _distribution(values: Values) -> dict[str, float | None]:
    found = values.quantiles(list(QUANTILES.values()))
    if found is None:
        return {"mean": None, **dict.fromkeys(QUANTILES)}
    return {"mean": values.mean(), **dict(zip(QUANTILES, found, strict=True))}


def _ratio(part: float, whole: float | None) -> float | None:
    return part / whole if whole else None
