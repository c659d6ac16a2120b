"""Requests decoded together, in any placement, produce the tokens they would alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wastesim.address import Placement, Span
from wastesim.config.decode import CacheFormat
from wastesim.decode.decoder import Decoder
from wastesim.decode.geometry import decode_model
from wastesim.decode.reference import generate_uncached
from wastesim.decode.weights import seeded_weights
from wastesim.errors import AllocationError
from wastesim.rng import Streams

from .conftest import a_request, blocks, run_alone

TINY = decode_model("tiny")


def alone(request_id: int, prompt_tokens: int, count: int) -> tuple[int, ...]:
    """Tokens of a request that has the arena for itself."""
    decoder = Decoder(TINY, 512, Streams(7))
    decoder.place(a_request(request_id, prompt_tokens), Placement.single(0, 512))
    run_alone(decoder, request_id, prompt_tokens, count)
    return decoder.generated(request_id)


def test_a_request_alone_generates_what_the_uncached_model_does(decoder, weights):
    decoder.place(a_request(0, 23), Placement.single(100, 200))
    run_alone(decoder, 0, 23, 60)
    prompt = decoder.prompt(0)
    assert decoder.generated(0) == tuple(generate_uncached(weights, prompt, 60))
    assert decoder.verify(0).equal == 60
    assert decoder.tokens_decoded == 60
    assert decoder.tokens_computed == 23 + 59


def test_requests_that_join_and_leave_do_not_change_each_other(decoder):
    prompts = {0: 31, 1: 5, 2: 70, 3: 1}
    for i, cells in ((0, 128), (1, 128)):
        decoder.place(a_request(i, prompts[i]), Placement.single(200 * i, cells))
    decoder.step([(0, 31), (1, 5)])
    for _ in range(10):
        decoder.step([(1, 1), (0, 1)])
    decoder.place(a_request(2, 70), blocks([50, 30, 41, 60, 61, 33, 37, 39]))
    decoder.step([(0, 1), (2, 70), (1, 1)])
    decoder.release(0)
    decoder.place(a_request(3, 1), Placement((Span(0, 13), Span(40, 99))))
    for _ in range(20):
        decoder.step([(3, 1), (1, 1), (2, 1)])
    for i, count in ((0, 12), (1, 32), (2, 21), (3, 20)):
        assert decoder.generated(i) == alone(i, prompts[i], count)


@given(
    chunks=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    mixed=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_a_prompt_in_chunks_equals_the_whole_prompt(chunks, mixed):
    decoder = Decoder(TINY, 1024, Streams(7))
    decoder.place(a_request(1, 9), Placement.single(512, 300))
    decoder.step([(1, 9)])
    placement = blocks([*range(0, 30, 2)]) if mixed else Placement.single(0, 240)
    decoder.place(a_request(0, sum(chunks)), placement)
    sampled = [decoder.step([(1, 1), (0, count)]) for count in chunks]
    assert [0 in tokens for tokens in sampled] == [False] * (len(chunks) - 1) + [True]
    for _ in range(5):
        decoder.step([(0, 1), (1, 1)])
    assert decoder.generated(0) == alone(0, sum(chunks), 6)
    assert decoder.generated(1) == alone(1, 9, len(chunks) + 6)


@pytest.mark.parametrize(
    "placement",
    [
        blocks([9, 3, 4, 20, 11, 30]),
        Placement(tuple(Span(1 + 16 * i, 17 + 16 * i) for i in (9, 3, 4, 20, 11, 30))),
        Placement((Span(0, 3), Span(500, 560), Span(20, 60))),
    ],
    ids=["blocks", "unaligned blocks", "mixed spans"],
)
def test_any_placement_gives_the_tokens_of_a_contiguous_one(decoder, placement):
    decoder.place(a_request(4, 40), placement)
    run_alone(decoder, 4, 40, 50)
    assert decoder.generated(4) == alone(4, 40, 50)
    assert decoder.count_written(4) == decoder.stored(4) == 40 + 49


def test_blocks_are_appended_while_decoding(decoder):
    numbers = [9, 30]
    decoder.place(a_request(4, 30), blocks(numbers))
    decoder.step([(4, 30)])
    for step in range(49):
        if 30 + step == 16 * len(numbers):
            numbers.append(20 - 2 * len(numbers))
            decoder.extend(4, blocks(numbers))
        decoder.step([(4, 1)])
    assert decoder.generated(4) == alone(4, 30, 50)


@pytest.mark.parametrize("new", [Placement.single(400, 90), Placement.single(64, 90)])
def test_moving_copies_the_stored_tokens_and_empties_the_old_cells(decoder, new):
    old = Placement.single(64, 60)
    decoder.place(a_request(4, 40), old)
    run_alone(decoder, 4, 40, 10)
    assert decoder.move(4, new) == 49
    assert decoder.count_written(4) == 49
    if not new.spans[0].overlaps(old.spans[0]):
        assert decoder.arena.count_written(old) == 0
    for _ in range(40):
        decoder.step([(4, 1)])
    assert decoder.generated(4) == alone(4, 40, 50)


def test_an_evicted_request_recomputes_what_it_had_generated(decoder):
    decoder.place(a_request(4, 40), Placement.single(0, 100))
    run_alone(decoder, 4, 40, 10)
    assert decoder.evict(4) == 49
    assert decoder.stored(4) == 0
    decoder.place(a_request(4, 40), blocks([40, 20, 30, 31, 33, 35]))
    assert decoder.step([(4, 20)]) == {}
    assert 4 in decoder.step([(4, 30)])
    for _ in range(39):
        decoder.step([(4, 1)])
    assert decoder.generated(4) == alone(4, 40, 50)


def test_release_counts_gives_back_and_keeps_the_tokens(decoder):
    decoder.place(a_request(4, 40), Placement.single(0, 100))
    run_alone(decoder, 4, 40, 10)
    generated = decoder.generated(4)
    assert decoder.release(4) == 49
    assert decoder.arena.count_written(Placement.single(0, 1024)) == 0
    assert decoder.generated(4) == generated
    assert decoder.verify(4).passed
    pages = decoder.pages()
    assert pages is None or pages == (0, 0)


def test_tokens_can_be_forgotten(tiny):
    decoder = Decoder(tiny, 64, Streams(7), keep_tokens=False)
    decoder.place(a_request(4, 4), Placement.single(0, 10))
    decoder.step([(4, 4)])
    decoder.release(4)
    with pytest.raises(KeyError):
        decoder.generated(4)


def test_prompts_depend_on_seed_and_request_alone(tiny):
    def prompts(seed: int, order: list[int]) -> dict[int, tuple[int, ...]]:
        decoder = Decoder(tiny, 64, Streams(seed))
        for place, i in enumerate(order):
            decoder.place(a_request(i, 9), Placement.single(10 * place, 10))
        return {i: decoder.prompt(i) for i in sorted(order)}

    assert prompts(1, [0, 1, 2]) == prompts(1, [2, 0, 1])
    assert prompts(1, [0, 1, 2]) != prompts(2, [0, 1, 2])


def test_pages_equal_the_ledger_through_a_busy_run(tiny):
    decoder = Decoder(tiny, 2000, Streams(3))
    if decoder.pages() is None:
        pytest.skip("this system has no smaps")
    rng = np.random.default_rng(0)
    for i in range(12):
        cells = int(rng.integers(30, 120))
        decoder.place(a_request(i, int(rng.integers(2, 30))), Placement.single(137 * i, cells))
        decoder.step([(i, len(decoder.prompt(i)))])
        decoder.step([(j, 1) for j in range(i - 3, i + 1) if j >= 0])
        if i >= 3:
            assert decoder.release(i - 3) > 0
        pages = decoder.pages()
        assert pages is not None
        assert pages.resident_bytes == pages.ledger_bytes > 0


def test_a_narrower_cache_decodes_too(tiny):
    decoder = Decoder(tiny, 256, Streams(7), CacheFormat(dtype="float16"))
    decoder.place(a_request(4, 40), blocks([3, 1, 5, 7, 8, 9]))
    run_alone(decoder, 4, 40, 20)
    assert decoder.arena.cell_bytes == 256
    assert decoder.count_written(4) == 59
    assert decoder.verify(4).equal >= 10


def test_refusals_say_the_numbers(decoder):
    decoder.place(a_request(4, 40), Placement.single(0, 41))
    with pytest.raises(AllocationError, match="request 4 has 40 tokens to compute \\(got 41\\)"):
        decoder.step([(4, 41)])
    run_alone(decoder, 4, 40, 2)
    with pytest.raises(AllocationError, match="request 4 would write token 42 into 41 cells"):
        decoder.step([(4, 1)])
    with pytest.raises(AllocationError, match="appears twice"):
        decoder.step([(4, 1), (4, 1)])
    with pytest.raises(AllocationError, match="placed already"):
        decoder.place(a_request(4, 40), Placement.single(0, 41))
    with pytest.raises(AllocationError, match="request 9 has no placement"):
        decoder.step([(9, 1)])
    with pytest.raises(AllocationError, match="41 tokens stored and was moved to 40 cells"):
        decoder.move(4, Placement.single(100, 40))
    with pytest.raises(AllocationError, match="not inside the 1024 cells"):
        decoder.place(a_request(5, 4), Placement.single(1020, 5))


def test_an_empty_tick_computes_nothing(decoder):
    assert decoder.step([]) == {}
    assert decoder.wall_s == 0.0


def test_the_weights_are_shared_between_decoders(tiny):
    first, second = (Decoder(tiny, 16, Streams(seed)) for seed in (1, 2))
    assert first._transformer.weights is second._transformer.weights is seeded_weights(tiny)
