"""Two speeds, one truth: leaping gives the rows that ticking gives, to the last cell and bit."""

from __future__ import annotations

import copy
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wastesim import load_experiment
from wastesim.engine import Observer, run
from wastesim.engine.leap import block_crowd, by_block, by_slot, crowd, why_not
from wastesim.records import Records

from .small import MODEL, grows, least_cells, policies

#: Prompts are bound by arithmetic, decoding by memory until many contexts are long.
GPU = {"memory": "1 GiB", "bandwidth": "20 kB/s", "flops": "25 kFLOP/s"}
EFFORT = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def experiments(draw: st.DrawFn) -> dict[str, Any]:
    """Small pools and short limits, so that all that can happen does."""
    policy = draw(policies())
    scheduler = draw(st.sampled_from(["vllm"] if grows(policy) else ["orca", "vllm", "static"]))
    seqs, limit = draw(st.integers(1, 9)), draw(st.integers(8, 60))
    server: dict[str, Any] = {
        "policy": policy,
        "scheduler": scheduler,
        "max_model_len": limit,
        "kv_cache_memory_bytes": 4 * draw(st.integers(least_cells(policy), 200)),
        "max_num_seqs": seqs,
        "block_size": draw(st.integers(1, 16)),
        "refuse_impossible": draw(st.sampled_from([True, True, False])),
    }
    if scheduler == "vllm":
        server |= {
            "max_num_batched_tokens": seqs + draw(st.integers(0, 70)),
            "watermark": draw(st.sampled_from([0.0, 0.05])),
            "scheduler_reserve_full_isl": draw(st.booleans()),
            "enable_chunked_prefill": draw(st.sampled_from([True, True, False])),
        }
    elif draw(st.booleans()):
        server["max_num_batched_tokens"] = draw(st.integers(1, 60))
    lengths = {
        name: {"kind": "uniform", "low": 1, "high": draw(st.integers(1, 40))}
        for name in ("prompt", "output")
    }
    workload: dict[str, Any] = {
        "lengths": lengths,
        "num_requests": draw(st.integers(1, 30)),
        "request_rate": draw(st.sampled_from([0.05, 0.2, 2.0, float("inf")])),
        "too_long": draw(st.sampled_from([None, "reject", "truncate"])),
    }
    if draw(st.booleans()):
        workload["max_tokens"] = {"kind": "uniform", "low": 1, "high": 40}
    if draw(st.integers(0, 3)) == 0:
        workload["max_concurrency"] = draw(st.integers(1, 6))
    overhead = draw(st.sampled_from([0, 0.37]))
    clock = draw(
        st.sampled_from(
            [{"kind": "fixed", "step_s": 0.7}, {"kind": "roofline", "overhead_s": overhead}]
        )
    )
    return {
        "seed": draw(st.integers(0, 999)),
        "model": MODEL,
        "gpu": GPU,
        "workload": workload,
        "server": server,
        "decode": {"engine": "none"},
        "clock": clock,
        "output": {"records": draw(st.sampled_from(["full", "none"])), "figures": False},
    }


def many_wait(draw: st.DrawFn) -> dict[str, Any]:
    """More requests than can come in, whatever they come for."""
    tree = draw(experiments())
    for name in ("max_num_batched_tokens", "watermark", "scheduler_reserve_full_isl",
                 "enable_chunked_prefill"):  # fmt: skip
        tree["server"].pop(name, None)
    tree["workload"].pop("max_concurrency", None)
    tree["workload"] |= {"num_requests": draw(st.integers(3, 40))}
    tree["workload"] |= {"request_rate": draw(st.sampled_from([0.2, 2.0, float("inf")]))}
    tree["output"]["records"] = "none"
    return tree


@st.composite
def before_slots(draw: st.DrawFn) -> dict[str, Any]:
    """Equal slots."""
    tree = many_wait(draw)
    policy = draw(st.sampled_from(["contiguous", "divided"]))
    tree["server"] |= {"policy": policy, "scheduler": "orca", "refuse_impossible": True}
    cells = draw(st.integers(least_cells(policy), 200))
    tree["server"] |= {"kv_cache_memory_bytes": 4 * cells}
    return tree


@st.composite
def before_blocks(draw: st.DrawFn) -> dict[str, Any]:
    """Blocks, a budget that cuts prompts, and memory that may be short."""
    tree = many_wait(draw)
    server = tree["server"]
    server |= {
        "policy": draw(st.sampled_from(["paged", "paged", "token"])),
        "scheduler": "vllm",
        "max_num_batched_tokens": server["max_num_seqs"] + draw(st.integers(0, 30)),
        "kv_cache_memory_bytes": 4 * draw(st.integers(30, 400)),
        "watermark": draw(st.sampled_from([0.0, 0.05, 0.4])),
        "scheduler_reserve_full_isl": draw(st.booleans()),
    }
    return tree


class Stop(Observer):
    """Ends a run at a simulated time."""

    def __init__(self, until_s: float) -> None:
        self.until_s = until_s
        self._now_s = 0.0

    def passed(self, now_s: float, running: int, waiting: int, ended: int) -> None:
        self._now_s = now_s

    def should_stop(self) -> bool:
        return self._now_s >= self.until_s


def assert_equal(ticked: Records, leapt: Records) -> None:
    for table in ("requests", "ticks", "spans"):
        columns, others = getattr(ticked, table), getattr(leapt, table)
        for name, column in columns.items():
            np.testing.assert_array_equal(column, others[name], f"{table}.{name}")
            assert column.dtype == others[name].dtype
    assert ticked.facts == leapt.facts


@EFFORT
@given(tree=experiments())
def test_leaps_and_ticks_leave_the_same_rows(tree: dict[str, Any]) -> None:
    experiment = load_experiment(copy.deepcopy(tree))
    assert why_not(experiment, Observer()) is None
    assert_equal(run(experiment, leap=False), run(experiment))


@EFFORT
@given(tree=experiments(), until_s=st.floats(0.1, 300))
def test_a_run_that_is_stopped_is_stopped_at_the_same_tick(
    tree: dict[str, Any], until_s: float
) -> None:
    experiment = load_experiment(copy.deepcopy(tree))
    assert_equal(run(experiment, Stop(until_s), leap=False), run(experiment, Stop(until_s)))


most = st.integers(1, 30)
ticks = st.integers(1, 60)


@EFFORT
@given(tree=before_slots(), most=most, ticks=ticks)
def test_a_crowd_before_slots_comes_in_as_its_members_would(
    tree: dict[str, Any], most: int, ticks: int
) -> None:
    """With two waiting, few coming in at once, and few ticks at a time."""
    experiment = load_experiment(copy.deepcopy(tree))
    with (
        mock.patch.object(by_slot, "FEWEST", 2),
        mock.patch.object(by_slot, "MOST", most),
        mock.patch.object(crowd, "MOST_TICKS", ticks),
    ):
        leapt = run(experiment)
    assert_equal(run(experiment, leap=False), leapt)


@settings(EFFORT, max_examples=250)
@given(tree=before_blocks(), most=most, ticks=ticks)
def test_a_crowd_before_blocks_comes_in_as_its_members_would(
    tree: dict[str, Any], most: int, ticks: int
) -> None:
    """The same of prompts cut in pieces and of memory that does not last."""
    experiment = load_experiment(copy.deepcopy(tree))
    with (
        mock.patch.object(by_block, "FEWEST", 2),
        mock.patch.object(by_block, "MOST", most),
        mock.patch.object(block_crowd, "MOST_TICKS", ticks),
    ):
        leapt = run(experiment)
    assert_equal(run(experiment, leap=False), leapt)
