"""Check yourself: questions whose answers are numbers that the simulator computed.

Numbers come from the catalog's functions, from a cache that was filled, from the example that
`data/example.json` keeps (made by `python -m wastesim.explore --measure`), and from the run that
fills the page.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from wastesim.catalog import find_model
from wastesim.decode import KVCache, decode_model
from wastesim.explorer import mechanism
from wastesim.explorer.bill import Asked, Bill, bill
from wastesim.report.comparison_parts import Part
from wastesim.report.text import percent
from wastesim.units import GIB


@dataclass(frozen=True)
class Question:
    """`answer` is the index of the right option; `go` is a state of the page that shows it."""

    text: str
    options: list[str]
    answer: int
    why: str
    go: str = ""


def questions(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """All of them, those about the page's own run first."""
    own = _own_comparison(parts) if len(parts) > 1 else [q for p in parts for q in _own_run(p)]
    known = (_stopped(), _heavier(), _work(), _narrower(), _grouped(), _paged(), _oracle())
    return [asdict(question) for question in (*own, *known)]


@cache
def example() -> dict[str, dict[str, float]]:
    """What the example's policies came to: see `wastesim.explore`."""
    text = (files("wastesim.explorer") / "data" / "example.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, float]] = json.loads(text)
    return found


def stopped_early(tokens: int = 40, max_seq: int = 8192) -> float:
    """Share of a textbook cache that stays empty when its request stops after `tokens`."""
    model = decode_model(mechanism.MODEL)
    filled = KVCache(model, max_seq)
    column = np.ones((tokens, model.kv_heads, model.head_dim), np.float32)
    for layer in range(model.layers):
        filled.append(layer, column, column)
    return filled.wasted


def _stopped() -> Question:
    lost = percent(stopped_early())
    return Question(
        "A server sets aside 8,192 cells for every request. One stops after 40 tokens. How much of"
        " its memory was reserved for nothing?",
        ["about half", "about 90 %", f"{lost}", "none: the rest is lent to others meanwhile"],
        2,
        f"40 of 8,192 cells were written, so {lost} were not. A contiguous reservation cannot be"
        " lent out: nobody knows beforehand that the reply will be short.",
        "panel=pool",
    )


def _llama(**changes: Any) -> Bill:
    return bill(find_model("llama-3-8b"), Asked(**changes))


def _heavier() -> Question:
    found = _llama()
    cache_, weights = found.cache_bytes / GIB, found.weights_bytes / GIB
    return Question(
        "Llama-3-8B serves 32 requests of 4,096 tokens. What takes more memory: its weights or its"
        " KV cache?",
        ["the cache, by a little", "the weights, by far", "the cache, ten times over"],
        0,
        f"{found.bytes_per_token:,} B per token x 4,096 x 32 are {cache_:.2f} GiB of cache against"
        f" {weights:.2f} GiB of weights. Twice the context would double the first number alone.",
        "panel=bill&model=llama-3-8b&context=4096&requests=32&memory=80&dtype=float16&overhead=2",
    )


def _work() -> Question:
    prompt, number = len(mechanism.PROMPT), len(mechanism.REPLY) - 1
    without = mechanism.total(prompt, number, cached=False)
    kept = mechanism.total(prompt, number, cached=True)
    return Question(
        f"A prompt of {prompt} words, a reply of {number + 1}. How many columns of keys and values"
        " does each layer compute without a cache, and with one?",
        [
            f"{kept.computed} and {kept.computed}: the result is the same",
            f"{without.looked_at} and {kept.looked_at}",
            f"{without.computed} and {kept.computed}",
        ],
        2,
        f"Without a cache every step computes all columns anew: {without.computed} in total. With"
        f" one, each column is computed once: {kept.computed}. The columns that queries look at"
        f" are {without.looked_at} against {kept.looked_at}.",
        f"panel=mechanism&step={number}",
    )


def _narrower() -> Question:
    wide, narrow = _llama(), _llama(dtype="fp8")
    return Question(
        f"On 80 GiB there is room for {wide.largest} requests of 4,096 tokens with a 16-bit cache."
        " How many with an 8-bit one?",
        [str(wide.largest), str(narrow.largest), str(4 * wide.largest)],
        1,
        f"{narrow.bytes_per_token:,} B per token instead of {wide.bytes_per_token:,}: the same"
        f" room holds {narrow.capacity_cells:,} tokens, and that is {narrow.largest} requests."
        " The weights stay as they are; whether the replies stay as good is another question.",
        "panel=bill&model=llama-3-8b&context=4096&memory=80&overhead=2&dtype=fp8",
    )


def _grouped() -> Question:
    old, new = bill(find_model("llama-2-7b"), Asked()), _llama()
    times = old.bytes_per_token / new.bytes_per_token
    return Question(
        "Llama-2-7B and Llama-3-8B have 32 layers and heads of 128 numbers each. Why does the"
        " older, smaller one need more cache per token?",
        [
            "its keys are stored in 32 bits",
            "its vocabulary is smaller",
            "it has 32 KV heads, the newer one shares 8 among 32 query heads",
        ],
        2,
        f"{old.bytes_per_token:,} B against {new.bytes_per_token:,} B per token, {times:g} times as"
        f" much: every query head keeps keys and values of its own. So {old.largest} requests of"
        f" 4,096 tokens fit into 80 GiB instead of {new.largest}, in spite of lighter weights.",
        "panel=bill&model=llama-2-7b&context=4096&memory=80&overhead=2&dtype=float16",
    )


def _paged() -> Question:
    one, other = example()["contiguous"], example()["paged"]
    return Question(
        "The same requests come to two servers with the same memory. One reserves max_model_len"
        " for each, the other hands out blocks of 16 as requests grow. What changes?",
        [
            "more requests run at once",
            "nothing, the tokens are the same",
            "fewer requests run at once",
        ],
        0,
        f"Simulated on the same {one['requests']:,.0f} requests, {other['running']:.0f} ran at once"
        f" with blocks and {one['running']:.0f} without; {percent(other['written'])} of the pool"
        f" was written instead of {percent(one['written'])}, and the output rose from"
        f" {one['tokens_per_s']:,.0f} to {other['tokens_per_s']:,.0f} tokens/s.",
    )


def _oracle() -> Question:
    found = example()["orca_oracle"]
    return Question(
        "Suppose an oracle told the server every reply's exact length. Would contiguous"
        " reservations then be full?",
        ["yes, nothing is over-estimated", "no, not even half full"],
        1,
        f"Simulated, {percent(found['written'])} of the pool was written."
        f" {percent(found['future'])} was set aside for tokens still to come, and"
        f" {percent(found['padding'] + found['stranded'] + found['idle'])} was rounding or free"
        " space in pieces. Knowing the length does not help with the time until it is reached.",
    )


def _own_run(part: Part) -> list[Question]:
    finish = part.summary["memory"]["written_over_reserved"]["at_finish"]
    if finish is None:
        return []
    lost = 1 - finish
    options = sorted({round(100 * at) for at in (lost, lost / 2, (1 + lost) / 2, lost / 8)})
    facts = part.records.facts
    return [
        Question(
            "This page is filled with a run. When its requests ended, how much of the cells that"
            " they held had never been written?",
            [f"about {option} %" for option in options],
            options.index(round(100 * lost)),
            f"{percent(lost)}: policy {facts.policy}, max_model_len {facts.max_model_len:,}."
            f" What held back the number of requests at once was {facts.ceiling_reason}.",
            "panel=pool",
        )
    ]


def _own_comparison(parts: Sequence[Part]) -> list[Question]:
    told = [part for part in parts if part.shares["written"] is not None][:5]
    if len(told) < 2:
        return []
    written = [part.shares["written"] or 0.0 for part in told]
    best = max(range(len(told)), key=lambda at: written[at])
    said = ", ".join(
        f"{part.name} {percent(share)}" for part, share in zip(told, written, strict=True)
    )
    return [
        Question(
            "This page is filled with a comparison. Which of these wrote to the largest part of"
            " its memory?",
            [part.name for part in told],
            best,
            f"Means over steps: {said}.",
            "panel=pool",
        )
    ]
