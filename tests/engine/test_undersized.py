"""Pools too small for anything, batches before Orca, and crowds: every run ends and adds up."""

from __future__ import annotations

import time
from typing import Any

import pytest

from wastesim.config.policy import PRESETS
from wastesim.testing import check_ledger

#: A preset as it is, but with pages that fit a toy server's cells.
POLICIES: dict[str, Any] = {
    **{name: name for name in PRESETS},
    "vattention": {"claim": "prompt", "place": "pages", "page_size": "16 B"},
}


def ends(result) -> dict[str, int]:
    """How many requests came to which end; they are as many as came."""
    check_ledger(result.records)
    counts = {name: result.summary["requests"][name]
              for name in ("completed", "rejected", "cancelled", "unfinished")}  # fmt: skip
    assert sum(counts.values()) == result.summary["requests"]["submitted"]
    return counts


@pytest.mark.parametrize("refuse", [True, False], ids=["refusing", "letting in"])
@pytest.mark.parametrize("cells", [1, 2, 7, 15, 16, 17, 40])
@pytest.mark.parametrize("name", POLICIES)
def test_an_undersized_pool_ends_with_every_request_accounted_for(toy, name, cells, refuse) -> None:
    if name == "divided" and cells < 4:
        pytest.skip("a slot without a cell is refused")
    rows = [(0, 1, 1), (0, 9, 4), (0, 30, 20), (2, 3, 3), (2, 40, 1), (3, 1, 60)]
    result = toy(rows, cells=cells, max_model_len=64,
                 server={"policy": POLICIES[name], "refuse_impossible": refuse})  # fmt: skip
    counts = ends(result)
    if refuse:
        assert counts["unfinished"] == 0
        assert not result.records.facts.interrupted
    elif counts["unfinished"]:
        assert "can never be served" in result.records.facts.stopped_because


def test_one_cell_serves_a_request_of_one_token(toy) -> None:
    rows = [(0, 1, 1), (0, 1, 2), (0, 1, 1)]
    result = toy(rows, cells=1, max_model_len=8, server={"policy": "token"})
    assert ends(result) == {"completed": 2, "rejected": 1, "cancelled": 0, "unfinished": 0}
    assert result.records.ticks["written"].tolist() == [1, 1]


def test_a_giant_is_refused_and_the_others_are_served(toy) -> None:
    rows = [(0, 50, 9), (0, 2, 2)]
    result = toy(rows, cells=32, max_model_len=64, server={"policy": "paged"})
    assert result.summary["requests"]["reasons"]["rejected"] == {
        "never fits: needs 64 cells, an empty pool can give 32": 1
    }
    assert ends(result)["completed"] == 1


def test_a_giant_that_is_let_in_blocks_everybody_behind_it(toy) -> None:
    rows = [(0, 2, 2), (0, 50, 9), (0, 2, 2)]
    result = toy(rows, cells=32, max_model_len=64,
                 server={"policy": "paged", "refuse_impossible": False})  # fmt: skip
    assert result.records.requests["status"].tolist() == ["completed", "unfinished", "unfinished"]
    assert result.records.facts.stopped_because.endswith(
        "refused for memory, it needs 64 cells in the end and an empty pool can give 32"
    )


class TestStatic:
    """Request-level batching, as before Orca."""

    def test_a_batch_is_filled_once_and_runs_until_all_are_done(self, toy) -> None:
        """Two slots: the short one keeps its slot until the long one is done."""
        rows = [(0, 2, 1), (0, 2, 3), (0, 2, 2)]
        result = toy(rows, cells=16, max_model_len=8, server={"scheduler": "static"})
        names = ("running", "waiting", "written", "stranded", "idle", "reserved_end")
        ticks = result.records.ticks
        assert list(zip(*(ticks[name].tolist() for name in names), strict=True)) == [
            (2, 1, 4, 0, 0, 16), (1, 1, 5, 0, 0, 16), (1, 1, 6, 0, 0, 0),
            (1, 0, 2, 0, 8, 8), (1, 0, 3, 0, 8, 0),
        ]  # fmt: skip
        assert result.records.requests["finished_s"].tolist() == [1, 3, 5]

    def test_free_cells_are_idle_while_the_batch_is_what_keeps_others_out(self, toy) -> None:
        rows = [(0, 2, 3), (1, 2, 1)]
        result = toy(rows, cells=16, max_model_len=8, server={"scheduler": "static"})
        assert result.records.ticks["idle"].tolist() == [8, 8, 8, 8]
        assert result.records.ticks["stranded"].sum() == 0

    def test_a_batch_stops_filling_at_the_token_budget(self, toy) -> None:
        server = {"scheduler": "static", "max_num_batched_tokens": 5}
        result = toy([(0, 3, 2), (0, 3, 1)], cells=16, max_model_len=8, server=server)
        assert result.records.requests["admitted_s"].tolist() == [0, 2]

    def test_a_policy_that_grows_cannot_be_batched_statically(self, toy) -> None:
        from wastesim.errors import ConfigError

        with pytest.raises(ConfigError, match="needs a rule for preemption: 'scheduler' must be"):
            toy([(0, 1, 1)], cells=9, max_model_len=8,
                server={"scheduler": "static", "policy": "paged"})  # fmt: skip


@pytest.mark.parametrize(
    ("policy", "clients"),
    [
        ("orca_pow2", {}),
        ("paged", {"cancel_share": 0.5, "cancel_after_s": 20}),
        ("first_fit", {"priorities": {0: 1, 1: 1}, "timeout_s": 30}),
    ],
)
def test_a_hundred_thousand_at_once_are_served_or_give_up_in_seconds(toy, policy, clients) -> None:
    rows = [(0, 1 + k % 8, 1 + k % 4) for k in range(100_000)]
    began = time.perf_counter()
    result = toy(rows, cells=4096, max_model_len=12, server={"policy": policy}, clients=clients)
    assert time.perf_counter() - began < 60  # a few seconds where nobody else needs the machine
    counts = ends(result)
    assert counts["completed"] + counts["cancelled"] == 100_000
    assert (counts["cancelled"] == 0) == (not clients)
