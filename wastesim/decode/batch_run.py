"""Requests decoded together in one arena, for studies: given prompts, contiguous slots."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from wastesim.address import Placement
from wastesim.decode.decoder import Decoder
from wastesim.decode.geometry import DecodeModel
from wastesim.request import Request
from wastesim.rng import Streams

ROUNDS = 5  # steps that are timed


def decode_together(
    model: DecodeModel, prompts: Sequence[Sequence[int]], count: int
) -> list[tuple[int, ...]]:
    """`count` greedy tokens after each prompt, all requests in every step."""
    decoder = _placed(model, prompts, count)
    decoder.step([(i, len(prompt)) for i, prompt in enumerate(prompts)])
    for _ in range(count - 1):
        decoder.step([(i, 1) for i in range(len(prompts))])
    return [decoder.generated(i) for i in range(len(prompts))]


def ragged(tokens: Sequence[int], others: int, longest: int) -> list[list[int]]:
    """Prompts of other lengths, cut from a text at other places."""
    lengths = np.linspace(3, longest, others).astype(int).tolist()
    starts = np.linspace(0, max(0, len(tokens) - longest), others).astype(int).tolist()
    return [list(tokens[start : start + n]) for start, n in zip(starts, lengths, strict=True)]


def step_seconds(
    model: DecodeModel, tokens: Sequence[int], batch: int, context: int, rounds: int = ROUNDS
) -> tuple[float, float]:
    """Best time of a prefill of one prompt, and of a step that decodes `batch` requests."""
    prompt = list(tokens[:context])
    decoder = _placed(model, [prompt] * batch, rounds + 1)
    prefill_s = min(_seconds(decoder, [(i, len(prompt))]) for i in range(batch))
    work = [(i, 1) for i in range(batch)]
    return prefill_s, min(_seconds(decoder, work) for _ in range(rounds))


def _placed(model: DecodeModel, prompts: Sequence[Sequence[int]], count: int) -> Decoder:
    slot = max(map(len, prompts)) + count
    decoder = Decoder(model, slot * len(prompts), Streams(0))
    for i, prompt in enumerate(prompts):
        request = Request(i, 0.0, len(prompt), count)
        decoder.place(request, Placement.single(i * slot, slot), prompt)
    return decoder


def _seconds(decoder: Decoder, work: list[tuple[int, int]]) -> float:
    began = time.perf_counter()
    decoder.step(work)
    return time.perf_counter() - began
