"""Small runs of the real engine, to fill the page with."""

from __future__ import annotations

from functools import cache
from typing import Any

from wastesim.report.comparison_parts import Part

PRESETS = ("contiguous", "orca_pow2", "orca_oracle", "paged", "first_fit", "vattention", "realloc")
#: Blocks that are claimed ahead: most of a request's boxes are never written.
OWN = {"pow2 blocks": {"claim": "pow2", "place": "blocks"}}
POLICIES = (*PRESETS, *OWN)


@cache
def part(policy: str, memory: str | None = None) -> Part:
    """One run of ShareGPT requests at a small server."""
    from wastesim.result import load_experiment, run_one

    tree: dict[str, Any] = {
        "name": f"small, {policy}",
        "model": "llama-3-8b",
        "gpu": "l4-24gb",
        "workload": {
            "lengths": "sharegpt",
            "num_requests": 60,
            "request_rate": 4,
            "too_long": "reject",
        },
        "server": {"policy": OWN.get(policy, policy), "max_model_len": 2048},
        "decode": {"engine": "none"},
    }
    tree["server"] |= {"kv_cache_memory_bytes": memory} if memory else {}
    result = run_one(load_experiment(tree))
    return Part(policy, result.records, result.summary)
