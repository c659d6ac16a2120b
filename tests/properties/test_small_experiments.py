"""Random small experiments over all policies and schedulers: nothing is lost, nothing drifts."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wastesim import Result, load_experiment, simulate
from wastesim.testing import check_ledger

from .small import MODEL, grows, least_cells, policies

GPU = {"memory": "1 GiB", "bandwidth": "1 GB/s", "flops": "1 GFLOP/s"}
EFFORT = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)  # fmt: skip


@st.composite
def experiments(draw: st.DrawFn) -> dict[str, Any]:
    policy = draw(policies())
    scheduler = draw(st.sampled_from(["vllm"] if grows(policy) else ["orca", "vllm", "static"]))
    limit = draw(st.integers(8, 60))
    server = {
        "policy": policy,
        "scheduler": scheduler,
        "max_model_len": limit,
        "kv_cache_memory_bytes": 4 * draw(st.integers(least_cells(policy), 200)),
        "max_num_seqs": draw(st.integers(1, 9)),
        "block_size": draw(st.integers(1, 16)),
    }
    if scheduler == "vllm":
        server |= {
            "max_num_batched_tokens": draw(st.integers(4, 80)),
            "watermark": draw(st.sampled_from([0.0, 0.05])),
            "long_prefill_token_threshold": draw(st.sampled_from([0, 3])),
            "scheduler_reserve_full_isl": draw(st.booleans()),
            "async_scheduling": draw(st.booleans()),
        }
    half = {"kind": "uniform", "low": 1, "high": draw(st.integers(1, 30))}
    lengths = {"prompt": half, "output": half}
    rate = draw(st.sampled_from([0.2, 2.0, float("inf")]))
    clients: dict[str, Any] = {}
    if draw(st.booleans()):
        clients = {"cancel_share": 0.4, "cancel_after_s": 9, "timeout_s": 60}
    if draw(st.booleans()):
        clients["priorities"] = {0: 1, 1: 2}
    return {
        "seed": draw(st.integers(0, 999)),
        "model": MODEL,
        "gpu": GPU,
        "workload": {"lengths": lengths, "num_requests": 15, "request_rate": rate},
        "clients": clients,
        "server": server,
        "decode": {"engine": "none"},
        "clock": {"kind": "fixed", "step_s": 1},
    }


def run(tree: dict[str, Any]) -> Result:
    return simulate(load_experiment(copy.deepcopy(tree)))


@EFFORT
@given(tree=experiments())
def test_shares_add_up_and_nobody_is_lost(tree: dict[str, Any]) -> None:
    result = run(tree)
    check_ledger(result.records)
    counts = result.summary["requests"]
    ends = ("completed", "rejected", "cancelled", "unfinished")
    assert sum(counts[name] for name in ends) == counts["submitted"]
    if not result.records.facts.interrupted:
        assert counts["submitted"] == 15
        assert counts["unfinished"] == 0


@EFFORT
@given(tree=experiments())
def test_tokens_are_exact_for_whoever_completes(tree: dict[str, Any]) -> None:
    rows = run(tree).records.requests
    done = rows["status"] == "completed"
    prompt, output = rows["prompt_tokens"][done], rows["output_tokens"][done]
    assert (rows["generated_tokens"][done] == output).all()
    kept, calm = prompt + output - 1, rows["preemptions"][done] == 0
    assert (rows["scheduled_tokens"][done] >= kept).all()
    assert (rows["scheduled_tokens"][done][calm] == kept[calm]).all()
    assert (rows["stored_tokens"][done][calm] == kept[calm]).all()
    assert (rows["reserved_cells"][done] >= rows["stored_tokens"][done]).all()
    assert (rows["scheduled_tokens"][rows["status"] == "rejected"] == 0).all()


@settings(EFFORT, max_examples=30)
@given(tree=experiments())
def test_one_seed_gives_one_run(tree: dict[str, Any]) -> None:
    first, second = run(tree).records, run(tree).records
    for one, other in ((first.ticks, second.ticks), (first.requests, second.requests)):
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])


@EFFORT
@given(tree=experiments())
def test_whoever_is_let_in_and_waits_long_enough_is_served(tree: dict[str, Any]) -> None:
    """Without impatient clients, what is not refused at the door completes."""
    result = run({**tree, "clients": {}})
    counts = result.summary["requests"]
    if not result.records.facts.interrupted:
        assert counts["completed"] == counts["submitted"] - counts["rejected"]
