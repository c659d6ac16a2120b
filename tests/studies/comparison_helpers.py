"""A small experiment to compare variants of."""

from __future__ import annotations

from typing import Any

TREE: dict[str, Any] = {
    "name": "small",
    "study": "comparison",
    "model": {
        "layers": 1, "hidden": 8, "q_heads": 1, "kv_heads": 1, "head_dim": 1, "params": 1000,
    },
    "gpu": {"memory": "4 GiB", "bandwidth": "1 GB/s", "flops": "1 GFLOP/s"},
    "workload": {
        "lengths": {
            "prompt": {"kind": "uniform", "low": 1, "high": 9},
            "output": {"kind": "uniform", "low": 1, "high": 7},
        },
        "num_requests": 12,
        "request_rate": "inf",
        "too_long": "reject",
    },
    "server": {"max_model_len": 16, "kv_cache_memory_bytes": 256},
    "decode": {"engine": "none"},
    "clock": {"kind": "fixed", "step_s": 1},
    "output": {"figures": False},
    "compare": ["contiguous", "orca_oracle", "token"],
}  # fmt: skip


def tree(**changes: Any) -> dict[str, Any]:
    """The experiment with other top-level keys."""
    return {**TREE, **changes}
