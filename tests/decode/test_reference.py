"""The judge: equal to generating naively, strict, and in float64."""

from __future__ import annotations

import numpy as np
import pytest

from wastesim.decode import reference
from wastesim.decode.attention import causal_attention
from wastesim.decode.geometry import decode_model
from wastesim.decode.kv_cache import generate_cached
from wastesim.decode.model import Transformer
from wastesim.decode.reference import (
    NEAR_TIE,
    NOTHING_VERIFIED,
    Verification,
    check_tokens,
    generate_uncached,
    uncached_logits,
)
from wastesim.decode.weights import seeded_weights

PROMPT = [7, 7, 200, 31, 4]


def test_teacher_forcing_accepts_what_the_naive_loop_generates(weights):
    naive = generate_uncached(weights, PROMPT, 30)
    assert check_tokens(weights, PROMPT, naive) == Verification(30, 30, 0, 0)


def test_one_wrong_token_is_one_mismatch_or_more(weights):
    wrong = generate_uncached(weights, PROMPT, 30)
    wrong[11] = (wrong[11] + 1) % 256
    found = check_tokens(weights, PROMPT, wrong)
    assert found.mismatches >= 1
    assert not found.passed
    assert found.equal + found.near_ties + found.mismatches == 30


def test_the_pass_is_in_float64_and_causal(weights):
    tokens = PROMPT * 4
    logits = uncached_logits(weights, tokens)
    assert logits.dtype == np.float64
    assert np.allclose(uncached_logits(weights, tokens[:9]), logits[:9], rtol=0, atol=1e-12)


def test_only_a_choice_within_the_tolerance_is_a_near_tie(weights, monkeypatch):
    gaps = np.array([0.5 * NEAR_TIE, 2 * NEAR_TIE])
    fixed = np.array([[1.0, 1.0 - gaps[0]], [1.0, 1.0 - gaps[1]]])
    monkeypatch.setattr(reference, "uncached_logits", lambda weights, tokens, first: fixed)
    assert check_tokens(weights, [0], [1, 1]) == Verification(2, 0, 1, 1)
    assert check_tokens(weights, [0], [0, 0]) == Verification(2, 2, 0, 0)


@pytest.mark.parametrize("name", ["tiny", "small"])
def test_float32_logits_stay_ten_times_closer_than_a_near_tie(name):
    weights = seeded_weights(decode_model(name))
    tokens = np.random.default_rng(2).integers(weights.model.vocab, size=300)
    everything = np.arange(300)

    def attend(layer, q, kv):
        return causal_attention(q, *np.split(kv.swapaxes(0, 1), 2))

    logits = Transformer(weights).forward(tokens, everything, everything, attend)
    error = np.abs(logits - uncached_logits(weights, tokens.tolist())).max()
    print(f"{name}: largest error of a float32 logit {error:.1e}")
    assert error < NEAR_TIE / 10, error


def test_nothing_generated_is_nothing_verified(weights):
    assert check_tokens(weights, PROMPT, []) == NOTHING_VERIFIED
    total = NOTHING_VERIFIED + Verification(3, 2, 1, 0) + Verification(4, 3, 0, 1)
    assert total == Verification(7, 5, 1, 1)
    assert str(total) == ("5 of 7 tokens equal the uncached reference, 1 near ties, 1 mismatches")


def test_generated_tokens_depend_on_the_prompt(weights):
    one, _ = generate_cached(weights, PROMPT, 20, 64)
    other, _ = generate_cached(weights, [*PROMPT[:-1], 5], 20, 64)
    assert one != other
