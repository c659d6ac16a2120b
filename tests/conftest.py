"""What many tests share: a toy server whose every number can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from wastesim import Result, load_experiment, simulate

SHARED = Path(__file__).resolve().parents[2] / "shared"

#: One layer, one head of one element, 16 bits: a cell is 4 bytes.
TOY_MODEL = {"layers": 1, "hidden": 8, "q_heads": 1, "kv_heads": 1, "head_dim": 1, "params": 1000}
TOY_GPU = {"memory": "1 GiB", "bandwidth": "1 GB/s", "flops": "1 GFLOP/s"}
TOY_CELL_BYTES = 4

Rows = Sequence[tuple[float, int, int]]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of oracles and traces beside the checkout; skips where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the oracles and traces in {SHARED.name}/ beside the checkout")
    return SHARED


@pytest.fixture
def toy(tmp_path: Path) -> Callable[..., Result]:
    """`toy([(arrival_s, prompt, output), ...], cells=..., max_model_len=..., **sections)`."""

    def run(rows: Rows, *, cells: int, max_model_len: int, **sections: Any) -> Result:
        trace = tmp_path / "trace.csv"
        lines = [f"{arrival},{prompt},{output}" for arrival, prompt, output in rows]
        trace.write_text("arrival_time_s,prompt_tokens,output_tokens\n" + "\n".join(lines) + "\n")
        server = {"max_model_len": max_model_len, "kv_cache_memory_bytes": cells * TOY_CELL_BYTES}
        tree = {
            "model": TOY_MODEL,
            "gpu": TOY_GPU,
            "workload": {"trace": str(trace), **sections.pop("workload", {})},
            "server": {**server, **sections.pop("server", {})},
            "decode": {"engine": "none"},
            "clock": {"kind": "fixed", "step_s": 1},
            **sections,
        }
        return simulate(load_experiment(tree))

    return run
