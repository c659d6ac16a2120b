"""Small builders that the decode tests share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from wastesim.address import Placement, Span
from wastesim.decode.decoder import Decoder
from wastesim.decode.geometry import DecodeModel, decode_model
from wastesim.decode.weights import Weights, seeded_weights
from wastesim.request import Request
from wastesim.rng import Streams

MakeDecoder = Callable[..., Decoder]


@pytest.fixture(scope="session")
def tiny() -> DecodeModel:
    return decode_model("tiny")


@pytest.fixture(scope="session")
def weights(tiny: DecodeModel) -> Weights:
    return seeded_weights(tiny)


@pytest.fixture
def decoder(tiny: DecodeModel) -> Decoder:
    return Decoder(tiny, 1024, Streams(7))


def a_request(request_id: int, prompt_tokens: int) -> Request:
    return Request(request_id, 0.0, prompt_tokens, 1)


def blocks(numbers: Sequence[int], size: int = 16) -> Placement:
    """The placement of a paged allocator that handed out these blocks."""
    return Placement(tuple(Span(number * size, (number + 1) * size) for number in numbers))


def run_alone(decoder: Decoder, request_id: int, prompt_tokens: int, count: int) -> None:
    """Prefill in one step, then decode until `count` tokens are generated."""
    decoder.step([(request_id, prompt_tokens)])
    for _ in range(count - 1):
        decoder.step([(request_id, 1)])
