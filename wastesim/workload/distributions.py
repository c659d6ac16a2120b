"""Quantile functions of the distributions that `config.lengths` describes.

Everything is drawn by inversion: one uniform number in, one length out.  So two lengths can be
tied together by tying their uniform numbers (see `marginals`), and a distribution consumes the
same amount of randomness whatever its parameters are.
"""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from wastesim.config.lengths import Bounded, Distribution, Fixed, Lognormal, Uniform
from wastesim.workload.pairs import MOST_TOKENS, Floats


@singledispatch
def quantile(distribution: Distribution, u: Floats) -> Floats:
    """Values, not yet rounded, that a share `u` in (0, 1) of the distribution lies below."""
    raise TypeError(f"no quantile function for {type(distribution).__name__}")


@quantile.register
def _fixed(distribution: Fixed, u: Floats) -> Floats:
    return np.full(u.shape, float(distribution.value))


@quantile.register
def _uniform(distribution: Uniform, u: Floats) -> Floats:
    width = distribution.high - distribution.low + 1
    return distribution.low + np.floor(u * width)


@quantile.register
def _lognormal(distribution: Lognormal, u: Floats) -> Floats:
    from scipy.special import ndtri

    with np.errstate(over="ignore"):
        return np.exp(location(distribution) + distribution.sigma * ndtri(u))


def location(distribution: Lognormal) -> float:
    """`mu`, the mean of the logarithm, however the lognormal was given."""
    if distribution.mean is not None:
        return math.log(distribution.mean) - distribution.sigma**2 / 2
    if distribution.median is not None:
        return math.log(distribution.median)
    assert distribution.mu is not None  # the model has exactly one of the three
    return distribution.mu


def bounds(distribution: Distribution) -> tuple[int, int, bool]:
    """(least, most, redraw): the tokens a sample may have and what happens outside."""
    if not isinstance(distribution, Bounded):
        return 1, MOST_TOKENS, False
    least = distribution.min or 1
    most = distribution.max or MOST_TOKENS
    return least, most, distribution.outside == "redraw"
