"""The numbers of a comparison: one row per variant, as `summary.csv` and the page have them."""

from __future__ import annotations

from typing import Any, NamedTuple

from wastesim.records import Records

#: The free and rounded parts that the PagedAttention paper draws as one.
OTHER = ("padding", "stranded", "idle")


class Part(NamedTuple):
    """One variant: its name, and what its run left behind."""

    name: str
    records: Records
    summary: dict[str, Any]

    @property
    def shares(self) -> dict[str, float | None]:
        """The six shares of the pool, mean over steps."""
        found: dict[str, float | None] = self.summary["memory"]["shares_of_pool"]["step"]
        return found

    @property
    def running(self) -> float | None:
        """Requests at once, mean over steps."""
        mean: float | None = self.summary["concurrency"]["mean_step"]
        return mean


def columns(part: Part) -> dict[str, Any]:
    """One row of `summary.csv`; shares are means over steps, in percent of the pool."""
    name, summary = part.name, part.summary
    percent = {key: None if share is None else 100 * share for key, share in part.shares.items()}
    return {
        "policy": name,
        "written": percent["written"],
        "future": percent["future"],
        "unused": percent["unused"],
        "other": _sum(percent[key] for key in OTHER),
        "running_mean": part.running,
        **{key: percent[key] for key in OTHER},
        "running_peak": summary["concurrency"]["peak"],
        **_memory(summary["memory"]),
        **_speed(summary),
        **_scheduling(summary),
    }


def _memory(memory: dict[str, Any]) -> dict[str, Any]:
    written = memory["written_over_reserved"]
    return {
        "written_over_reserved": written["step"],
        "written_over_reserved_at_finish": written["at_finish"],
        "capacity_cells": memory["capacity_cells"],
        "capacity_bytes": memory["capacity_bytes"],
    }


def _speed(summary: dict[str, Any]) -> dict[str, Any]:
    latency, throughput = summary["latency"], summary["throughput"]
    spread = {
        f"{key}_{quantile}_s": latency[f"{key}_s"][quantile]
        for key in ("ttft", "tpot", "e2el")
        for quantile in ("p50", "p99")
    }
    return {
        "output_tokens_per_s": throughput["output_tokens_per_s"],
        "requests_per_s": throughput["requests_per_s"],
        **spread,
    }


def _scheduling(summary: dict[str, Any]) -> dict[str, Any]:
    scheduling, requests = summary["scheduling"], summary["requests"]
    wanted = ("preemptions", "recomputed_tokens", "copied_tokens", "copied_bytes")
    ends = ("completed", "rejected", "cancelled", "unfinished", "outside")
    return {
        "scheduler": scheduling["scheduler"],
        **{key: scheduling[key] for key in wanted},
        **{key: requests[key] for key in ends},
        "horizon_s": summary["time"]["horizon_s"],
        "steps": summary["time"]["ticks"],
    }


def _sum(parts: Any) -> float | None:
    values = list(parts)
    return None if None in values else sum(values)
