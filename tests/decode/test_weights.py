"""The seeded model must be lively, or an allocator's bug would not show in its tokens."""

from __future__ import annotations

import numpy as np
import pytest

from wastesim.address import Placement
from wastesim.decode.decoder import Decoder
from wastesim.decode.geometry import decode_model
from wastesim.decode.kv_cache import generate_cached
from wastesim.decode.reference import uncached_logits
from wastesim.decode.weights import WEIGHTS_SEED, seeded_weights
from wastesim.rng import Streams

from .conftest import a_request


@pytest.mark.parametrize("name", ["tiny", "small"])
def test_replies_are_varied_and_the_choices_clear(name):
    weights = seeded_weights(decode_model(name))
    prompt = np.random.default_rng(1).integers(weights.model.vocab, size=60).tolist()
    reply, _ = generate_cached(weights, prompt, 128, max_seq=256)
    assert len(set(reply)) >= 60
    top = np.sort(uncached_logits(weights, prompt + reply)[60:], axis=1)[:, -2:]
    gaps = top[:, 1] - top[:, 0]
    assert np.median(gaps) > 0.1
    assert gaps.min() > 1e-4


def test_one_zeroed_cell_of_a_hundred_changes_most_replies(tiny):
    def replies(spoil: bool) -> list[tuple[int, ...]]:
        decoder = Decoder(tiny, 32 * 256, Streams(5))
        for i in range(32):
            decoder.place(a_request(i, 100), Placement.single(i * 256, 256))
        decoder.step([(i, 100) for i in range(32)])
        for i in range(32 if spoil else 0):
            decoder.arena.view(Placement.single(i * 256, 256).spans[0])[..., 3 * i, :] = 0
        for _ in range(31):
            decoder.step([(i, 1) for i in range(32)])
        return [decoder.generated(i) for i in range(32)]

    changed = sum(a != b for a, b in zip(replies(False), replies(True), strict=True))
    assert changed >= 24


def test_weights_are_the_same_in_every_run_and_c_ordered(tiny):
    first = seeded_weights(tiny)
    seeded_weights.cache_clear()
    second = seeded_weights(tiny)
    assert WEIGHTS_SEED == 20_240_501
    assert first is not second
    assert np.array_equal(first.head, second.head)
    for layer in second.layers:
        assert all(array.flags.c_contiguous for array in vars(layer).values())
    assert second.layers[0].qkv.shape == (tiny.width, (4 + 2 + 2) * 16)
