"""SmolLM2 in NumPy and in its peers, in one run: same perplexity, speeds side by side.

`pytest tests/bench/test_decode_smollm2.py -m bench -s`.  Peers are used where they are installed
(`torch`, `llama_cpp`); the model has to be in the cache (`make models`).
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from wastesim.address import Placement
from wastesim.decode.decoder import Decoder
from wastesim.decode.generating import cached, uncached
from wastesim.decode.geometry import DecodeModel
from wastesim.decode.machine import read_bandwidth
from wastesim.decode.models import decode_model, weights_of
from wastesim.decode.stock import cache_folder
from wastesim.decode.tokenizer import tokenizer_of
from wastesim.decode.whole_pass import CacheRule, likelihoods
from wastesim.errors import InputError
from wastesim.request import Request
from wastesim.rng import Streams
from wastesim.studies.passages import passage_text

from .peers import LlamaCpp, TorchModel, dequantised, float32_file

pytestmark = pytest.mark.bench
ROUNDS = 6
SIZES = [(1, 128), (4, 128), (16, 128), (64, 128), (1, 1024), (16, 1024)]


@pytest.fixture(scope="module")
def model() -> DecodeModel:
    pytest.importorskip("gguf")
    pytest.importorskip("tokenizers")
    try:
        return decode_model("smollm2")
    except InputError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def tokens(model: DecodeModel) -> list[int]:
    return tokenizer_of(model).encode(passage_text("the-tide-table"))


@pytest.fixture(scope="module")
def torch_model(model: DecodeModel) -> TorchModel:
    pytest.importorskip("torch")
    return TorchModel(dequantised(str(model.source)))


@pytest.fixture(scope="module")
def llama(model: DecodeModel) -> LlamaCpp:
    pytest.importorskip("llama_cpp")
    file = float32_file(str(model.source), cache_folder() / "smollm2-float32.gguf")
    return LlamaCpp(Path(file), 2304)


def perplexity(model: DecodeModel, tokens: list[int]) -> float:
    return float(np.exp(likelihoods(weights_of(model), tokens, CacheRule()).nll.mean(dtype=float)))


def test_perplexity_agrees_with_pytorch(model, tokens, torch_model):
    own, other = perplexity(model, tokens), torch_model.perplexity(tokens)
    print(f"\nperplexity of {len(tokens)} tokens: NumPy {own:.4f}, PyTorch {other:.4f}")
    assert own == pytest.approx(other, rel=1e-3)


def test_perplexity_agrees_with_llama_cpp(model, tokens, llama):
    own, other = perplexity(model, tokens), llama.perplexity(tokens)
    print(f"\nperplexity of {len(tokens)} tokens: NumPy {own:.4f}, llama.cpp {other:.4f}")
    assert own == pytest.approx(other, rel=1e-3)


def test_64_tokens_come_at_least_6_times_sooner_with_a_cache(model, tokens):
    weights = weights_of(model)
    best = [
        min(sum(make(weights, tokens[:32], 64).seconds) for _ in range(rounds))
        for make, rounds in ((cached, 3), (uncached, 2))
    ]
    print(f"\n64 tokens after 32: cached {best[0]:.2f} s, naive {best[1]:.2f} s,"
          f" {best[1] / best[0]:.1f} times")  # fmt: skip
    assert best[1] / best[0] >= 6


def stepper(model: DecodeModel, tokens: list[int], batch: int, context: int):
    slot = context + 64
    decoder = Decoder(model, slot * batch, Streams(1))
    decoder.place(Request(0, 0.0, context, 1), Placement.single(0, slot), tokens[:context])
    decoder.step([(0, context)])
    for i in range(1, batch):  # the same contents: one prefill is enough
        decoder.place(Request(i, 0.0, context, 1), Placement.single(i * slot, slot), tokens[:1])
        decoder.arena.write(
            Placement.single(i * slot, slot), decoder.arena.read(Placement.single(0, slot), context)
        )
        sequence, first = decoder._sequences[i], decoder._sequences[0]
        sequence.tokens, sequence.stored = list(first.tokens), context
    work = [(i, 1) for i in range(batch)]
    return lambda: decoder.step(work)


def best_ms(*contenders) -> list[float]:
    """Best of several, taking turns."""
    best = [float("inf")] * len(contenders)
    for _ in range(ROUNDS):
        for i, contender in enumerate(contenders):
            began = time.perf_counter()
            contender()
            best[i] = min(best[i], 1e3 * (time.perf_counter() - began))
    return best


@pytest.mark.parametrize(("batch", "context"), SIZES)
def test_steps_against_pytorch(model, tokens, torch_model, batch, context):
    """Printed; asserted only that NumPy is not left far behind, for others share the machine."""
    ours = stepper(model, tokens, batch, context)
    own, other = best_ms(ours, torch_model.stepper(tokens[:context], batch))
    print(f"\n{batch} requests, context {context}: NumPy {own:.1f} ms, PyTorch {other:.1f} ms,"
          f" {other / own:.2f} times", end="")  # fmt: skip
    assert own < 2 * other


@pytest.mark.parametrize("context", [128, 1024])
def test_steps_against_llama_cpp(model, tokens, llama, context):
    (own,) = best_ms(stepper(model, tokens, 1, context))
    other = 1e3 * llama.step_s(tokens[:context], ROUNDS)
    print(
        f"\n1 request, context {context}: NumPy {own:.1f} ms, llama.cpp F32 {other:.1f} ms", end=""
    )
    assert own < 2 * other


def test_share_of_the_read_bandwidth(model, tokens):
    (own,) = best_ms(stepper(model, tokens, 1, 128))
    moved = 4 * (model.weights - model.vocab * model.width)  # the embedding is looked up, not read
    share = moved / (own / 1e3) / read_bandwidth()
    print(f"\n1 request: {own:.1f} ms, {moved / own / 1e6:.1f} GB/s, {share:.0%} of what"
          " matrix-vector products read")  # fmt: skip
    assert share > 0.4
