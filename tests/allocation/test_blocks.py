"""Paged blocks: tables, reuse, gates, windows."""

from __future__ import annotations

import pytest

from wastesim.address import Placement, Span
from wastesim.allocation import Ask
from wastesim.allocation.blocks import Blocks
from wastesim.allocation.claims import Declared, Doubling, Hinted, KnownOnly
from wastesim.allocation.protocol import Holding, Part
from wastesim.catalog.groups import Group, blocks_per_request
from wastesim.errors import AllocationError

L = 64


def ask(request_id: int, prompt: int = 10, known: int = 0, limit: int = 20) -> Ask:
    return Ask(request_id, prompt, limit, None, known or prompt)


def paged(capacity: int = 40, block: int = 4, **options) -> Blocks:
    return Blocks("paged", KnownOnly(L), capacity, block, L, **options)


def table(policy: Blocks, request_id: int) -> list[int]:
    return [span.start // policy.block_cells for span in policy.placement(request_id).spans]


def test_a_request_gets_blocks_for_what_is_stored_now() -> None:
    policy = paged()
    assert policy.place(ask(0), 10) == Holding.of(12, 10)
    assert policy.placement(0) == Placement((Span(0, 4), Span(4, 8), Span(8, 12)))
    assert policy.place(ask(1), 3) == Holding.of(4, 3)  # the first chunk of a longer prompt
    assert policy.free_cells == 24


def test_a_block_is_added_when_the_last_one_is_full_and_not_before() -> None:
    policy = paged()
    policy.place(ask(0), 7)
    assert policy.grow(0, 8).holding == Holding.of(8, 8)
    assert policy.grow(0, 9).holding == Holding.of(12, 9)
    assert policy.grow(0, 9).copied_from is None


def test_growth_is_refused_when_no_block_is_free_and_nothing_changes() -> None:
    policy = paged(capacity=8)
    policy.place(ask(0), 4)
    policy.place(ask(1), 4)
    assert policy.grow(0, 5) is None
    assert (policy.free_cells, policy.placement(0).cells) == (0, 4)
    policy.release(1)
    assert policy.grow(0, 5).holding.room_tokens == 8


def test_freed_blocks_go_to_the_end_of_the_queue_the_last_ones_first() -> None:
    policy = paged(capacity=16)
    policy.place(ask(0), 8)
    policy.release(0)
    policy.place(ask(1), 16)
    assert table(policy, 1) == [2, 3, 1, 0]


def test_the_remainder_of_the_pool_is_free_and_of_no_use() -> None:
    policy = paged(capacity=11)
    policy.place(ask(0), 8)
    assert policy.free_cells == 3
    assert not policy.fits(ask(1), 1)


def test_the_watermark_is_rounded_up_to_blocks() -> None:
    policy = paged(capacity=16)
    assert policy.fits(ask(0), 12, spare_cells=4)
    assert not policy.fits(ask(0), 12, spare_cells=5)


def test_the_whole_prompt_gate_looks_at_all_known_tokens() -> None:
    policy = paged(capacity=16)
    assert policy.fits(ask(0, prompt=20), 4)
    assert not policy.fits_whole(ask(0, prompt=20))
    assert policy.fits_whole(ask(0, prompt=10, known=16))


def test_what_it_takes_to_finish_is_told_in_cells_of_whole_blocks() -> None:
    assert paged(capacity=42).needs_at_most(ask(0), 41) == (44, 40)


def test_a_declared_output_is_claimed_at_once_in_blocks() -> None:
    policy = Blocks("blocks", Declared(L), 100, 8, L)
    assert policy.place(ask(0, prompt=10, limit=20), 10) == Holding.of(32, 30)
    assert policy.needs_at_most(ask(0, prompt=10, limit=20), 12) == (32, 96)


def test_a_hint_that_misses_is_doubled_in_blocks_behind_the_others() -> None:
    policy = Blocks("blocks", Hinted(L, may_miss=True), 100, 4, L)
    policy.place(ask(0, prompt=10)._replace(hint_tokens=3), 10)
    assert policy.placement(0).cells == 16
    growth = policy.grow(0, 17)
    assert growth.holding == Holding.of(24, 22)  # 10 + 3 * 4
    assert table(policy, 0) == [0, 1, 2, 3, 4, 5]


def test_a_doubling_claim_that_never_fits_is_known_beforehand() -> None:
    """33 tokens need a buffer of 64: a pool of 40 cells will never have it."""
    policy = Blocks("blocks", Doubling(64, 16), 40, 4, 64)
    assert policy.needs_at_most(ask(0), 33) == (64, 40)


def test_misuse_is_told_with_the_request() -> None:
    policy = paged()
    policy.place(ask(3), 4)
    with pytest.raises(AllocationError, match="request 3 already holds blocks"):
        policy.place(ask(3), 4)
    for verb in (policy.release, policy.placement):
        with pytest.raises(AllocationError, match="request 9 holds no blocks"):
            verb(9)


@pytest.mark.parametrize("corrupt", ["free", "twice", "lost"])
def test_check_finds_blocks_held_twice_free_and_held_or_lost(corrupt: str) -> None:
    policy = paged()
    policy.place(ask(0), 8)
    blocks = policy._held[0].tables[0].blocks
    if corrupt == "free":
        policy._free.append(blocks[0])
    elif corrupt == "twice":
        blocks.append(blocks[0])
    else:
        blocks.pop()
    with pytest.raises(AllocationError, match=r"held and \d+ free blocks do not make up 10"):
        policy.check()


def test_the_ceiling_says_how_many_full_requests_are_sure() -> None:
    ceiling = paged(capacity=4 * 40).ceiling()
    assert ceiling.requests == 40
    assert ceiling.reason == "memory: 40 blocks of 4 cells; 2 requests of 64 tokens are sure"


class TestWindows:
    """Two groups in one pool: full attention, and a window of 8 in blocks of 4."""

    def policy(self, capacity: int = 80) -> Blocks:
        return paged(capacity, windows=(None, 8), max_in_flight_tokens=16)

    def test_every_group_has_a_table_of_its_own(self) -> None:
        policy = self.policy()
        holding = policy.place(ask(0), 10)
        assert holding.parts == (Part(12, 10), Part(12, 10))
        assert (holding.room_tokens, policy.free_cells) == (12, 56)
        assert policy.placement(0).cells == 12

    @pytest.mark.parametrize(("done", "gone"), [(0, 0), (8, 0), (10, 0), (11, 4), (14, 4), (15, 8)])
    def test_leading_blocks_go_back_when_no_window_sees_them(self, done: int, gone: int) -> None:
        """After `done` tokens the next sees the last 8 with itself: max(0, done - 7) are out."""
        policy = self.policy()
        policy.place(ask(0, prompt=16), 16)
        free = policy.free_cells
        assert policy.slide(0, done).parts == (Part(16, 16), Part(16 - gone, 16, gone))
        assert policy.free_cells == free + gone
        policy.check()

    def test_positions_stay_after_sliding(self) -> None:
        policy = self.policy()
        policy.place(ask(0, prompt=16), 16)
        policy.slide(0, 16)
        assert policy.grow(0, 17).holding.parts == (Part(20, 17), Part(12, 17, 8))

    def test_a_window_is_never_slid_twice(self) -> None:
        policy = self.policy()
        policy.place(ask(0, prompt=16), 16)
        assert policy.slide(0, 16) == policy.slide(0, 16)

    def test_the_gate_asks_for_no_more_than_the_window_and_what_is_in_flight(self) -> None:
        """ceil(40 / 4) = 10 full, and min(10, ceil((8 - 1 + 16) / 4) + 1) = 7."""
        long = ask(0, prompt=40)
        assert self.policy(4 * 17).fits_whole(long)
        assert not self.policy(4 * 16).fits_whole(long)

    @pytest.mark.parametrize(("window", "in_flight"), [(8, 0), (8, 16), (5, 3), (40, 64)])
    def test_a_long_request_needs_what_the_calculator_says(
        self, window: int, in_flight: int
    ) -> None:
        """One formula: a window group's worst case is that of `catalog.groups`."""
        policy = paged(400, windows=(window,), max_in_flight_tokens=in_flight)
        group = Group("window", 1, 4, 4, window)
        worst = blocks_per_request(group, L, in_flight)
        needed, _ = policy.needs_at_most(ask(0, prompt=L - 1), L)
        assert needed == 4 * min(worst, L // 4)

    def test_a_single_window_slides_its_placement(self) -> None:
        policy = paged(windows=(8,), max_in_flight_tokens=16)
        policy.place(ask(0, prompt=16), 16)
        policy.slide(0, 16)
        assert table(policy, 0) == [2, 3]
        policy.slide(0, 100)
        assert policy.placement(0) == Placement(())
        policy.release(0)
        assert policy.free_cells == 40
