"""What went wrong in other simulators (S cases), and does not here."""

from __future__ import annotations

import pytest

from wastesim.allocation.build import Pool, build_policy
from wastesim.allocation.protocol import Ask
from wastesim.catalog import find_model, kv_bytes_per_token
from wastesim.catalog.budget import available_bytes
from wastesim.catalog.engines import ENGINES
from wastesim.catalog.fit import fit
from wastesim.catalog.groups import Group
from wastesim.catalog.pool import BlockPool
from wastesim.catalog.weights import weights_bytes
from wastesim.config.policy import PRESETS
from wastesim.units import GIB

from .case_models import load


def test_s01_a_request_of_57_blocks_never_fits_50() -> None:
    paged = build_policy(PRESETS["paged"], Pool(50 * 16, 4096, 16, 1))
    needed, most = paged.needs_at_most(Ask(0, 256, 700), 56 * 16 + 1)
    assert most == 800
    assert needed == 57 * 16 > most


def test_s01_it_is_refused_and_the_run_ends(toy) -> None:
    result = toy([(0, 200, 700), (0, 10, 5)], cells=800, max_model_len=4096,
                 server={"policy": "paged"})  # fmt: skip
    assert result.summary["requests"]["rejected"] == 1
    assert result.summary["requests"]["completed"] == 1


def test_s02_how_many_run_at_once_in_a_small_pool() -> None:
    pool = BlockPool(500 // 4, (Group("full", 1, 16, 1),), 24 * 16, 8192, null_blocks=0)
    assert pool.blocks_per_request == 24
    assert pool.full_length_requests == 5


def test_s06_time_ends_with_the_last_completion(toy) -> None:
    """Clients would give up after 300 s: nobody is there any more, and no rate is divided by it."""
    rows = [(0, 4, 3), (0, 4, 3)]  # one slot: 6 tokens in 6 seconds
    found = toy(rows, cells=64, max_model_len=64, clients={"timeout_s": 300})
    ticks = found.records.ticks
    assert float((ticks["t_s"] + ticks["dt_s"]).max()) == 6.0
    assert found.summary["time"]["horizon_s"] == 6.0
    assert found.summary["throughput"]["output_tokens_per_s"] == 1.0
    assert found.summary["concurrency"]["mean"] == 1.0
    never = toy(rows, cells=64, max_model_len=64)
    same = ("time", "throughput", "latency", "concurrency", "memory", "requests")
    assert [found.summary[name] for name in same] == [never.summary[name] for name in same]


def test_s06_nothing_is_left_of_who_gave_up(toy) -> None:
    """At 10 s, of its 30 tokens 7 made: no stale step follows, no time beyond."""
    found = toy([(0, 4, 3), (0, 4, 30)], cells=64, max_model_len=64, clients={"timeout_s": 10})
    assert found.summary["requests"]["cancelled"] == 1
    assert found.summary["time"] == {
        "horizon_s": 10.0, "ticks": 10, "measured_from_s": None, "measured_until_s": None,
    }  # fmt: skip
    assert found.summary["throughput"]["output_tokens_per_s"] == 1.0


def test_s08_no_model_is_a_constant() -> None:
    each = [kv_bytes_per_token(find_model(name)) for name in ("llama-3-8b", "qwen2.5-7b")]
    assert each[0] / each[1] == pytest.approx(2.2857, abs=1e-4)


def test_s10_a_planner_that_floors_to_whole_requests() -> None:
    llama = find_model("llama-3-8b").model_copy(update={"params": 8_030_000_000})
    left = available_bytes(80 * GIB, 0.9, weights_bytes(llama))
    assert left / GIB == pytest.approx(57.043, abs=1e-3)
    whole = fit(ENGINES["static"], load(llama, 4096), left)
    assert (whole.full_length_requests, whole.tokens) == (114, 466_944)
    paged = fit(ENGINES["vllm"], load(llama, 4096), left)
    assert paged.units * 16 == 467_280


@pytest.mark.parametrize("name", PRESETS)
def test_s16_what_is_too_large_is_too_large_for_every_policy(name: str) -> None:
    policy = build_policy(PRESETS[name], Pool(16, 2**24, 16, 2**17))
    needed, most = policy.needs_at_most(Ask(0, 10_000_000, 1), 10_000_000)
    assert needed > most
