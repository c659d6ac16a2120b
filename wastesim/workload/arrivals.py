"""Arrival times: a renewal process with gamma gaps, at a rate that may change.

Gaps are gamma with shape `burstiness` and mean 1 / rate, so their coefficient of variation is
``burstiness ** -0.5``; with shape 1 they are exponential and arrivals Poisson.  The first
request comes after the first gap.  Nothing is rescaled unless `rescale` asks for it, so the
realised rate varies from seed to seed as it should.

A rate that changes is a change of clock: unit-rate arrivals at ``s`` come at the time ``t``
where the integral of the rate reaches ``s``.  With Poisson gaps that is exactly the
inhomogeneous Poisson process; no gap is cut or thinned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wastesim.config.arrivals import Arrivals, Constant, Diurnal, OnOff, Ramp
from wastesim.workload.pairs import BLOCK, Floats

if TYPE_CHECKING:
    from numpy.random import Generator


def arrival_times(spec: Arrivals, rng: Generator) -> Iterator[Floats]:
    """Blocks of arrival times in seconds, never falling, without end."""
    shape = spec.arrivals
    if isinstance(shape, Constant):
        return _evenly(shape.rate)
    if shape is None and math.isinf(spec.rate):
        return _all_at_once()
    unit = running_sums(unit_gaps(spec.burstiness, rng))
    if isinstance(shape, OnOff):
        return _never_falling(on_off_times(shape, unit, rng))
    if isinstance(shape, Ramp):
        return _never_falling(ramp_times(shape, block) for block in unit)
    if isinstance(shape, Diurnal):
        return _never_falling(diurnal_times(shape, block) for block in unit)
    return (block / spec.rate for block in unit)


def unit_gaps(shape: float, rng: Generator) -> Iterator[Floats]:
    """Blocks of gamma gaps of mean 1."""
    while True:
        yield rng.gamma(shape, 1 / shape, BLOCK)


def running_sums(gaps: Iterator[Floats]) -> Iterator[Floats]:
    """Blocks of sums that run on from block to block."""
    last = 0.0
    for block in gaps:
        sums = last + np.cumsum(block)
        last = float(sums[-1])
        yield sums


def _never_falling(blocks: Iterator[Floats]) -> Iterator[Floats]:
    """The same times without the last bit by which rounding lets one fall behind another."""
    last = 0.0
    for block in blocks:
        times = np.maximum.accumulate(np.maximum(block, last))
        last = float(times[-1])
        yield times


def _all_at_once() -> Iterator[Floats]:
    while True:
        yield np.zeros(BLOCK)


def _evenly(rate: float) -> Iterator[Floats]:
    """What gaps without variation give: the i-th request (from 1) at i / rate."""
    first = 1
    while True:
        yield np.arange(first, first + BLOCK) / rate
        first += BLOCK


def ramp_times(shape: Ramp, unit: Floats) -> Floats:
    """When the integral of a ramp's rate reaches `unit`."""
    a, b, over = shape.from_rate, shape.to_rate, shape.over_s
    slope, whole = (b - a) / over, (a + b) / 2 * over
    inside = np.minimum(unit, whole)
    root = np.sqrt(np.maximum(a * a + 2 * slope * inside, 0.0))
    rising = 2 * inside / np.maximum(a + root, 1e-300)
    return np.where(unit <= whole, rising, over + (unit - whole) / b)


def diurnal_times(shape: Diurnal, unit: Floats) -> Floats:
    """When the integral of a wave's rate reaches `unit`, by bisection to the last bit or so."""
    turn = 2 * math.pi / shape.period_s
    at_zero = math.sin(-turn * shape.peak_s)

    def reached(t: Floats) -> Floats:
        wave = np.sin(turn * (t - shape.peak_s)) - at_zero
        return shape.mean_rate * (t + shape.amplitude / turn * wave)

    middle, reach = unit / shape.mean_rate, 2 * shape.amplitude / turn
    low, high = np.maximum(middle - reach, 0.0), middle + reach
    for _ in range(64):
        half = (low + high) / 2
        early = reached(half) < unit
        low, high = np.where(early, half, low), np.where(early, high, half)
    return np.asarray(high)


def on_off_times(shape: OnOff, unit: Iterator[Floats], rng: Generator) -> Iterator[Floats]:
    """When the integral of a rate that switches reaches the blocks of `unit`."""
    reached, times = np.zeros(1), np.zeros(1)
    for block in unit:
        chunks = [(reached, times)]
        while chunks[-1][0][-1] <= block[-1]:
            (so_far, now), (more, later) = chunks[-1], _phases(shape, rng)
            chunks.append((so_far[-1] + more, now[-1] + later))
        reached, times = (np.concatenate(column) for column in zip(*chunks, strict=True))
        yield _between(block, reached, times)
        done = max(int(np.searchsorted(reached, block[-1], side="right")) - 1, 0)
        reached, times = reached[done:], times[done:]


def _phases(shape: OnOff, rng: Generator, pairs: int = 1024) -> tuple[Floats, Floats]:
    """(integral of the rate, time) at the ends of the next phases, both from 0."""
    lengths = np.tile([shape.on_s, shape.off_s], pairs)
    if shape.random:
        lengths = lengths * rng.exponential(size=2 * pairs)
    return np.cumsum(lengths * np.tile([shape.on_rate, shape.off_rate], pairs)), np.cumsum(lengths)


def _between(unit: Floats, reached: Floats, times: Floats) -> Floats:
    """The times at which `unit` is reached; what ends a phase comes before a silence."""
    right = np.maximum(np.searchsorted(reached, unit, side="left"), 1)
    left = right - 1
    width = reached[right] - reached[left]
    share = np.divide(unit - reached[left], width, out=np.zeros_like(unit), where=width > 0)
    return np.asarray(times[left] + share * (times[right] - times[left]))
