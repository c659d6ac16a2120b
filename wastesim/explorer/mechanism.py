"""A generation step by step: keys that the NumPy transformer computed, and the work of each step.

Per layer, for a sequence that reaches t tokens::

    with a cache      1 column computed, t looked at
    without           t columns computed, t (t + 1) / 2 looked at

The first step reads the whole prompt: both ways alike.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from wastesim.decode import decode_model, generate_cached, weights_of

PROMPT = ("A", "cache", "keeps", "what", "it")
REPLY = ("has", "seen", "so", "that", "nothing", "is", "computed", "twice")
MAX_SEQ = 20  # columns set aside
MODEL = "tiny"
SHOWN = 8  # numbers of each column


class Step(NamedTuple):
    """Work in one layer: columns of K and V computed, and columns that queries look at."""

    computed: int
    looked_at: int


def step(prompt: int, number: int, *, cached: bool) -> Step:
    """Step `number` (0 reads the prompt) of a generation."""
    tokens = prompt + number
    if cached and number:
        return Step(1, tokens)
    return Step(tokens, tokens * (tokens + 1) // 2)


def total(prompt: int, number: int, *, cached: bool) -> Step:
    """All steps up to `number`."""
    steps = [step(prompt, at, cached=cached) for at in range(number + 1)]
    return Step(sum(one.computed for one in steps), sum(one.looked_at for one in steps))


def columns() -> np.ndarray[Any, Any]:
    """Keys and values of every word but the last, `[2, SHOWN, T]`: first layer, first head."""
    weights = weights_of(decode_model(MODEL))
    vocab = weights.model.vocab
    words = [*PROMPT, *REPLY[:-1]]
    ids = [crc32(word.encode()) % vocab for word in words]
    _, cache = generate_cached(weights, ids, 1, MAX_SEQ)
    keys, values = cache.view(0)
    return np.stack([keys[0, :, :SHOWN].T, values[0, :, :SHOWN].T])


def mechanism_tree() -> dict[str, Any]:
    """What the page draws; numbers as -100..100 of the largest."""
    found = columns()
    scaled = np.round(100 * found / np.abs(found).max(axis=(1, 2), keepdims=True)).astype(int)
    return {
        "prompt": list(PROMPT),
        "reply": list(REPLY),
        "max_seq": MAX_SEQ,
        "model": MODEL,
        "keys": scaled[0].T.tolist(),
        "values": scaled[1].T.tolist(),
    }
