"""Bugs an allocator could have: each changes tokens or is caught by a count.

This is what the decode is for, so every bug here must be seen by `seen`.
"""

from __future__ import annotations

import pytest

from wastesim.address import Placement, Span
from wastesim.decode.decoder import Decoder
from wastesim.decode.geometry import decode_model
from wastesim.errors import AllocationError
from wastesim.rng import Streams

from .conftest import a_request, blocks

PROMPTS = {0: 40, 1: 30}
STEPS = 30


def run(first: Placement, second: Placement) -> Decoder:
    """Two requests decoding side by side."""
    decoder = Decoder(decode_model("tiny"), 512, Streams(11))
    decoder.place(a_request(0, PROMPTS[0]), first)
    decoder.place(a_request(1, PROMPTS[1]), second)
    decoder.step(list(PROMPTS.items()))
    for _ in range(STEPS - 1):
        decoder.step([(0, 1), (1, 1)])
    return decoder


def tokens_differ(decoder: Decoder) -> bool:
    return not all(decoder.verify(i).passed for i in PROMPTS)


def counts_differ(decoder: Decoder) -> bool:
    return any(decoder.count_written(i) != decoder.stored(i) for i in PROMPTS)


def test_a_right_allocator_is_not_accused():
    decoder = run(Placement.single(0, 100), blocks([10, 7, 20, 9, 14]))
    assert not tokens_differ(decoder)
    assert not counts_differ(decoder)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Placement.single(0, 100), Placement.single(0, 100)),
        (Placement.single(0, 100), Placement.single(50, 100)),
        (Placement.single(100, 100), Placement.single(95, 69)),
        (blocks([3, 4, 5, 6, 7]), blocks([10, 5, 11, 12])),
        (blocks([3, 4, 5, 6, 7]), Placement.single(64, 100)),
        (blocks([3, 3, 5, 6, 7]), blocks([10, 13, 11, 12])),
    ],
    ids=["same slot", "half", "five cells", "one block", "block in slot", "block handed out twice"],
)
def test_overlapping_placements_change_tokens(first, second):
    assert tokens_differ(run(first, second))


def test_an_overlap_of_one_cell_that_is_never_written_is_harmless_to_tokens():
    decoder = run(Placement((Span(0, 69), Span(69, 70))), Placement.single(69, 100))
    assert not tokens_differ(decoder)
    assert counts_differ(decoder)


@pytest.mark.parametrize("off", [1, -1, 8])
def test_a_placement_off_by_a_few_cells_loses_its_tokens(off):
    decoder = run(Placement.single(8, 100), blocks([10, 7, 20, 9, 14]))
    sequence = decoder._sequences[0]
    assert sequence.addresses is not None
    sequence.addresses = type(sequence.addresses)(decoder.arena, Placement.single(8 + off, 100))
    for _ in range(10):
        decoder.step([(0, 1), (1, 1)])
    assert tokens_differ(decoder)


def test_a_slot_freed_too_early_loses_its_tokens():
    decoder = run(Placement.single(0, 100), blocks([10, 7, 20, 9, 14]))
    decoder.arena.release(Placement.single(0, 100))
    for _ in range(3):
        decoder.step([(0, 1), (1, 1)])
    assert tokens_differ(decoder)
    assert counts_differ(decoder)


def test_a_stale_placement_after_a_move_loses_its_tokens():
    decoder = run(Placement.single(0, 70), blocks([10, 7, 20, 9, 14]))
    stale = decoder._sequences[0].addresses
    decoder.move(0, Placement.single(300, 100))
    decoder._sequences[0].addresses = stale
    decoder.step([(0, 1), (1, 1)])
    assert counts_differ(decoder)
    assert tokens_differ(decoder)


def test_a_stale_block_after_growth_is_refused():
    decoder = run(Placement.single(0, 100), blocks([10, 7, 20, 9, 14]))
    with pytest.raises(AllocationError, match="same spans"):
        decoder.extend(1, blocks([10, 7, 21, 9, 14]))


def swap_blocks(placement: Placement) -> Decoder:
    """Request 1, with 59 tokens stored in blocks of 16, goes on under another placement."""
    decoder = run(Placement.single(0, 100), blocks([10, 7, 20, 9, 14]))
    sequence = decoder._sequences[1]
    assert sequence.addresses is not None
    sequence.addresses = type(sequence.addresses)(decoder.arena, placement)
    for _ in range(5):
        decoder.step([(0, 1), (1, 1)])
    return decoder


def test_swapping_a_full_block_with_the_last_one_changes_tokens():
    assert tokens_differ(swap_blocks(blocks([10, 9, 20, 7, 14])))


def test_swapping_two_full_blocks_cannot_show():
    """K is stored with its position turned in, so attention does not ask for their order."""
    decoder = swap_blocks(blocks([10, 20, 7, 9, 14]))
    assert not tokens_differ(decoder)
    assert not counts_differ(decoder)


def test_cells_left_dirty_by_the_last_request_are_counted():
    decoder = Decoder(decode_model("tiny"), 512, Streams(11))
    decoder.arena.view(Span(80, 81))[:] = 1
    decoder.place(a_request(0, 40), Placement.single(0, 100))
    decoder.step([(0, 40)])
    assert decoder.count_written(0) != decoder.stored(0)
