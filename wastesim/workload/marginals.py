"""Prompts and outputs from a distribution each.

A pair with a length outside its bounds is drawn again as a whole where `outside: redraw` says
so, else the length is moved to the bound.  Both are counted under the length that was outside:
`prompt_redrawn`, `output_clipped`; what rounds below one token is `prompt_raised`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wastesim.config.lengths import Distribution, Marginals
from wastesim.errors import InputError
from wastesim.workload.distributions import bounds, quantile
from wastesim.workload.pairs import Floats, Ints, Pairs

if TYPE_CHECKING:
    from numpy.random import Generator

#: Draws of a block before bounds that hold next to nothing are called a mistake.
_MOST_ROUNDS = 1000


@dataclass(frozen=True)
class MarginalSource:
    """Draws from `Marginals`."""

    spec: Marginals
    title: str = "independent distributions"
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def draw(self, rng: Generator, size: int) -> Pairs:
        """`size` pairs; InputError when bounds leave next to nothing to draw."""
        values = np.empty((size, 2))
        events: dict[str, Ints] = {}
        missing = np.arange(size)
        for _ in range(_MOST_ROUNDS):
            values[missing] = self._values(rng, len(missing))
            missing = self._to_redraw(values, missing, events)
            if not len(missing):
                prompt = _settle("prompt", self.spec.prompt, values[:, 0], events)
                output = _settle("output", self.spec.output, values[:, 1], events)
                return Pairs(prompt, output, events)
        raise InputError(
            f"lengths: fewer than one draw in {_MOST_ROUNDS} lies within 'min' and 'max';"
            " widen them, or use 'outside: clip'"
        )

    def _values(self, rng: Generator, size: int) -> Floats:
        u = _open_interval(rng.random((size, 2)))
        spec = self.spec
        columns = (quantile(spec.prompt, u[:, 0]), quantile(spec.output, u[:, 1]))
        return np.rint(np.column_stack(columns))

    def _to_redraw(self, values: Floats, drawn: Ints, events: dict[str, Ints]) -> Ints:
        again: NDArray[np.bool_] = np.zeros(len(drawn), dtype=bool)
        for column, name in enumerate(("prompt", "output")):
            least, most, redraw = bounds(getattr(self.spec, name))
            if redraw and self._is_bounded(name):
                new = values[drawn, column]
                outside = (new < least) | (new > most)
                _count(events, f"{name}_redrawn", len(values), drawn[outside])
                again |= outside
        return drawn[again]

    def _is_bounded(self, name: str) -> bool:
        distribution = getattr(self.spec, name)
        return distribution.min is not None or distribution.max is not None


def _settle(name: str, distribution: Distribution, values: Floats, events: dict[str, Ints]) -> Ints:
    """Whole tokens within bounds; what had to be moved is counted."""
    least, most, _ = bounds(distribution)
    low, high = values < least, values > most
    _count(events, f"{name}_raised" if least == 1 else f"{name}_clipped", len(values), low)
    _count(events, f"{name}_clipped", len(values), high)
    return np.clip(values, least, most).astype(np.int64)


def _count(
    events: dict[str, Ints], reason: str, size: int, where: Ints | NDArray[np.bool_]
) -> None:
    if where.any() if where.dtype == bool else len(where):
        events.setdefault(reason, np.zeros(size, dtype=np.int64))[where] += 1


def _open_interval(u: Floats) -> Floats:
    """Uniform numbers without 0, which some quantile functions send to minus infinity."""
    return np.maximum(u, 2.0**-54)
