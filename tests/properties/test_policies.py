"""Every preset and many mappings under random place, grow and release, against a bitmap."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from wastesim.allocation import Pool, build_policy
from wastesim.config.policy import PRESETS, Policy
from wastesim.testing import policy_machine

MAX_MODEL_LEN = 24


def mapping(claim: str, place: str, **options: Any) -> Policy:
    return Policy(claim=claim, place=place, **options)  # type: ignore[arg-type]


MAPPINGS = {
    **{f"{place} doubling": mapping("doubling", place, start_tokens=3)
       for place in ("first_fit", "best_fit", "next_fit", "worst_fit", "buddy", "blocks")},
    **{f"{place} predicted": mapping("predicted", place)
       for place in ("next_fit", "worst_fit", "buddy", "blocks")},
    "next_fit oracle": mapping("oracle", "next_fit"),
    "worst_fit pow2": mapping("pow2", "worst_fit"),
    "buddy max_tokens": mapping("max_tokens", "buddy", granule_tokens=4),
    "buddy small chunks": mapping("oracle", "buddy", granule_tokens=2, largest_tokens=16),
    "blocks max_tokens": mapping("max_tokens", "blocks", block_size=5),
    "blocks oracle": mapping("oracle", "blocks", block_size=7),
    "blocks max_model_len": mapping("max_model_len", "blocks", block_size=16),
    "blocks of 200": mapping("prompt", "blocks", block_size=200),
    "pages": mapping("prompt", "pages", page_size="64 B"),
    "pages max_tokens": mapping("max_tokens", "pages", page_size="96 B"),
    "pages doubling": mapping("doubling", "pages", page_size="32 B", start_tokens=2),
    "divided in 3": mapping("max_model_len", "divided", n_parallel=3),
}  # fmt: skip
EVERYTHING = {**PRESETS, **MAPPINGS}


def try_out(config: Policy, capacity: int, effort: settings) -> None:
    pool = Pool(capacity, MAX_MODEL_LEN, block_cells=4, tensor_bytes_per_cell=16)
    machine = policy_machine(lambda: build_policy(config, pool), max_model_len=MAX_MODEL_LEN)
    run_state_machine_as_test(machine, settings=effort)


@pytest.mark.parametrize("name", EVERYTHING)
def test_nothing_is_handed_out_twice_and_nothing_is_lost(name: str) -> None:
    """In a pool of a prime number of cells: what does not divide stays out."""
    try_out(EVERYTHING[name], 103, settings(max_examples=20, stateful_step_count=30, deadline=None))


@pytest.mark.parametrize("capacity", [1, 7, 24, 128])
@pytest.mark.parametrize("name", EVERYTHING)
def test_the_same_in_tiny_and_in_even_pools(name: str, capacity: int) -> None:
    if EVERYTHING[name].place == "divided" and capacity < EVERYTHING[name].n_parallel:
        pytest.skip("a slot without a cell is refused")
    brief = settings(max_examples=4, stateful_step_count=12, deadline=None)
    try_out(EVERYTHING[name], capacity, brief)
