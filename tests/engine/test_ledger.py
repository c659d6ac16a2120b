"""The six shares, in integers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wastesim.engine.ledger import Ledger, Shares, Split, split
from wastesim.errors import AllocationError


def test_a_contiguous_slot_divides_into_written_future_and_unused() -> None:
    assert split(stored=100, final=300, claim=2048, held=2048) == Split(100, 200, 1748, 0)


def test_what_granularity_adds_beyond_the_claim_is_padding() -> None:
    """Buddy: 300 cells claimed, 512 handed out, 250 used in the end."""
    assert split(stored=10, final=250, claim=300, held=512) == Split(10, 240, 50, 212)


def test_the_last_block_of_a_paged_request_is_future_then_padding() -> None:
    """Blocks of 16, claim as far as written: 20 of 32 cells written, 27 in the end."""
    assert split(stored=20, final=27, claim=20, held=32) == Split(20, 7, 0, 5)
    assert split(stored=20, final=99, claim=20, held=32) == Split(20, 12, 0, 0)


cells = st.integers(0, 10**6)


@given(data=st.tuples(cells, cells, cells, cells))
def test_the_parts_of_a_request_make_up_what_it_holds(data: tuple[int, int, int, int]) -> None:
    stored, *rest = sorted(data)
    final, claim, held = rest[0], rest[1], rest[2]
    for a, b in ((final, claim), (claim, final)):
        parts = split(stored, max(a, stored), b, held)
        assert parts.held == held
        assert min(parts) >= 0


def test_free_cells_are_stranded_only_while_memory_keeps_the_head_waiting() -> None:
    ledger = Ledger(100)
    ledger.add(Split(10, 20, 30, 5))
    assert ledger.shares(short_of_memory=False) == Shares(10, 20, 30, 5, 0, 35)
    assert ledger.shares(short_of_memory=True) == Shares(10, 20, 30, 5, 35, 0)


def test_writing_turns_future_into_written() -> None:
    ledger = Ledger(100)
    ledger.add(Split(0, 20, 30, 0))
    ledger.write(8)
    assert (ledger.written, ledger.future, ledger.reserved) == (8, 12, 50)
    ledger.remove(Split(8, 12, 30, 0))
    assert ledger.reserved == 0


def test_a_ledger_that_does_not_add_up_says_so_with_its_numbers() -> None:
    ledger = Ledger(10)
    ledger.add(Split(11, 0, 0, 0))
    with pytest.raises(AllocationError, match=r"written 11 .* of 10 cells"):
        ledger.shares(short_of_memory=False)
