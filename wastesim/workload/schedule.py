"""When the requests of a workload arrive, in words and in numbers."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from wastesim.config.arrivals import Arrivals, Constant, Diurnal, OnOff, Ramp, RateShape
from wastesim.units import format_digits
from wastesim.workload.arrivals import arrival_times
from wastesim.workload.pairs import BLOCK, Floats
from wastesim.workload.traces import Trace

if TYPE_CHECKING:
    from numpy.random import Generator

Times = Callable[[], Iterator[Floats]]

#: A slice of a trace whose rate differs from the whole's by more than this is remarked on.
_UNLIKE = 2.0


def drawn_times(spec: Arrivals, rng: Generator, number: int) -> tuple[Times, list[str]]:
    """Arrival times of `number` requests, the same each time they are asked for, and notes."""

    def times() -> Iterator[Floats]:
        return arrival_times(spec, copy.deepcopy(rng))

    if not spec.rescale:
        return times, []
    factor = number / spec.rate / _last(times(), number)
    note = (
        f"arrivals are rescaled by {factor:.4g} so that the last comes at {number / spec.rate:.6g}"
        " s, as vLLM's load generator does; gaps are then not independent"
    )
    return lambda: (block * factor for block in times()), [note]


def _last(times: Iterator[Floats], number: int) -> float:
    """The `number`-th time."""
    for block in times:
        if number <= len(block):
            return float(block[number - 1])
        number -= len(block)
    raise AssertionError("arrival times never end")


def own_times(trace: Trace, speed: float, number: int) -> tuple[Times, list[str]]:
    """The trace's own arrivals, `speed` times as fast, and notes on the first `number` rows."""
    arrival = trace.arrival_s
    assert arrival is not None  # asked for when the trace was read

    def times() -> Iterator[Floats]:
        return (arrival[i : i + BLOCK] / speed for i in range(0, len(arrival), BLOCK))

    notes = [] if speed == 1 else [f"the trace's arrivals run {speed:g} times as fast"]
    return times, notes + _unlike_the_whole(arrival, number)


def _unlike_the_whole(arrival: Floats, number: int) -> list[str]:
    """A note when the first rows come at another rate than all of them."""
    if not 1 < number < len(arrival) or arrival[number - 1] == 0:
        return []
    rate, whole = (number - 1) / arrival[number - 1], (len(arrival) - 1) / arrival[-1]
    if max(rate / whole, whole / rate) < _UNLIKE:
        return []
    return [
        f"the first {number:,} rows come at {format_digits(rate, 3)} per second, all"
        f" {len(arrival):,} at {format_digits(whole, 3)}:"
        " they do not stand for the trace; choose others with 'from_s'"
    ]


def describe_arrivals(spec: Arrivals) -> str:
    """When requests arrive, in a few words."""
    if spec.arrivals is None and math.isinf(spec.rate):
        text = "all at t = 0"
    elif isinstance(spec.arrivals, Constant):
        text = f"one every {1 / spec.arrivals.rate:g} s"
    else:
        shape = f"gamma gaps of shape {spec.burstiness:g}" if spec.burstiness != 1 else "Poisson"
        text = f"{shape}, {_rate(spec.arrivals, spec.rate)}"
    return text + describe_concurrency(spec)


def describe_concurrency(spec: Arrivals) -> str:
    """The limit of a closed loop, in a few words."""
    most = spec.max_concurrency
    return "" if most is None else f", at most {most:,} in flight"


def _rate(shape: RateShape | None, rate: float) -> str:
    if isinstance(shape, OnOff):
        on_off = f"{shape.on_rate:g} per second for {shape.on_s:g} s, {shape.off_rate:g} for"
        return f"{on_off} {shape.off_s:g} s" + (" (random phases)" if shape.random else "")
    if isinstance(shape, Ramp):
        return f"{shape.from_rate:g} to {shape.to_rate:g} per second over {shape.over_s:g} s"
    if isinstance(shape, Diurnal):
        swing = f"swinging by {100 * shape.amplitude:g} % every {shape.period_s:g} s"
        return f"{shape.mean_rate:g} per second {swing}"
    return f"{rate:g} per second"
