"""Crowds are tried where they come to something."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest

from wastesim import load_experiment
from wastesim.engine import run
from wastesim.engine.leap import by_block

WAITING = {
    "model": "llama-3-8b",
    "gpu": "a100-sxm-40gb",
    "workload": {"lengths": "sharegpt", "num_requests": 3000, "request_rate": float("inf")},
    "decode": {"engine": "none"},
    "output": {"records": "none", "figures": False},
}


def tried(**server: Any) -> list[int]:
    """How many came in with each crowd that was tried."""
    found = []
    original = by_block.BlockServer._while_memory_lasts

    def counted(self: Any, *words: Any) -> Any:
        comers = original(self, *words)
        found.append(len(comers.entries))
        return comers

    tree = {**WAITING, "server": {"policy": "paged", "max_model_len": 2048, **server}}
    with mock.patch.object(by_block.BlockServer, "_while_memory_lasts", counted):
        run(load_experiment(tree))
    return found


def test_one_crowd_is_nearly_everybody_where_places_bind() -> None:
    found = tried(max_num_seqs=64)
    assert len(found) == 1
    assert found[0] > 2900


@pytest.mark.parametrize("budget", [2048, 10**6])
def test_where_memory_binds_crowds_are_tried_ever_later(budget: int) -> None:
    """After 0, 256, 768, 1,792 have ended, each within a few ticks."""
    found = tried(
        max_num_seqs=4000, max_num_batched_tokens=max(budget, 4000),
        kv_cache_memory_bytes="4 GiB",
    )  # fmt: skip
    assert 0 < len(found) <= 5
    assert max(found) < by_block.FEWEST
