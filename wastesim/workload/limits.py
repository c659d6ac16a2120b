"""`max_tokens`: what a client declares, which is not what it gets.

Drawn from a random stream of its own, so that declaring a limit never moves lengths.  A client
whose output is longer than the drawn limit must have declared more: its limit is raised to the
output and counted as `max_tokens_raised_to_output`.  Outputs are never cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from wastesim.config.distributions import Distribution
from wastesim.workload.laws import Law, law_of
from wastesim.workload.marginals import settle, to_redraw
from wastesim.workload.pairs import BLOCK, Floats, Ints, Pairs
from wastesim.workload.redraw import count, drawn_inside

if TYPE_CHECKING:
    from numpy.random import Generator

Blocks = Callable[[], Iterator[Pairs]]


def with_limits(
    blocks: Blocks, spec: Literal["output"] | Distribution | None, lengths: Generator, base: Path
) -> Blocks:
    """The blocks with `max_tokens` as `spec` says; `lengths` lends its seed and is not moved."""
    if spec is None:
        return blocks
    if isinstance(spec, str):
        return lambda: (replace(pairs, max_tokens=pairs.output) for pairs in blocks())
    law = law_of(spec, base)
    return lambda: _drawn(blocks(), spec, law, _child(lengths))


def _child(lengths: Generator) -> Generator:
    """A stream of its own beside that of the lengths."""
    parent = lengths.bit_generator.seed_seq
    assert isinstance(parent, np.random.SeedSequence)
    key = (*parent.spawn_key, 0)
    return np.random.default_rng(np.random.SeedSequence(parent.entropy, spawn_key=key))


def _drawn(
    blocks: Iterator[Pairs], spec: Distribution, law: Law, rng: Generator
) -> Iterator[Pairs]:
    for pairs in blocks:
        events: dict[str, Ints] = {}
        limit = _limits(spec, law, rng, events)[: len(pairs)]
        short = np.flatnonzero(limit < pairs.output)
        count(events, "max_tokens_raised_to_output", BLOCK, short)
        yield replace(
            pairs,
            max_tokens=np.maximum(limit, pairs.output),
            events={**pairs.events, **events},
        )


def _limits(spec: Distribution, law: Law, rng: Generator, events: dict[str, Ints]) -> Ints:
    """A block of limits within their bounds."""

    def draw(size: int) -> Floats:
        return np.rint(law.quantile(np.maximum(rng.random(size), 2.0**-54)))

    def outside(values: Floats, places: Ints) -> np.typing.NDArray[np.bool_]:
        again = to_redraw(spec, values)
        count(events, "max_tokens_redrawn", BLOCK, places[again])
        return again

    return settle("max_tokens", spec, drawn_inside(BLOCK, draw, outside), events)
