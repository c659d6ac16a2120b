"""A toy experiment that runs in milliseconds, and its sweeps on the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from wastesim.config import dump_yaml

#: One layer, one head of one element, 16 bits: a cell is 4 bytes, the pool has 100 of them.
TOY: dict[str, Any] = {
    "name": "toy",
    "model": {
        "layers": 1,
        "hidden": 8,
        "q_heads": 1,
        "kv_heads": 1,
        "head_dim": 1,
        "params": 1000,
    },
    "gpu": {"memory": "1 GiB", "bandwidth": "1 GB/s", "flops": "1 GFLOP/s"},
    "workload": {
        "lengths": {
            "prompt": {"kind": "uniform", "low": 1, "high": 6},
            "output": {"kind": "uniform", "low": 1, "high": 9},
        },
        "num_requests": 20,
        "request_rate": 0.2,
    },
    "server": {"max_model_len": 16, "kv_cache_memory_bytes": 400},
    "decode": {"engine": "none"},
    "clock": {"kind": "fixed", "step_s": 1},
    "output": {"figures": False},
}


def varied(**sections: Any) -> dict[str, Any]:
    """The toy with other sections; `workload` and `server` are merged."""
    merged = {
        key: {**TOY[key], **sections.pop(key, {})} for key in ("workload", "server", "output")
    }
    return {**TOY, **merged, **sections}


def saved(folder: Path, **sections: Any) -> Path:
    """The same as a file."""
    path = folder / "toy.yaml"
    path.write_text(dump_yaml(varied(**sections)), encoding="utf-8")
    return path


def command(*words: str | Path) -> list[str]:
    """`wastesim run ...` in a process of its own."""
    return [sys.executable, "-W", "error", "-m", "wastesim.run", *map(str, words)]


def ran(*words: str | Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """The same, run to its end."""
    return subprocess.run(
        command(*words), capture_output=True, text=True, timeout=timeout, check=False
    )


def table(folder: Path) -> str:
    """Every number of every run, as text: equal runs give equal text."""
    return (folder / "runs.csv").read_text(encoding="utf-8")
