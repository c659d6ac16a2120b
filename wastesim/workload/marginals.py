"""Prompts and outputs from a distribution each, independent or tied by their ranks.

Ranks are tied by a Gaussian copula: two normal numbers with correlation ``2 sin(pi s / 6)`` have
Spearman correlation s, and so have lengths that rise with them (ties among whole tokens take a
little away).

A pair with a length outside its bounds is drawn again as a whole where `outside: redraw` says
so, else the length is moved to the bound.  Both are counted under the length that was outside:
`prompt_redrawn`, `output_clipped`; what rounds below one token is `prompt_raised`, a pair above
`max_total` is `total_redrawn`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from wastesim.config.distributions import Distribution
from wastesim.config.lengths import Marginals
from wastesim.workload.laws import Law, bounds, law_of
from wastesim.workload.pairs import Floats, Ints, Pairs
from wastesim.workload.redraw import count, drawn_inside

if TYPE_CHECKING:
    from numpy.random import Generator

_SMALLEST = 2.0**-54
_LARGEST = 1 - 2.0**-53


@dataclass(frozen=True, eq=False)
class MarginalSource:
    """Draws from `Marginals`."""

    spec: Marginals
    laws: tuple[Law, Law]
    title: str = "lengths from distributions"
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def open(cls, spec: Marginals, base: Path, title: str | None) -> MarginalSource:
        """The source for a spec whose files are relative to `base`."""
        laws = law_of(spec.prompt, base), law_of(spec.output, base)
        return cls(spec, laws, title or cls.title)

    def draw(self, rng: Generator, size: int) -> Pairs:
        """`size` pairs; InputError when bounds leave next to nothing to draw."""
        events: dict[str, Ints] = {}
        values = drawn_inside(
            size,
            lambda number: self._values(rng, number),
            lambda rows, places: self._outside(rows, places, size, events),
        )
        prompt = settle("prompt", self.spec.prompt, values[:, 0], events)
        output = settle("output", self.spec.output, values[:, 1], events)
        return Pairs(prompt, output, events)

    def _values(self, rng: Generator, size: int) -> Floats:
        u = np.clip(self._ranks(rng, size), _SMALLEST, _LARGEST)
        columns = [law.quantile(u[:, column]) for column, law in enumerate(self.laws)]
        return np.rint(np.column_stack(columns))

    def _ranks(self, rng: Generator, size: int) -> Floats:
        """Pairs of uniform numbers, tied as `spearman` says."""
        if self.spec.spearman is None:
            return rng.random((size, 2))
        r = 2 * math.sin(math.pi * self.spec.spearman / 6)
        normal = rng.standard_normal((size, 2))
        normal[:, 1] = r * normal[:, 0] + math.sqrt(max(0.0, 1 - r * r)) * normal[:, 1]
        return np.asarray(ndtr(normal))

    def _outside(
        self, rows: Floats, places: Ints, size: int, events: dict[str, Ints]
    ) -> NDArray[np.bool_]:
        """Which pairs have to be drawn again; each reason is counted."""
        again: NDArray[np.bool_] = np.zeros(len(rows), dtype=bool)
        total = np.zeros(len(rows))
        for column, (name, spec) in enumerate(self._sides()):
            outside = to_redraw(spec, rows[:, column])
            count(events, f"{name}_redrawn", size, places[outside])
            again |= outside
            least, most, _ = bounds(spec)
            total += np.clip(rows[:, column], least, most)
        if self.spec.max_total is not None:
            beyond = ~again & (total > self.spec.max_total)
            count(events, "total_redrawn", size, places[beyond])
            again |= beyond
        return again

    def _sides(self) -> tuple[tuple[str, Distribution], ...]:
        return ("prompt", self.spec.prompt), ("output", self.spec.output)


def settle(name: str, spec: Distribution, values: Floats, events: dict[str, Ints]) -> Ints:
    """Whole tokens within bounds; what had to be moved is counted in `events`."""
    least, most, _ = bounds(spec)
    raised = f"{name}_raised" if least == 1 else f"{name}_clipped"
    count(events, raised, len(values), np.flatnonzero(values < least))
    count(events, f"{name}_clipped", len(values), np.flatnonzero(values > most))
    return np.clip(values, least, most).astype(np.int64)


def to_redraw(spec: Distribution, values: Floats) -> NDArray[np.bool_]:
    """Which values lie outside bounds whose outside is drawn again."""
    least, most, redraw = bounds(spec)
    return ((values < least) | (values > most)) & redraw
