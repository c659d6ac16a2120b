"""Every number of `summary.json`, from records alone.  Defined with symbols in docs/metrics.md.

Undefined is None, never 0: a ratio without a denominator, a latency nobody had.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from wastesim.records import SHARES, Array, Records
from wastesim.window import OUTSIDE, sampled_tokens

SCHEMA_VERSION = 1
RESERVED = ("written", "future", "unused", "padding")
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
    }


def memory(records: Records) -> dict[str, Any]:
    """Written over reserved, the six shares of the pool, and what a cell is."""
    facts = records.facts
    return {
        "capacity_cells": facts.capacity_cells,
        "bytes_per_token": facts.bytes_per_token,
        "capacity_bytes": facts.capacity_cells * facts.bytes_per_token,
        "written_over_reserved": written_over_reserved(records),
        "exact_anchor": exact_anchor(records),
        "fragmentation": fragmentation(records),
        "shares_of_pool": {
            "time": shares_of_pool(records, records.ticks["dt_s"]),
            "step": shares_of_pool(records, ran(records).astype(float)),
        },
    }


def written_over_reserved(records: Records) -> dict[str, float | None]:
    """`.time`, `.step`, `.at_finish`: see "Ratios" in docs/metrics.md."""
    ticks, requests = records.ticks, records.requests
    reserved: Array = np.sum([ticks[name] for name in RESERVED], axis=0)
    dt_s, completed = ticks["dt_s"], requests["status"] == "completed"
    return {
        "time": _ratio(float(ticks["written"] @ dt_s), float(reserved @ dt_s)),
        "step": _ratio(int(ticks["written"].sum()), int(reserved.sum())),
        "at_finish": _ratio(
            int(requests["stored_tokens"][completed].sum()),
            int(requests["reserved_cells"][completed].sum()),
        ),
    }


def exact_anchor(records: Records) -> dict[str, float | None]:
    """What `.step` and `.at_finish` must be for a contiguous reservation of S cells.

    step = sum o (p + (o - 1) / 2) / (S sum o), at_finish = sum (p + o - 1) / (n S), over the
    completed requests of a whole run in which nothing was left unfinished; None otherwise.
    """
    requests, facts = records.requests, records.facts
    completed = requests["status"] == "completed"
    partial = facts.window or (requests["status"] == "unfinished").any()
    if facts.policy != "contiguous" or partial:
        return {"step": None, "at_finish": None}
    p, o = requests["prompt_tokens"][completed], requests["output_tokens"][completed]
    twice_written = int((o * (2 * p + o - 1)).sum())  # o (p + (o - 1) / 2), doubled: an integer
    slot = facts.max_model_len
    return {
        "step": _ratio(twice_written, 2 * slot * int(o.sum())),
        "at_finish": _ratio(int((p + o - 1).sum()), slot * len(p)),
    }


def shares_of_pool(records: Records, weights: Array) -> dict[str, float | None]:
    """Each share's weighted mean over ticks, as a part of the whole pool."""
    pool = records.facts.capacity_cells * float(weights.sum())
    return {name: _ratio(float(records.ticks[name] @ weights), pool) for name in SHARES}


def fragmentation(records: Records) -> dict[str, float | None]:
    """How free memory is cut up over time; only where a request needs one piece of it."""
    ticks, dt_s = records.ticks, records.ticks["dt_s"]
    matters = ticks["largest_free"] >= 0
    seconds = float(dt_s[matters].sum())
    return {
        "stranded_share_of_time": _ratio(
            float(dt_s[ticks["stranded"] > 0].sum()), float(dt_s.sum())
        ),
        "largest_free_cells": _ratio(float(ticks["largest_free"] @ (dt_s * matters)), seconds),
        "free_spans": _ratio(float(ticks["free_spans"] @ (dt_s * matters)), seconds),
    }


def scheduling(records: Records) -> dict[str, Any]:
    """Preemptions and what they cost, and what growing by copying costs."""
    rows, facts = records.requests, records.facts
    done, lost = rows["status"] == "completed", rows["preemptions"][rows["status"] != OUTSIDE]
    scheduled = int(rows["scheduled_tokens"][done].sum())
    kept = int((rows["prompt_tokens"] + rows["generated_tokens"] - 1)[done].sum())
    return {
        "scheduler": facts.scheduler,
        "preemptions": int(records.ticks["preempted"].sum()),
        "requests_preempted": int((lost > 0).sum()),
        "preemptions_most": int(lost.max(initial=0)),
        "recomputed_tokens": scheduled - kept,
        "copied_tokens": facts.copied_tokens,
        "copied_bytes": facts.copied_tokens * facts.bytes_per_token,
        "double_residency_peak_cells": facts.double_residency_peak_cells,
    }


def concurrency(records: Records) -> dict[str, Any]:
    """Running requests: mean over time and over ticks, peak, and the ceiling with its reason."""
    running, dt_s, facts = records.ticks["running"], records.ticks["dt_s"], records.facts
    ran_ticks = ran(records)
    at_ceiling = float((running >= facts.ceiling) @ dt_s) if len(running) else 0.0
    return {
        "mean": _ratio(float(running @ dt_s), float(dt_s.sum())),
        "mean_step": _ratio(int(running.sum()), int(ran_ticks.sum())),
        "peak": int(running.max(initial=0)),
        "ceiling": facts.ceiling,
        "ceiling_reason": facts.ceiling_reason,
        "at_ceiling_share": _ratio(at_ceiling, float(dt_s.sum())),
        "waiting_peak": int(records.ticks["waiting"].max(initial=0)),
    }


def requests(records: Records) -> dict[str, Any]:
    """How many requests came and what became of them, with reasons."""
    status, reason = records.requests["status"], records.requests["reason"]
    counts = Counter(status.tolist())
    reasons: dict[str, dict[str, int]] = {}
    for kind, why in zip(status.tolist(), reason.tolist(), strict=True):
        if why:
            by_reason = reasons.setdefault(kind, {})
            by_reason[why] = by_reason.get(why, 0) + 1
    return {
        "submitted": len(status),
        "completed": counts["completed"],
        "rejected": counts["rejected"],
        "cancelled": counts["cancelled"],
        "unfinished": counts["unfinished"],
        "outside": counts[OUTSIDE],
        "truncated": int(((records.requests["truncated_tokens"] > 0) & (status != OUTSIDE)).sum()),
        "reasons": reasons,
    }


def latencies(records: Records) -> dict[str, Array]:
    """`ttft_s`, `tpot_s`, `e2el_s` of each completed request; tpot of O = 1 is left out."""
    rows = records.requests
    done = rows["status"] == "completed"
    arrival, outputs = rows["arrival_s"][done], rows["output_tokens"][done]
    ttft = rows["first_token_s"][done] - arrival
    e2el = rows["finished_s"][done] - arrival
    many = outputs > 1
    tpot = (e2el - ttft)[many] / (outputs[many] - 1)
    return {"ttft_s": ttft, "tpot_s": tpot, "e2el_s": e2el}


def latency(records: Records) -> dict[str, dict[str, float | None]]:
    """Mean and quantiles (linear interpolation) over completed requests."""
    return {name: _distribution(values) for name, values in latencies(records).items()}


def throughput(records: Records) -> dict[str, float | None]:
    """Per second of the horizon: generated tokens, all tokens of completed requests, requests."""
    rows, span_s = records.requests, horizon_s(records)
    done = rows["status"] == "completed"
    whole = not records.facts.window
    outputs = int(rows["generated_tokens"].sum()) if whole else sampled_tokens(records)
    total = outputs + int(rows["prompt_tokens"][done].sum())
    return {
        "output_tokens_per_s": _ratio(outputs, span_s),
        "total_tokens_per_s": _ratio(total, span_s),
        "requests_per_s": _ratio(int(done.sum()), span_s),
    }


def utilization(records: Records) -> dict[str, float | None]:
    """Shares of the card's ideal bandwidth and arithmetic used over all ticks, idle included."""
    ticks, facts = records.ticks, records.facts
    seconds = float(ticks["dt_s"].sum())
    moved, flop = float(ticks["moved_bytes"].sum()), float(ticks["flop"].sum())
    return {
        "bandwidth": _ratio(moved, facts.bandwidth_bytes_per_s * seconds),
        "flops": _ratio(flop, facts.peak_flop_per_s * seconds),
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
        "ticks": int(ran(records).sum()),
        "measured_from_s": window.get("begin_s"),
        "measured_until_s": window.get("end_s"),
    }


def horizon_s(records: Records) -> float | None:
    """First arrival to last completion; to the last tick's end where a run was stopped.

    Of a measured window, its length.
    """
    rows, ticks = records.requests, records.ticks
    if not len(ticks["t_s"]):
        return None
    begins = float(records.facts.window.get("begin_s", rows["arrival_s"].min()))
    ends = float(ticks["t_s"][-1] + ticks["dt_s"][-1])
    return ends - begins


def ran(records: Records) -> Array:
    """Ticks that ran something, as opposed to time in which the server slept."""
    mask: Array = records.ticks["running"] > 0
    return mask


def flat(summary: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The summary as dotted keys and plain values: the columns of `summary.csv`."""
    out: dict[str, Any] = {}
    for key, value in summary.items():
        if isinstance(value, dict):
            out.update(flat(value, f"{prefix}{key}."))
        elif not isinstance(value, list):
            out[f"{prefix}{key}"] = value
    return out


def _distribution(values: Array) -> dict[str, float | None]:
    if not len(values):
        return {"mean": None, **dict.fromkeys(QUANTILES)}
    found = np.quantile(values, list(QUANTILES.values()))
    return {"mean": float(values.mean()), **dict(zip(QUANTILES, found.tolist(), strict=True))}


def _ratio(part: float, whole: float | None) -> float | None:
    return part / whole if whole else None
