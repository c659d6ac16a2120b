"""What paging wastes depends on the lengths alone, as long as nobody is preempted."""

from __future__ import annotations

import numpy as np
import pytest

from wastesim import load_experiment, simulate

TOY = {
    "model": {"layers": 1, "hidden": 8, "q_heads": 1, "kv_heads": 1, "head_dim": 1, "params": 1000},
    "gpu": {"memory": "1 GiB", "bandwidth": "1 GB/s", "flops": "1 GFLOP/s"},
    "workload": {"lengths": "sharegpt", "num_requests": 60},
    "decode": {"engine": "none"},
    "clock": {"kind": "fixed", "step_s": 1},
}


def closed_form(prompts: np.ndarray, outputs: np.ndarray, block: int) -> float:
    """``1 - sum t / (bs * sum ceil(t / bs))`` over t = P .. P + O - 1 of all requests."""
    stored = np.concatenate([p + np.arange(o) for p, o in zip(prompts, outputs, strict=True)])
    return 1 - stored.sum() / (block * np.ceil(stored / block).sum())


@pytest.mark.parametrize("block", [1, 2, 3, 5, 8, 16, 31, 32, 64, 100, 128, 256])
def test_the_waste_of_paging_is_its_closed_form(block: int) -> None:
    server = {"policy": "paged", "block_size": block, "max_model_len": 2048,
              "max_num_batched_tokens": 200_000, "kv_cache_memory_bytes": 4 * 200_000}  # fmt: skip
    records = simulate(load_experiment({**TOY, "server": server})).records
    assert records.ticks["preempted"].sum() == 0
    reserved = sum(records.ticks[name].sum() for name in ("future", "unused", "padding"))
    written = records.ticks["written"].sum()
    waste = 1 - written / (written + reserved)
    rows = records.requests
    expected = closed_form(rows["prompt_tokens"], rows["output_tokens"], block)
    assert waste == pytest.approx(expected, abs=1e-9)
    assert (waste == 0) == (block == 1)
