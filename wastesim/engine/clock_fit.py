"""Efficiency factors of the roofline clock from measured steps, by least squares.

A step of B bytes and F FLOP takes ``max(B / (bandwidth * eta_b), F / (peak * eta_f)) + overhead``.
With x = 1 / eta_b, y = 1 / eta_f and every step known to be bound by one of the two, that is
linear in (x, y, overhead): bounded least squares with residuals relative to the measured time,
and each step assigned anew to what takes longer, until nothing changes.  Several first guesses
are tried, and the best fit is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from wastesim.engine.clock_steps import MeasuredStep
from wastesim.engine.cost import CostModel
from wastesim.errors import InputError
from wastesim.units import format_digits

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: First guesses of eta_b / eta_f.
_GUESSES = (1.0, 0.25, 4.0, 0.05, 20.0)
#: Columns whose condition number is above this cannot be told apart.
_TOO_ALIKE = 1e3


@dataclass(frozen=True)
class Estimate:
    """A factor, and the half-width of its 95 % confidence interval (None: at its bound)."""

    value: float
    plus_minus: float | None


@dataclass(frozen=True)
class Fit:
    """What was found; a factor that no step depends on is None."""

    steps: int
    memory_bound: int
    bandwidth_efficiency: Estimate | None
    flops_efficiency: Estimate | None
    overhead_s: Estimate | None
    r_squared: float | None
    median_relative_error: float
    worst_relative_error: float
    worst_line: int
    remarks: Sequence[str]

    def to_tree(self) -> dict[str, Any]:
        """Nested mappings and lists, ready for JSON."""
        return asdict(self)

    def lines(self, source: str) -> list[str]:
        """The YAML to paste, and how good it is."""
        return [
            "clock:",
            "  kind: roofline",
            *self._factors(),
            "",
            f"# {self.steps:,} steps of {source}: {self.memory_bound:,} bound by memory,"
            f" {self.steps - self.memory_bound:,} by arithmetic",
            f"# relative error: median {100 * self.median_relative_error:.2f} %, worst"
            f" {100 * self.worst_relative_error:.2f} % (line {self.worst_line})",
            *([] if self.r_squared is None else [f"# R2 = {self.r_squared:.5f}"]),
            *(f"# {remark}" for remark in self.remarks),
        ]

    def _factors(self) -> Iterator[str]:
        for name in ("bandwidth_efficiency", "flops_efficiency", "overhead_s"):
            found: Estimate | None = getattr(self, name)
            if found is None:
                yield f"  # {name}: not determined by these steps"
            else:
                yield f"  {name}: {found.value:.5g}  # {_interval(found.plus_minus)}"


def fit(
    steps: Sequence[MeasuredStep], costs: CostModel, bytes_per_s: float, flop_per_s: float
) -> Fit:
    """The best factors; InputError with fewer than three steps."""
    if len(steps) < 3:
        raise InputError(f"a fit needs at least 3 steps (got {len(steps)})")
    ideal = np.array([_ideal(step, costs, bytes_per_s, flop_per_s) for step in steps])
    time = np.array([step.step_s for step in steps])
    tries = [_settle(ideal, time, ratio) for ratio in _GUESSES]
    by_memory, solution = min(tries, key=lambda found: _loss(ideal, time, *found))
    return _judge(steps, ideal, time, by_memory, solution)


def _ideal(step: MeasuredStep, costs: CostModel, bytes_per_s: float, flop_per_s: float) -> Floats:
    """Seconds of memory and of arithmetic on the ideal card; prefill is one whole prompt."""
    prefill = [(0, step.prefill_tokens)] if step.prefill_tokens else []
    cost = costs.of([*_decodes(step), *prefill])
    return np.array([cost.moved_bytes / bytes_per_s, cost.flop / flop_per_s])


def _decodes(step: MeasuredStep) -> list[tuple[int, int]]:
    """KV tokens spread over the requests; only their sum matters."""
    if not step.decode_requests:
        return []
    each, more = divmod(step.kv_tokens, step.decode_requests)
    return [(each + (index < more), 1) for index in range(step.decode_requests)]


def _settle(ideal: Floats, time: Floats, ratio: float) -> tuple[Bools, Floats]:
    """(steps bound by memory, the factors) from a first guess on."""
    by_memory = ideal[:, 0] >= ideal[:, 1] * ratio
    solution = _solve(ideal, time, by_memory)
    for _ in range(50):
        again = ideal[:, 0] * solution[0] >= ideal[:, 1] * solution[1]
        if (again == by_memory).all():
            break
        by_memory, solution = again, _solve(ideal, time, again)
    return by_memory, solution


def _design(ideal: Floats, time: Floats, by_memory: Bools) -> Floats:
    """Columns of (x, y, overhead), relative to the measured time."""
    columns = np.column_stack(
        [ideal[:, 0] * by_memory, ideal[:, 1] * ~by_memory, np.ones(len(time))]
    )
    return np.asarray(columns / time[:, None])


def _solve(ideal: Floats, time: Floats, by_memory: Bools) -> Floats:
    """(1 / eta_b, 1 / eta_f, overhead_s): efficiencies at most 1, overhead at least 0."""
    design = _design(ideal, time, by_memory)
    scale = np.where(design.any(axis=0), np.linalg.norm(design, axis=0), 1.0)
    low = np.array([1.0, 1.0, 0.0]) * scale
    bounds = (low, np.full(3, np.inf))
    found = lsq_linear(design / scale, np.ones(len(time)), bounds, method="bvls")
    solution: Floats = np.asarray(found.x / scale)
    solution[~design.any(axis=0)] = 1.0
    return solution


def predicted(ideal: Floats, solution: Floats) -> Floats:
    """Seconds that the roofline gives."""
    longer = np.maximum(ideal[:, 0] * solution[0], ideal[:, 1] * solution[1])
    return np.asarray(longer + solution[2])


def _loss(ideal: Floats, time: Floats, by_memory: Bools, solution: Floats) -> float:
    return float(((predicted(ideal, solution) / time - 1) ** 2).sum())


def _judge(
    steps: Sequence[MeasuredStep], ideal: Floats, time: Floats, by_memory: Bools, solution: Floats
) -> Fit:
    """The factors with their intervals, and how well they fit."""
    design = _design(ideal, time, by_memory)
    used = design.any(axis=0)
    error = predicted(ideal, solution) / time - 1
    widths = _half_widths(design[:, used], error)
    estimates: list[Estimate | None] = [None, None, None]
    for place, width in zip(np.flatnonzero(used), widths, strict=True):
        estimates[place] = _estimate(int(place), float(solution[place]), width)
    seconds = predicted(ideal, solution)
    spread = float(((time - time.mean()) ** 2).sum())
    worst = int(np.argmax(np.abs(error)))
    return Fit(
        steps=len(steps),
        memory_bound=int(by_memory.sum()),
        bandwidth_efficiency=estimates[0],
        flops_efficiency=estimates[1],
        overhead_s=estimates[2],
        r_squared=1 - float(((time - seconds) ** 2).sum()) / spread if spread else None,
        median_relative_error=float(np.median(np.abs(error))),
        worst_relative_error=float(np.abs(error).max()),
        worst_line=steps[worst].line,
        remarks=_remarks(design[:, used], estimates),
    )


def _half_widths(design: Floats, error: Floats) -> Floats:
    """Half-widths of 95 % intervals of a linear fit with these residuals."""
    free = max(1, len(error) - design.shape[1])
    covariance = np.linalg.pinv(design.T @ design) * float(error @ error) / free
    return np.asarray(1.96 * np.sqrt(np.diag(covariance)))


def _estimate(place: int, value: float, width: float) -> Estimate:
    """From (1 / eta, its half-width) to an efficiency; the overhead is itself."""
    low = (1.0, 1.0, 0.0)[place]
    bound = value <= low + 1e-9
    if place == 2:
        return Estimate(value, None if bound else width)
    return Estimate(1 / value, None if bound else width / value**2)


def _remarks(design: Floats, estimates: Sequence[Estimate | None]) -> list[str]:
    """What a reader has to know before pasting."""
    found = []
    scaled = design / np.linalg.norm(design, axis=0)
    if np.linalg.cond(scaled) > _TOO_ALIKE:
        found.append("the factors cannot be told apart: measure steps with other KV tokens too")
    for name, estimate in zip(("bandwidth", "arithmetic"), estimates, strict=False):
        if estimate is not None and estimate.plus_minus is None:
            found.append(f"steps are as fast as the card's ideal {name}, or faster: right --gpu?")
    return found


def _interval(plus_minus: float | None) -> str:
    if plus_minus is None:
        return "at its bound"
    return f"+- {format_digits(plus_minus, 2)} (95 %)"
