"""Arrival times: a renewal process with gamma gaps.

Gaps are gamma with shape `burstiness` and mean 1 / `request_rate`, so their coefficient of
variation is ``burstiness ** -0.5``; with shape 1 they are exponential and arrivals Poisson.
The first request comes after the first gap.  Nothing is rescaled, so the realised rate varies
from seed to seed as it should.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from wastesim.config.arrivals import Arrivals
from wastesim.workload.pairs import BLOCK, Floats

if TYPE_CHECKING:
    from numpy.random import Generator


def arrival_times(spec: Arrivals, rng: Generator) -> Iterator[Floats]:
    """Blocks of arrival times in seconds, never falling, without end."""
    if math.isinf(spec.rate):
        while True:
            yield np.zeros(BLOCK)
    yield from running_sums(renewal_gaps(spec.burstiness, rng), 1 / spec.rate)


def renewal_gaps(shape: float, rng: Generator) -> Iterator[Floats]:
    """Blocks of gamma gaps of mean 1."""
    while True:
        yield rng.gamma(shape, 1 / shape, BLOCK)


def running_sums(gaps: Iterator[Floats], scale: float) -> Iterator[Floats]:
    """Blocks of the times at which gaps end; sums run on from block to block."""
    last = 0.0
    for block in gaps:
        times = last + np.cumsum(block) * scale
        last = float(times[-1])
        yield times
