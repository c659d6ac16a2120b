"""Small runs of the real engine, to fill the page with."""

from __future__ import annotations

from functools import cache
from typing import Any

from wastesim.report.comparison_parts import Part

POLICIES = ("contiguous", "orca_pow2", "orca_oracle", "paged", "first_fit", "vattention", "realloc")


@cache
def part(policy: str, num_requests: int = 60, rate: float | str = 4.0) -> Part:
    """One run of ShareGPT requests at a small server."""
    from wastesim.result import load_experiment, run_one

    tree: dict[str, Any] = {
        "name": f"small, {policy}",
        "model": "llama-3-8b",
        "gpu": "l4-24gb",
        "workload": {
            "lengths": "sharegpt",
            "num_requests": num_requests,
            "request_rate": rate,
            "too_long": "reject",
        },
        "server": {"policy": policy, "max_model_len": 2048},
        "decode": {"engine": "none"},
    }
    result = run_one(load_experiment(tree))
    return Part(policy, result.records, result.summary)
