"""The kit for other people's policies, on our own."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from wastesim.config.policy import PRESETS
from wastesim.testing import check_ledger, policy_machine, prove_by_decode

#: What runs in a pool small enough that requests preempt, copy and wait.
SMALL: dict[str, Any] = {
    **{name: name for name in PRESETS},
    "vattention": {"claim": "prompt", "place": "pages", "page_size": "16 B"},
    "realloc": {"claim": "doubling", "place": "first_fit", "start_tokens": 8},
    "predicted": {"claim": "predicted", "place": "first_fit", "accuracy": 0.2},
    "next_fit": {"claim": "oracle", "place": "next_fit"},
    "worst_fit": {"claim": "pow2", "place": "worst_fit"},
    "predicted blocks": {"claim": "predicted", "place": "blocks", "accuracy": 0.2, "block_size": 5},
    "doubling buddy": {"claim": "doubling", "place": "buddy", "start_tokens": 8},
    "blocks max_tokens": {"claim": "max_tokens", "place": "blocks", "block_size": 7},
}
GROW = {"paged", "token", "vattention", "realloc", "predicted", "predicted blocks",
        "doubling buddy"}  # fmt: skip
COPY = {"realloc", "predicted", "doubling buddy"}


@pytest.mark.parametrize("name", SMALL)
def test_every_policy_decodes_what_each_request_decodes_alone(name: str) -> None:
    result = prove_by_decode(SMALL[name])
    assert result.summary["decode"]["verified"]["tokens"] > 100
    assert (result.records.ticks["preempted"].sum() > 0) == (name in GROW)
    assert (result.records.facts.copied_tokens > 0) == (name in COPY)


@pytest.mark.parametrize("options", [
    {"policy": "paged", "async_scheduling": True},
    {"policy": "paged", "max_num_batched_tokens": 20, "long_prefill_token_threshold": 7},
    {"policy": "contiguous", "scheduler": "static"},
    {"policy": "orca_oracle", "scheduler": "vllm"},
    {"policy": "paged", "watermark": 0.1, "block_size": 3},
], ids=str)  # fmt: skip
def test_every_scheduler_decodes_what_each_request_decodes_alone(options: dict[str, Any]) -> None:
    prove_by_decode(**options)


def test_nothing_completed_proves_nothing() -> None:
    with pytest.raises(AssertionError, match="nothing was completed, so nothing is proven"):
        prove_by_decode("contiguous", cells=5)


class TestLedger:
    @pytest.fixture
    def records(self, toy):
        return toy([(0, 3, 4), (1, 2, 2), (9, 5, 1)], cells=20, max_model_len=10).records

    def test_a_right_one_passes(self, records) -> None:
        check_ledger(records)

    def test_a_lost_cell_is_told_with_its_tick(self, records) -> None:
        records.ticks["idle"][1] -= 1
        with pytest.raises(AssertionError, match=r"tick 1: the shares do not make up 20 cells: \{"):
            check_ledger(records)

    def test_a_negative_share_is_told(self, records) -> None:
        records.ticks["idle"][2] += 100
        records.ticks["unused"][2] -= 100
        with pytest.raises(AssertionError, match="tick 2: the shares are negative"):
            check_ledger(records)

    def test_written_cells_that_no_request_wrote_are_told(self, records) -> None:
        for name, cells in (("written", 1), ("stored_tokens", 1), ("future", -1)):
            records.ticks[name][0] += cells
        with pytest.raises(AssertionError, match="tick 0: the shares differ from requests"):
            check_ledger(records)

    def test_shares_that_are_not_integers_are_told(self, records) -> None:
        records.ticks["idle"] = records.ticks["idle"].astype(np.float64)
        with pytest.raises(AssertionError, match="shares are float64, not integers"):
            check_ledger(records)

    def test_tokens_that_no_tick_computed_are_told(self, records) -> None:
        records.requests["scheduled_tokens"][0] += 1
        with pytest.raises(AssertionError, match="requests were given"):
            check_ledger(records)


def test_without_hypothesis_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(ImportError, match="policy_machine needs hypothesis: pip install"):
        policy_machine(lambda: None)  # type: ignore[arg-type,return-value]
