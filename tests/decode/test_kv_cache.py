"""The textbook's cache: what it holds, what it wastes, and that it changes no token."""

from __future__ import annotations

import numpy as np
import pytest

from wastesim.decode.kv_cache import KVCache, generate_cached
from wastesim.decode.reference import generate_uncached
from wastesim.errors import AllocationError


def append(cache: KVCache, layers: int, tokens: int) -> None:
    halves = np.ones((2, tokens, 2, 16), np.float32)
    for layer in range(layers):
        cache.append(layer, *halves)


def test_a_request_that_stops_after_40_of_8192_tokens_wastes_99_5_percent(tiny):
    cache = KVCache(tiny, max_seq=8192)
    append(cache, tiny.layers, 40)
    assert cache.length == 40
    assert cache.wasted == 1 - 40 / 8192
    assert f"{100 * cache.wasted:.1f} %" == "99.5 %"
    assert cache.reserved_bytes == 8192 * 512


def test_a_token_counts_once_every_layer_has_it(tiny):
    cache = KVCache(tiny, max_seq=4)
    append(cache, 1, 3)
    assert cache.length == 0
    assert cache.wasted == 1.0


def test_views_hold_what_was_appended_in_order(tiny):
    cache = KVCache(tiny, max_seq=10)
    k, v = np.random.default_rng(0).normal(size=(2, 7, 2, 16)).astype(np.float32)
    for part in (slice(0, 4), slice(4, 5), slice(5, 7)):
        cache.append(1, k[part], v[part])
    keys, values = cache.view(1)
    assert np.array_equal(keys, k.swapaxes(0, 1))
    assert np.array_equal(values, v.swapaxes(0, 1))
    assert np.shares_memory(keys, values.base)


def test_a_full_cache_says_so(tiny):
    cache = KVCache(tiny, max_seq=4)
    append(cache, tiny.layers, 4)
    with pytest.raises(AllocationError, match="token 5 does not fit a cache of 4 tokens"):
        append(cache, tiny.layers, 1)


def test_cached_tokens_equal_uncached_ones(weights):
    prompt = [3, 1, 4, 1, 5, 9, 2, 6]
    cached, cache = generate_cached(weights, prompt, 40, max_seq=64)
    assert cached == generate_uncached(weights, prompt, 40)
    assert cache.length == 8 + 40 - 1
