"""Windows: what falls out is freed, and a stream in W cells equals the masked whole pass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wastesim.decode.reference import uncached_logits
from wastesim.decode.streaming import StreamingCache, WindowLedger, stream
from wastesim.decode.whole_pass import CacheRule, likelihoods
from wastesim.errors import AllocationError

TOKENS = np.random.default_rng(5).integers(256, size=150).tolist()


def nll(logits: np.ndarray, tokens: list[int]) -> np.ndarray:
    logits = logits[:-1].astype(np.float64)
    logits -= logits.max(axis=1, keepdims=True)
    return np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(logits)), tokens[1:]]


@given(window=st.integers(1, 40), sinks=st.integers(0, 8), tokens=st.integers(0, 150))
def test_the_ledger_frees_what_falls_out(window, sinks, tokens):
    if sinks >= window:
        with pytest.raises(AllocationError, match="no room"):
            WindowLedger(window, sinks)
        return
    ledger = WindowLedger(window, sinks)
    for _ in range(tokens):
        ledger.admit()
        ledger.check()
    assert ledger.written == min(tokens, window)
    assert ledger.freed == max(0, tokens - window)
    newest = range(max(sinks, tokens - (window - sinks)), tokens)
    assert [t for t, _ in ledger.held()] == [*range(min(sinks, tokens)), *newest]
    assert len({cell for _, cell in ledger.held()}) == ledger.written


@pytest.mark.parametrize("sinks", [0, 4])
@pytest.mark.parametrize("renumbered", [False, True])
def test_a_stream_in_w_cells_equals_the_masked_pass(weights, sinks, renumbered):
    streamed = stream(weights, TOKENS, 40, sinks, renumbered=renumbered)
    rule = CacheRule(window=40, sinks=sinks, renumbered=renumbered)
    found = likelihoods(weights, TOKENS, rule)
    assert np.allclose(found.nll, nll(streamed, TOKENS), atol=2e-5)
    assert np.array_equal(found.top, streamed[:-1].argmax(axis=1))


def test_a_window_as_long_as_the_text_changes_nothing(weights):
    whole = nll(uncached_logits(weights, TOKENS), TOKENS)
    for rule in (CacheRule(), CacheRule(window=150), CacheRule(window=150, sinks=4)):
        assert np.allclose(likelihoods(weights, TOKENS, rule).nll, whole, atol=2e-5)


def test_nothing_changes_before_the_window_is_full(weights):
    full = likelihoods(weights, TOKENS, CacheRule()).nll
    cut = likelihoods(weights, TOKENS, CacheRule(window=40)).nll
    assert np.allclose(cut[:40], full[:40], atol=2e-5)
    assert np.abs(cut[40:] - full[40:]).max() > 0.01


def test_without_sinks_renumbering_changes_nothing_because_rope_is_relative(weights):
    original, renumbered = (
        likelihoods(weights, TOKENS, CacheRule(window=40, renumbered=r)).nll for r in (False, True)
    )
    assert np.allclose(original, renumbered, atol=2e-5)


def test_memory_does_not_grow_with_the_text(weights):
    cache = StreamingCache(weights, 32, 4)
    before = cache.nbytes
    for token in TOKENS:
        cache.feed(token)
    assert cache.nbytes == before == 32 * weights.model.kv_bytes_per_cell(4)
    assert (cache.ledger.written, cache.ledger.freed) == (32, 118)
