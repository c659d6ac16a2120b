"""Every cache dtype in the arena: exact counts, exact pages, and what a whole pass would see."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wastesim.address import Placement
from wastesim.config.decode import CacheFormat
from wastesim.decode.arena import Arena
from wastesim.decode.decoder import Decoder
from wastesim.decode.geometry import decode_model
from wastesim.decode.weights import seeded_weights
from wastesim.decode.whole_pass import CacheRule, likelihoods
from wastesim.rng import Streams

from .conftest import a_request, blocks, run_alone

SMALL = decode_model("small")  # its head dim of 32 fits every format
FORMATS = [
    CacheFormat(dtype="float16"),
    CacheFormat(dtype="bfloat16"),
    CacheFormat(dtype="fp8_e4m3"),
    CacheFormat(dtype="int8"),
    CacheFormat(dtype="q8_0"),
    CacheFormat(dtype="q4_0"),
    CacheFormat(dtype="int4_sym"),
    CacheFormat(dtype="int4_asym", group_size=16, hadamard=True),
    CacheFormat(dtype="int4_asym", recent_tokens=16),
    CacheFormat(dtype="int4_sym", recent_tokens=8, recent_of="keys"),
]
PLACEMENTS = {
    "one span": Placement.single(64, 96),
    "blocks": blocks([3, 1, 17, 20, 18, 22]),
}
by_format = pytest.mark.parametrize("how", FORMATS, ids=lambda how: how.label)


@by_format
@pytest.mark.parametrize("placement", PLACEMENTS.values(), ids=PLACEMENTS)
def test_decoding_sees_what_a_whole_pass_through_the_same_cache_sees(how, placement):
    decoder = Decoder(SMALL, 512, Streams(7), how)
    decoder.place(a_request(4, 40), placement)
    run_alone(decoder, 4, 40, 30)
    tokens = [*decoder.prompt(4), *decoder.generated(4)]
    top = likelihoods(seeded_weights(SMALL), tokens, CacheRule(how)).top
    assert tuple(top[39:]) == decoder.generated(4)


@by_format
def test_cells_and_pages_are_counted_exactly(how):
    decoder = Decoder(SMALL, 512, Streams(7), how)
    for i, placement in enumerate(PLACEMENTS.values()):
        decoder.place(a_request(i, 20 + i), placement)
        decoder.step([(i, 20 + i)])
    for tick in range(20):
        decoder.step([(0, 1), (1, 1)])
        assert decoder.count_written(0) == 21 + tick
        assert decoder.count_written(1) == 22 + tick
        pages = decoder.pages()
        assert pages is None or pages.resident_bytes == pages.ledger_bytes
    assert decoder.release(0) == 40
    assert decoder.evict(1) == 41
    assert decoder.recent_bytes == 0


@by_format
def test_chunks_and_moves_change_no_token(how):
    replies = []
    for chunks in ([40], [1, 7, 30, 2]):
        decoder = Decoder(SMALL, 512, Streams(7), how)
        decoder.place(a_request(4, 40), Placement.single(0, 100))
        for chunk in chunks:
            decoder.step([(4, chunk)])
        decoder.move(4, Placement.single(50, 120) if len(chunks) > 1 else blocks(range(20, 30)))
        for _ in range(20):
            decoder.step([(4, 1)])
        replies.append(decoder.generated(4))
    assert replies[0] == replies[1]


def test_a_window_longer_than_the_text_is_full_precision():
    how = CacheFormat(dtype="int4_sym", recent_tokens=1000)
    rough, plain = (Decoder(SMALL, 256, Streams(7), h) for h in (how, CacheFormat()))
    for decoder in (rough, plain):
        decoder.place(a_request(4, 40), Placement.single(0, 128))
        run_alone(decoder, 4, 40, 40)
    assert rough.generated(4) == plain.generated(4)
    assert rough.recent_bytes == 79 * SMALL.kv_bytes_per_cell(4)


def test_exact_newest_tokens_are_held_beside_the_cells():
    how = CacheFormat(dtype="int8", recent_tokens=16, recent_of="keys")
    decoder = Decoder(SMALL, 256, Streams(7), how)
    decoder.place(a_request(4, 40), Placement.single(0, 128))
    run_alone(decoder, 4, 40, 10)
    assert decoder.count_written(4) == 49
    assert decoder.recent_bytes == 16 * SMALL.kv_bytes_per_cell(4) // 2
    assert decoder.arena.cell_bytes == SMALL.rows_per_cell * (32 + 2)


@given(
    steps=st.lists(st.tuples(st.integers(1, 30), st.booleans()), min_size=1, max_size=12),
    how=st.sampled_from(FORMATS),
)
@settings(max_examples=30, deadline=None)
def test_the_page_ledger_equals_resident_memory_in_packed_arenas(steps, how):
    arena = Arena(SMALL, 1000, how)
    held: list[tuple[Placement, int]] = []
    rng = np.random.default_rng(0)
    for size, drop in steps:
        if drop and held:
            arena.release(held.pop(0)[0])
        else:
            start = max((p.spans[-1].stop for p, _ in held), default=size % 7)
            placement = Placement.single(start, size + 3)
            shape = (SMALL.layers, 2, SMALL.kv_heads, size, SMALL.head_dim)
            arena.write(placement, rng.normal(size=shape).astype(np.float32))
            held.append((placement, size))
        assert arena.resident_bytes() in (None, arena.page_ledger_bytes(held))
        assert all(arena.count_written(placement) == tokens for placement, tokens in held)
