"""The real model.  Skipped where it was not fetched (`make models`)."""

from __future__ import annotations

import numpy as np
import pytest

from wastesim.config.decode import CacheFormat
from wastesim.decode.batch_run import decode_together, ragged
from wastesim.decode.generating import cached, unturned
from wastesim.decode.geometry import DecodeModel
from wastesim.decode.models import decode_model, weights_of
from wastesim.decode.reference import NEAR_TIE, check_tokens, judge, uncached_logits
from wastesim.decode.tokenizer import tokenizer_of
from wastesim.decode.weights import Weights
from wastesim.decode.whole_pass import CacheRule, Likelihoods, likelihoods
from wastesim.errors import InputError
from wastesim.studies.passages import passage_text


@pytest.fixture(scope="module")
def model() -> DecodeModel:
    for package in ("gguf", "tokenizers"):
        pytest.importorskip(package, reason=f"the real model needs {package}")
    try:
        return decode_model("smollm2")
    except InputError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def weights(model: DecodeModel) -> Weights:
    return weights_of(model)


@pytest.fixture(scope="module")
def tokens(model: DecodeModel) -> list[int]:
    return tokenizer_of(model).encode(passage_text("the-tide-table"))


def test_its_shape(model):
    assert (model.layers, model.width, model.q_heads, model.kv_heads) == (30, 576, 9, 3)
    assert (model.head_dim, model.vocab, model.rope_base) == (64, 49_152, 100_000)
    assert model.kv_bytes_per_cell(4) == 46_080


def test_its_tokenizer_parts_digits_and_returns_the_text(model):
    tokenizer = tokenizer_of(model)
    text = "In 1987 the café's 12.5 °C were “cold”.\n\n  def f(x): return x"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    year = [tokenizer.decode([token]) for token in tokenizer.encode("1987")]
    assert year == ["1", "9", "8", "7"]
    assert tokenizer.encode("The capital of France is")[:3] == [504, 3575, 282]


def test_it_knows_the_capital_of_france(model, weights):
    tokenizer = tokenizer_of(model)
    prompt = tokenizer.encode("The capital of France is")
    assert tokenizer.decode(cached(weights, prompt, 1).tokens) == " Paris"


def test_float32_stays_far_from_near_ties_of_the_reference(weights, tokens):
    logits = uncached_logits(weights, tokens[:120])
    nll = likelihoods(weights, tokens[:120], CacheRule()).nll
    best = logits[:-1] - logits[:-1].max(axis=1, keepdims=True)
    exact = np.log(np.exp(best).sum(axis=1)) - best[np.arange(119), tokens[1:120]]
    error = np.abs(nll - exact).max()
    print(f"largest error of a float32 log-likelihood: {error:.1e}")
    assert error < 5 * NEAR_TIE


def test_200_tokens_after_200_are_those_of_the_uncached_reference(model, weights, tokens):
    prompt = tokens[:200]
    reply = cached(weights, prompt, 200).tokens
    found, gap = judge(weights, prompt, reply)
    print(f"{found}; smallest gap {gap:.1e}")
    assert (found.equal, found.near_ties) == (200, 0)
    assert unturned(weights, prompt, 200).tokens == reply
    others = ragged(tokens, 3, 150)
    together = decode_together(model, [others[0], prompt, *others[1:]], 200)
    assert list(together[1]) == reply
    for one, other in zip(others, (together[0], *together[2:]), strict=True):
        assert check_tokens(weights, one, other).equal == 200


@pytest.fixture(scope="module")
def full(weights: Weights, tokens: list[int]) -> Likelihoods:
    return likelihoods(weights, tokens, CacheRule())


def change(weights: Weights, tokens: list[int], full: Likelihoods, rule: CacheRule) -> float:
    """Percent of perplexity, on the same tokens."""
    nll = likelihoods(weights, tokens, rule).nll
    return float(100 * np.expm1(np.mean(nll - full.nll, dtype=np.float64)))


@pytest.mark.parametrize(
    ("rule", "low", "high"),
    [
        (CacheRule(CacheFormat(dtype="float16")), -0.05, 0.05),
        (CacheRule(CacheFormat(dtype="int8")), -0.5, 0.5),
        (CacheRule(CacheFormat(dtype="int4_sym")), 2, 100),
        (CacheRule(CacheFormat(dtype="int4_asym")), 2, 100),
        (CacheRule(CacheFormat(dtype="int4_asym", recent_tokens=128)), -1, 1),
        (CacheRule(window=256), 40, 1000),
        # StreamingLLM's own positions.  With the text's it is +10.16 % on this passage.
        (CacheRule(window=256, sinks=4, renumbered=True), 0, 10),
    ],
    ids=["float16", "int8", "int4", "int4 asymmetric", "newest 128 exact", "window", "sinks"],
)
def test_what_each_cache_costs(weights, tokens, full, rule, low, high):
    assert low <= change(weights, tokens, full, rule) <= high
