"""Equal slots."""

from __future__ import annotations

import pytest

from wastesim.address import Placement
from wastesim.allocation import Ask, Slots
from wastesim.errors import AllocationError


def ask(request_id: int) -> Ask:
    return Ask(request_id, prompt_tokens=3, max_tokens=5)


def place(policy: Slots, request_id: int) -> Placement:
    assert policy.place(ask(request_id), 3) is not None
    return policy.placement(request_id)


def test_slots_are_handed_out_from_the_lowest_address() -> None:
    policy = Slots.contiguous(25, 10)
    assert place(policy, 0) == Placement.single(0, 10)
    assert place(policy, 1) == Placement.single(10, 10)
    assert policy.place(ask(2), 3) is None
    policy.release(0)
    assert place(policy, 3) == Placement.single(0, 10)


def test_the_remainder_is_free_but_of_no_use() -> None:
    policy = Slots.contiguous(25, 10)
    policy.place(ask(0), 3)
    policy.place(ask(1), 3)
    assert policy.free_cells == 5
    assert not policy.fits(ask(2), 3)


def test_the_ceiling_says_what_it_is_made_of() -> None:
    ceiling = Slots.contiguous(156_000, 2048).ceiling()
    assert ceiling.requests == 76
    assert ceiling.reason == "memory: 156,000 cells hold 76 slots of 2,048"


def test_a_pool_below_one_slot_can_never_serve() -> None:
    policy = Slots.contiguous(9, 10)
    assert policy.needs_at_most(ask(0), 5) == (10, 9)
    assert policy.place(ask(0), 3) is None


def test_growth_stays_within_the_slot() -> None:
    policy = Slots.contiguous(25, 10)
    policy.place(ask(7), 3)
    growth = policy.grow(7, tokens=10)
    assert policy.placement(7) == Placement.single(0, 10)
    assert growth.copied_from is None
    with pytest.raises(AllocationError, match="request 7 stores 11 tokens in a slot of 10"):
        policy.grow(7, tokens=11)


def test_misuse_is_told_with_the_request() -> None:
    policy = Slots.contiguous(25, 10)
    policy.place(ask(1), 3)
    with pytest.raises(AllocationError, match="request 1 already holds slot 0"):
        policy.place(ask(1), 3)
    with pytest.raises(AllocationError, match="request 9 holds no slot"):
        policy.release(9)


def test_check_finds_a_slot_that_is_free_and_held() -> None:
    policy = Slots.contiguous(25, 10)
    policy.place(ask(1), 3)
    policy._free.append(0)
    with pytest.raises(AllocationError, match="2 free and 1 held slots do not make up 2"):
        policy.check()


def test_a_divided_context_has_as_many_slots_as_asked_for_and_no_more() -> None:
    """7 cells in 4 parts: four slots of one cell, and three cells of no use."""
    policy = Slots.divided(7, 4)
    assert (policy.slots, policy.slot_cells) == (4, 1)
    assert Slots.divided(103, 4).ceiling().reason == "memory: 103 cells hold 4 slots of 25"


def test_a_context_too_small_to_divide_serves_nobody() -> None:
    policy = Slots.divided(3, 4)
    assert policy.needs_at_most(ask(0), 1) == (1, 0)
    assert not policy.fits(ask(0), 1)
    policy.check()


def test_a_request_longer_than_a_divided_slot_never_fits() -> None:
    assert Slots.divided(100, 4).needs_at_most(ask(0), 26) == (26, 25)


def test_spare_cells_are_counted_in_the_slots_that_stay_free() -> None:
    policy = Slots.contiguous(30, 10)
    assert policy.fits(ask(0), 3, spare_cells=20)
    assert not policy.fits(ask(0), 3, spare_cells=21)


def test_check_finds_a_slot_beyond_the_pool() -> None:
    policy = Slots.contiguous(20, 10)
    policy._free[1] = 2
    with pytest.raises(AllocationError, match="ends beyond the 20 cells"):
        policy.check()
