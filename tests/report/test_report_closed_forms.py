"""The estimates are what counting every tick by hand gives."""

from __future__ import annotations

import numpy as np
import pytest

from wastesim.report.closed_forms import Estimate, exact, paged, slots, written_cell_ticks
from wastesim.report.lengths import Lengths


def lengths(*pairs: tuple[int, int]) -> Lengths:
    p, o = zip(*pairs, strict=True)
    return Lengths(np.array(p), np.array(o))


#: 10, 11, 12, 13, 14 written cells in its five ticks: 60 in all.
ONE = lengths((10, 5))


def test_written_cells_are_summed_over_ticks() -> None:
    assert written_cell_ticks(ONE) == 60
    assert written_cell_ticks(lengths((10, 5), (3, 1))) == 63


def test_slots_hold_their_size_in_every_tick() -> None:
    assert slots(ONE, 350, 100) == Estimate(3, 60 / 500)


def test_an_exact_reservation_holds_the_final_stored_length() -> None:
    assert exact(ONE, 350) == Estimate(350 * 5 // 70, 60 / 70)  # 14 cells in each of 5 ticks


def test_pages_hold_whole_blocks() -> None:
    blocks = 3 + 3 + 3 + 4 + 4  # of 4 cells, for 10, 11, 12, 13, 14 tokens
    assert paged(ONE, 350, 4) == Estimate(350 * 5 // (4 * blocks), 60 / (4 * blocks))


def test_a_block_of_one_cell_wastes_nothing() -> None:
    assert paged(ONE, 350, 1).written == 1


def test_long_requests_count_once_per_tick_they_run() -> None:
    both = exact(lengths((1, 1), (1, 3)), 100)
    assert both == Estimate(100 * 4 // (1 * 1 + 3 * 3), (1 + 1 + 2 + 3) / 10)


def test_no_request_has_no_share() -> None:
    none = Lengths(np.array([], dtype=int), np.array([], dtype=int))
    assert exact(none, 10) == Estimate(None, None)
    assert slots(none, 10, 5) == Estimate(2, None)


@pytest.mark.parametrize("block", [1, 3, 16, 64])
def test_the_closed_form_of_pages_equals_the_sum(block: int) -> None:
    rng = np.random.default_rng(3)
    some = Lengths(rng.integers(1, 300, 40), rng.integers(1, 300, 40))
    steps = [(p + k) for p, o in zip(*some, strict=True) for k in range(o)]
    held = sum(block * -(-t // block) for t in steps)
    found = paged(some, 10**6, block)
    assert found.written == pytest.approx(sum(steps) / held, rel=1e-15)
    assert found.fit == 10**6 * len(steps) // held
