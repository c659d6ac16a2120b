"""How a batch is read never changes what is read."""

from __future__ import annotations

import pytest

from wastesim.address import Placement, Span
from wastesim.decode import step
from wastesim.decode.decoder import Decoder
from wastesim.rng import Streams

from .conftest import a_request, blocks

PLACEMENTS = [
    blocks([0, 9, 3, 6, 5]),
    blocks([7, 2, 4, 11, 8]),
    Placement.single(192, 80),
    blocks([40, 35, 36, 50, 51, 52, 53, 54, 60, 61], size=8),
    Placement((Span(600, 603), Span(500, 577))),
    blocks([10, 42, 43, 44, 45]),
]


def replies(tiny, gather_bytes: int, monkeypatch) -> list[tuple[int, ...]]:
    monkeypatch.setattr(step, "_GATHER_BYTES", gather_bytes)
    decoder = Decoder(tiny, 768, Streams(7))
    for i, placement in enumerate(PLACEMENTS):
        decoder.place(a_request(i, 3 + 11 * i), placement)
    decoder.step([(i, 3 + 11 * i) for i in range(len(PLACEMENTS))])
    for _ in range(20):
        decoder.step([(i, 1) for i in range(len(PLACEMENTS))])
    assert all(decoder.verify(i).equal == 21 for i in range(len(PLACEMENTS)))
    return [decoder.generated(i) for i in range(len(PLACEMENTS))]


@pytest.mark.parametrize("gather_bytes", [1, 6000, 2**19])
def test_gathering_alone_or_in_groups_changes_nothing(tiny, gather_bytes, monkeypatch):
    """Slots, blocks of two sizes and mixed spans side by side, gathered with more or less room."""
    assert replies(tiny, gather_bytes, monkeypatch) == replies(tiny, 2**15, monkeypatch)
