"""Make workloads from published quantiles, where the rows themselves are not at hand.

Quantiles say nothing of how prompts and outputs go together.  `paired` makes pairs that have
the published marginals exactly and, by two knobs, published correlations; what it cannot know
(the rest of the joint distribution) is a model, and a workload made with it must say so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wastesim.workload.law_tables import Points
from wastesim.workload.pairs import Ints

#: Where a knot is put to make the mean right: only the top 0.01 % lies beyond it.
_TOP = 0.9999


def with_mean(points: Points, mean: float) -> Points:
    """The quantiles with one more knot near the top, so that straight lines have this `mean`.

    A line to the maximum makes the last per mille of a heavy tail too heavy.  ValueError when no
    knot between its neighbours can do it.
    """
    levels, values = points.levels, points.values
    widths = np.diff(levels)
    lines = widths * (values[1:] + values[:-1]) / 2
    wanted = mean - lines[:-1].sum()
    left, right = _TOP - levels[-2], levels[-1] - _TOP
    knot = (2 * wanted - left * values[-2] - right * values[-1]) / (left + right)
    if not values[-2] <= knot <= values[-1]:
        raise ValueError(f"no knot between {values[-2]:g} and {values[-1]:g} gives mean {mean:g}")
    return Points(np.insert(levels, -1, _TOP), np.insert(values, -1, round(float(knot))))


@dataclass(frozen=True)
class Pairing:
    """How `paired` puts lengths together.

    Ranks are tied by a Gaussian copula of normal correlation `tie`.  A pair beyond `max_total`
    then exchanges its prompt with another pair such that both fit: the one with the shortest
    prompt of the first `prefer` that do.  More of them make long outputs go with shorter prompts.
    """

    max_total: int
    tie: float
    prefer: int
    seed: int = 0


def paired(prompt: Points, output: Points, count: int, how: Pairing) -> tuple[Ints, Ints]:
    """`count` pairs in tokens with these quantiles, none of them beyond the total.

    ValueError when a pair finds no partner to exchange with.
    """
    rng = np.random.default_rng(how.seed)
    normal = rng.standard_normal((count, 2))
    normal[:, 1] = how.tie * normal[:, 0] + (1 - how.tie**2) ** 0.5 * normal[:, 1]
    ranks = normal.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    level = (np.arange(count) + 0.5) / count
    prompts = np.rint(prompt.quantile(level)).astype(np.int64)[ranks[:, 0]]
    outputs = np.rint(output.quantile(level)).astype(np.int64)[ranks[:, 1]]
    for place in np.argsort(-outputs, kind="stable"):
        if prompts[place] + outputs[place] > how.max_total:
            _exchange(prompts, outputs, int(place), how, rng)
    return prompts, outputs


def _exchange(
    prompts: Ints, outputs: Ints, place: int, how: Pairing, rng: np.random.Generator
) -> None:
    """Give the pair at `place` a prompt that fits, in exchange for its own."""
    others = rng.permutation(len(prompts))
    fits = (prompts[others] + outputs[place] <= how.max_total) & (
        outputs[others] + prompts[place] <= how.max_total
    )
    candidates = others[fits][: how.prefer]
    if not len(candidates):
        raise ValueError(f"no pair can exchange prompts with {prompts[place]}, {outputs[place]}")
    partner = candidates[np.argmin(prompts[candidates])]
    prompts[[place, partner]] = prompts[[partner, place]]
