"""Measured step times: read from a CSV file, and interpolated between.

A step has D decoding requests that read KV tokens stored before it, and P prefill tokens.
Rows without prefill make the *plane*: one line over KV tokens per D.  Between two lines, a step
stands at the same share of the way along each: the range of KV tokens of D is itself
interpolated.  So both usual grids work, (D, KV tokens) and (D, context of each), and a step
time that is linear in D and KV tokens is met exactly.  Prefill adds a piecewise linear term in P.
Every measured step comes out as it was measured.  Beyond the edges the nearest piece goes on in
a straight line, never below the shortest measured step; the caller is told.

Times are whole picoseconds, so that totals do not depend on the order of adding.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wastesim.engine.clock_steps import MeasuredStep

PICO = 10**12


class Reading(NamedTuple):
    """An interpolated time, and which of the table's edges it lies beyond."""

    picoseconds: int
    beyond: tuple[str, ...]


@dataclass(frozen=True)
class Curve:
    """Straight lines through points; the first and last piece go on beyond them."""

    x: Sequence[float]
    y: Sequence[float]

    def at(self, x: float) -> float:
        """The value at `x`, exactly that of a point at a point."""
        if len(self.x) == 1:
            return self.y[0]
        right = min(max(bisect_left(self.x, x), 1), len(self.x) - 1)
        if x == self.x[right]:
            return self.y[right]
        x0, x1, y0, y1 = self.x[right - 1], self.x[right], self.y[right - 1], self.y[right]
        return y0 + (x - x0) * (y1 - y0) / (x1 - x0)

    def covers(self, x: float) -> bool:
        """Whether `x` is between the outermost points."""
        return self.x[0] <= x <= self.x[-1]


@dataclass(frozen=True)
class Plane:
    """Step times over decoding requests and KV tokens: `lines[i]` is that of `requests[i]`."""

    requests: Sequence[int]
    lines: Sequence[Curve]

    def at(self, requests: int, kv_tokens: int) -> tuple[float, tuple[str, ...]]:
        """Picoseconds, and the edges that lie before the point."""
        known, last = self.requests, len(self.requests) - 1
        beyond = () if known[0] <= requests <= known[last] else ("decode_requests",)
        place = bisect_left(known, requests)
        if not last or (not beyond and known[place] == requests):
            line = self.lines[min(place, last)]
            time, inside = line.at(kv_tokens), line.covers(kv_tokens)
        else:
            right = min(max(place, 1), last)
            weight = (requests - known[right - 1]) / (known[right] - known[right - 1])
            time, inside = _between(self.lines[right - 1], self.lines[right], weight, kv_tokens)
        return time, beyond if inside else (*beyond, "kv_tokens")


def _between(low: Curve, high: Curve, weight: float, kv_tokens: int) -> tuple[float, bool]:
    """The value between two lines, and whether the point is within their common range."""
    begins = low.x[0] + weight * (high.x[0] - low.x[0])
    ends = low.x[-1] + weight * (high.x[-1] - low.x[-1])
    share = (kv_tokens - begins) / (ends - begins) if ends > begins else 0.0
    values = [line.at(line.x[0] + share * (line.x[-1] - line.x[0])) for line in (low, high)]
    slack = 1e-9 * max(1.0, abs(ends))
    inside = begins - slack <= kv_tokens <= ends + slack
    return values[0] + weight * (values[1] - values[0]), inside


@dataclass(frozen=True)
class StepTable:
    """All of a file's steps, ready to be asked."""

    plane: Plane
    #: Steps of prefill alone, and what prefill adds to a step that decodes; None: not measured.
    alone: Curve | None
    added: Curve | None
    shortest: float

    @classmethod
    def of(cls, steps: Sequence[MeasuredStep]) -> StepTable:
        """The table of `steps`, at least one of which decodes without prefill."""
        plane = _plane([step for step in steps if not step.prefill_tokens])
        alone = {s.prefill_tokens: [_ps(s)] for s in steps if not s.decode_requests}
        added: dict[int, list[float]] = {}
        for step in steps:
            if step.prefill_tokens and step.decode_requests:
                without = plane.at(step.decode_requests, step.kv_tokens)[0]
                added.setdefault(step.prefill_tokens, []).append(_ps(step) - without)
        shortest = min(map(_ps, steps))
        return cls(plane, _curve(alone), _curve({0: [0.0], **added}) if added else None, shortest)

    def at(self, requests: int, kv_tokens: int, prefill_tokens: int) -> Reading:
        """How long a step takes."""
        if not prefill_tokens:
            time, beyond = self.plane.at(requests, kv_tokens)
        elif requests:
            time, beyond = self.plane.at(requests, kv_tokens)
            more, out = self._adds(prefill_tokens)
            time, beyond = time + more, (*beyond, *out)
        else:
            time, beyond = self._takes(prefill_tokens)
        return Reading(round(max(time, self.shortest)), beyond)

    def _adds(self, tokens: int) -> tuple[float, tuple[str, ...]]:
        """What prefill adds to a step that decodes."""
        if self.added is not None:
            return self.added.at(tokens), _out(self.added, tokens)
        if self.alone is None:
            return 0.0, ("prefill_tokens",)
        base = max(0.0, self.alone.at(0)) if len(self.alone.x) > 1 else self.shortest
        return max(0.0, self.alone.at(tokens) - base), _out(self.alone, tokens)

    def _takes(self, tokens: int) -> tuple[float, tuple[str, ...]]:
        """A step that decodes nothing."""
        if self.alone is not None:
            return self.alone.at(tokens), _out(self.alone, tokens)
        if self.added is None:
            return self.shortest, ("prefill_tokens",)
        return self.shortest + self.added.at(tokens), _out(self.added, tokens)


def _out(curve: Curve, tokens: int) -> tuple[str, ...]:
    return () if curve.covers(tokens) else ("prefill_tokens",)


def _ps(step: MeasuredStep) -> float:
    return step.step_s * PICO


def _plane(steps: Iterable[MeasuredStep]) -> Plane:
    lines: dict[int, dict[int, list[float]]] = {}
    for step in steps:
        lines.setdefault(step.decode_requests, {})[step.kv_tokens] = [_ps(step)]
    curves = [(requests, _curve(points)) for requests, points in sorted(lines.items())]
    return Plane([r for r, _ in curves], [curve for _, curve in curves if curve is not None])


def _curve(points: dict[int, list[float]]) -> Curve | None:
    """The curve through the means at each place; None when there are no points."""
    if not points:
        return None
    x = sorted(points)
    return Curve(x, [sum(points[at]) / len(points[at]) for at in x])
