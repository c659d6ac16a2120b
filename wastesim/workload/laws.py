"""What the distributions of `config.distributions` are: quantile and distribution functions.

Everything is drawn by inversion: one uniform number in, one length out.  So two lengths can be
tied together by tying their uniform numbers (see `marginals`), and a distribution consumes the
same amount of randomness whatever its parameters are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from pathlib import Path

import numpy as np
from scipy.special import gammainc, gammaincinv, ndtr, ndtri

from wastesim.config.distributions import (
    Bounded,
    Distribution,
    Fixed,
    Gamma,
    Lognormal,
    Mixture,
    NegativeBinomial,
    Quantiles,
    Uniform,
    Weibull,
    Zipf,
)
from wastesim.workload.law_tables import (
    Blend,
    NegativeBinomialLaw,
    read_quantiles,
    zipf_table,
)
from wastesim.workload.pairs import MOST_TOKENS, Floats

#: `quantile(u)`: the value that a share u of the law lies below, not yet rounded to tokens.
#: `cdf(k)`: the chance that a sample, rounded to whole tokens, is at most the whole number k.
Function = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Law:
    """A distribution that can be drawn from; bounds are not applied yet."""

    quantile: Function
    cdf: Function


@singledispatch
def law_of(distribution: Distribution, base: Path) -> Law:
    """The law that a config describes; relative files are relative to `base`.

    InputError when a table cannot be read.
    """
    raise TypeError(f"no law for {type(distribution).__name__}")


@law_of.register
def _fixed(spec: Fixed, base: Path) -> Law:
    return Law(
        lambda u: np.full(u.shape, float(spec.value)),
        lambda k: np.asarray(k >= spec.value, dtype=np.float64),
    )


@law_of.register
def _uniform(spec: Uniform, base: Path) -> Law:
    width = spec.high - spec.low + 1
    return Law(
        lambda u: spec.low + np.floor(u * width),
        lambda k: np.clip((k - spec.low + 1) / width, 0, 1),
    )


@law_of.register
def _lognormal(spec: Lognormal, base: Path) -> Law:
    mu, sigma = location(spec), spec.sigma

    def quantile(u: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.exp(mu + sigma * ndtri(u))

    return Law(quantile, lambda k: ndtr((np.log(k + 0.5) - mu) / sigma))


@law_of.register
def _gamma(spec: Gamma, base: Path) -> Law:
    scale = spec.scale or (spec.mean or 0.0) / spec.shape
    return Law(
        lambda u: np.asarray(scale * gammaincinv(spec.shape, u), dtype=np.float64),
        lambda k: np.asarray(gammainc(spec.shape, (k + 0.5) / scale), dtype=np.float64),
    )


@law_of.register
def _weibull(spec: Weibull, base: Path) -> Law:
    scale = spec.scale or (spec.mean or 0.0) / math.gamma(1 + 1 / spec.shape)

    def quantile(u: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return scale * (-np.log1p(-u)) ** (1 / spec.shape)

    return Law(quantile, lambda k: -np.expm1(-(((k + 0.5) / scale) ** spec.shape)))


@law_of.register
def _negative_binomial(spec: NegativeBinomial, base: Path) -> Law:
    chance = spec.p or spec.r / (spec.r + (spec.mean or 0.0))
    law = NegativeBinomialLaw(spec.r, chance)
    return Law(law.quantile, law.cdf)


@law_of.register
def _zipf(spec: Zipf, base: Path) -> Law:
    table = zipf_table(spec.exponent, spec.min, spec.max)
    return Law(table.quantile, table.cdf)


@law_of.register
def _quantiles(spec: Quantiles, base: Path) -> Law:
    points = read_quantiles(base / spec.file, spec.column)
    return Law(points.quantile, points.cdf)


@law_of.register
def _mixture(spec: Mixture, base: Path) -> Law:
    weights = np.array([part.weight for part in spec.parts])
    mixed = Blend(weights / weights.sum(), [law_of(part.of, base).cdf for part in spec.parts])
    return Law(mixed.quantile, mixed.cdf)


def location(spec: Lognormal) -> float:
    """`mu`, the mean of the logarithm, however the lognormal was given."""
    if spec.mean is not None:
        return math.log(spec.mean) - spec.sigma**2 / 2
    if spec.median is not None:
        return math.log(spec.median)
    assert spec.mu is not None  # the model has exactly one of the three
    return spec.mu


def bounds(distribution: Distribution) -> tuple[int, int, bool]:
    """(least, most, redraw): the tokens a sample may have, and whether bounds are redrawn."""
    if not isinstance(distribution, Bounded):
        return 1, MOST_TOKENS, False
    bounded = distribution.min is not None or distribution.max is not None
    redraw = bounded and distribution.outside == "redraw"
    return distribution.min or 1, distribution.max or MOST_TOKENS, redraw
