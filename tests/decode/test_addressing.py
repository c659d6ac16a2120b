"""Tokens find their rows in slots, blocks and spans of mixed sizes."""

from __future__ import annotations

import numpy as np
import pytest

from wastesim.address import Placement, Span
from wastesim.decode.addressing import Addresses
from wastesim.decode.arena import Arena
from wastesim.errors import AllocationError

from .conftest import blocks

PLACEMENTS = {
    "one slot": Placement.single(5, 48),
    "aligned blocks": blocks([7, 2, 5]),
    "unaligned blocks": Placement((Span(3, 19), Span(40, 56), Span(21, 37))),
    "mixed sizes": Placement((Span(100, 103), Span(8, 40), Span(60, 73))),
}


@pytest.fixture
def arena(tiny):
    return Arena(tiny, 200)


@pytest.mark.parametrize("name", PLACEMENTS)
def test_rows_and_reads_agree_with_the_arena(arena, name):
    placement = PLACEMENTS[name]
    arena.rows[:] = np.arange(arena.rows.size).reshape(arena.rows.shape)
    addresses = Addresses(arena, placement)
    everything = arena.read(placement, placement.cells)  # [L, 2, G, T, D]
    for token in range(placement.cells):
        row, apart = addresses.row(token)
        first = [arena.rows[row + head * apart] for head in range(arena.model.rows_per_cell)]
        assert np.array_equal(np.concatenate(first), everything[..., token, :].ravel())
    for layer, half in np.ndindex(2, 2):
        for tokens in (1, 16, 17, placement.cells):
            expected = everything[layer, half, :, :tokens]
            assert np.array_equal(addresses.read(layer, half, tokens), expected)


def test_a_slot_is_read_without_a_copy(arena):
    assert np.shares_memory(Addresses(arena, PLACEMENTS["one slot"]).read(0, 0, 9), arena.rows)


@pytest.mark.parametrize(
    "longer",
    [
        blocks([7, 2, 5, 9]),
        Placement((*blocks([7, 2, 5]).spans, Span(0, 3))),
        Placement((*blocks([7, 2, 5]).spans, Span(1, 17))),
    ],
)
def test_extending_equals_starting_with_the_longer_placement(arena, longer):
    arena.rows[:] = np.arange(arena.rows.size).reshape(arena.rows.shape)
    extended, fresh = Addresses(arena, blocks([7, 2, 5])), Addresses(arena, longer)
    extended.extend(longer)
    assert extended.cells == fresh.cells == longer.cells
    last = longer.cells - 1
    assert extended.row(last) == fresh.row(last)
    assert np.array_equal(extended.read(1, 1, last), fresh.read(1, 1, last))


def test_extending_must_keep_the_earlier_spans(arena):
    addresses = Addresses(arena, blocks([7, 2]))
    with pytest.raises(AllocationError, match="does not start with the same spans"):
        addresses.extend(blocks([2, 7, 5]))
    with pytest.raises(AllocationError, match="not inside the 200 cells"):
        addresses.extend(blocks([7, 2, 99]))


def test_a_token_beyond_mixed_spans_is_refused(arena):
    with pytest.raises(AllocationError, match="beyond a placement of 48"):
        Addresses(arena, PLACEMENTS["mixed sizes"]).row(48)
