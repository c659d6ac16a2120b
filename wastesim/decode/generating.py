"""The same greedy generation three ways, each counting its work and timing its steps.

`uncached` computes everything anew for every token; `cached` keeps K and V; `unturned` keeps K as
projected and turns all of it at every step.  None of them shares memory code with another.

Letters are those of `arrays`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from wastesim.decode.arrays import Floats
from wastesim.decode.attention import causal_attention
from wastesim.decode.kv_cache import KVCache
from wastesim.decode.model import Attend, Transformer, greedy, rotated
from wastesim.decode.weights import Weights
from wastesim.decode.work import Work


class Generation(NamedTuple):
    """Tokens, and what each of them cost."""

    tokens: list[int]
    steps: list[Work]
    seconds: list[float]

    @property
    def work(self) -> Work:
        """All steps together."""
        return sum(self.steps, Work())


#: Called after every step; may raise to give up.
Told = Callable[[], None]


def uncached(
    weights: Weights, prompt: Sequence[int], count: int, told: Told | None = None
) -> Generation:
    """`count` tokens, every step a whole pass over everything so far."""
    transformer, tokens = Transformer(weights), list(prompt)
    kv_heads = transformer.model.kv_heads

    def attend(layer: int, q: Floats, kv: Floats) -> Floats:
        halves = kv.swapaxes(0, 1)  # [2 * G, T, D]
        return causal_attention(q, halves[:kv_heads], halves[kv_heads:])

    def step() -> tuple[int, Work]:
        chosen = _forward(transformer, tokens, 0, attend)
        tokens.append(chosen)
        return chosen, _work(transformer, len(tokens) - 1, 0, len(tokens) - 1)

    return _timed(step, count, told)


def cached(
    weights: Weights, prompt: Sequence[int], count: int, told: Told | None = None
) -> Generation:
    """`count` tokens, each computed once."""
    return _with_cache(Transformer(weights), prompt, count, told)


def unturned(
    weights: Weights, prompt: Sequence[int], count: int, told: Told | None = None
) -> Generation:
    """`count` tokens, K stored before RoPE and turned at every read."""
    return _with_cache(Transformer(weights, turn_keys=False), prompt, count, told, turned=False)


def _with_cache(
    transformer: Transformer,
    prompt: Sequence[int],
    count: int,
    told: Told | None,
    *,
    turned: bool = True,
) -> Generation:
    model = transformer.model
    cache = KVCache(model, len(prompt) + count)
    waiting = list(prompt)

    def attend(layer: int, q: Floats, kv: Floats) -> Floats:
        cache.append(layer, kv[:, : model.kv_heads], kv[:, model.kv_heads :])
        keys, values = cache.view(layer)
        if not turned:
            places = transformer.turns(np.arange(keys.shape[1]))[:, 0]  # [T, D / 2]
            keys = rotated(keys, places)
        return causal_attention(q, keys, values)

    def step() -> tuple[int, Work]:
        first, new = cache.length, len(waiting)
        chosen = _forward(transformer, waiting, first, attend)
        waiting[:] = [chosen]
        return chosen, _work(transformer, new, first, new if turned else first + new)

    return _timed(step, count, told)


def _forward(transformer: Transformer, tokens: Sequence[int], first: int, attend: Attend) -> int:
    positions = first + np.arange(len(tokens))
    last = np.array([len(tokens) - 1])
    return int(greedy(transformer.forward(np.asarray(tokens), positions, last, attend))[0])


def _work(transformer: Transformer, new: int, before: int, keys_turned: int) -> Work:
    """A step that projects `new` tokens behind `before` others."""
    model = transformer.model
    seen = new * before + new * (new + 1) // 2
    return Work(
        projected_tokens=new,
        columns_computed=model.layers * new,
        columns_read=model.layers * seen,
        columns_held=model.layers * (before + new),
        vectors_turned=model.layers * (model.q_heads * new + model.kv_heads * keys_turned),
        sampled=1,
        steps=1,
    )


def _timed(step: Callable[[], tuple[int, Work]], count: int, told: Told | None) -> Generation:
    made = Generation([], [], [])
    for _ in range(count):
        began = time.perf_counter()
        token, work = step()
        made.seconds.append(time.perf_counter() - began)
        made.tokens.append(token)
        made.steps.append(work)
        if told is not None:
            told()
    return made
