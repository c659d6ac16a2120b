"""Which family fits lengths best, and how badly.

Parameters are those of greatest likelihood.  The distance is Kolmogorov and Smirnov's: the
largest gap between the family's distribution function and that of the lengths, at whole tokens.
With thousands of requests every family is rejected by a test; the distance says by how much.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter
from scipy.special import digamma

from wastesim.config.distributions import Distribution
from wastesim.workload.laws import law_of
from wastesim.workload.pairs import Floats, Ints


@dataclass(frozen=True)
class Fit:
    """A family with its parameters, as `lengths:` takes them, and its distance (0 to 1)."""

    family: str
    parameters: Mapping[str, float]
    distance: float

    def as_config(self) -> dict[str, Any]:
        """What to write into an experiment."""
        return {"kind": self.family, **self.parameters}


def fit_families(lengths: Ints) -> list[Fit]:
    """Families by distance, the nearest first; empty when all lengths are the same."""
    values, counts = np.unique(lengths, return_counts=True)
    if len(values) < 2:
        return []
    x, weights = values.astype(np.float64), counts / counts.sum()
    parameters = {
        "lognormal": _lognormal(x, weights),
        "gamma": _gamma(x, weights),
        "weibull": _weibull(x, weights),
        "negative_binomial": _negative_binomial(x, weights),
    }
    fits = [
        Fit(family, found, _distance(family, found, x, weights))
        for family, found in parameters.items()
        if found is not None
    ]
    return sorted(fits, key=lambda fit: fit.distance)


def _distance(family: str, parameters: Mapping[str, float], x: Floats, weights: Floats) -> float:
    """The largest gap on both sides of each step of the lengths' distribution function."""
    adapter: TypeAdapter[Any] = TypeAdapter(Distribution)
    law = law_of(adapter.validate_python({"kind": family, **parameters}), Path())
    above = np.cumsum(weights)
    at, before = law.cdf(x), law.cdf(x - 1)
    gaps = np.abs(at - above), np.abs(before - (above - weights))
    return float(max(gap.max() for gap in gaps))


def _lognormal(x: Floats, weights: Floats) -> dict[str, float]:
    log = np.log(x)
    mu = float(weights @ log)
    return {"mu": mu, "sigma": float(weights @ (log - mu) ** 2) ** 0.5}


def _root(function: Callable[[float], float], low: float, high: float) -> float | None:
    """Where a function is zero; None when it has one sign throughout (next to no variation)."""
    from scipy.optimize import brentq

    if function(low) * function(high) > 0:
        return None
    return float(brentq(function, low, high))


def _gamma(x: Floats, weights: Floats) -> dict[str, float] | None:
    """Shape k where log k - digamma(k) is the gap between the mean's log and the logs' mean."""
    mean = float(weights @ x)
    gap = float(np.log(mean) - weights @ np.log(x))
    shape = _root(lambda k: float(np.log(k) - digamma(k) - gap), 1e-6, 1e9)
    return None if shape is None else {"shape": shape, "scale": mean / shape}


def _weibull(x: Floats, weights: Floats) -> dict[str, float] | None:
    """Shape where the power-weighted mean of the logs is their mean plus 1 / shape."""
    log = np.log(x)
    scaled = x / x.max()  # so that powers stay small

    def slope(shape: float) -> float:
        powers = weights * scaled**shape
        return float(powers @ log / powers.sum() - 1 / shape - weights @ log)

    shape = _root(slope, 1e-3, 1e4)
    if shape is None:
        return None
    return {"shape": shape, "scale": float(x.max() * (weights @ scaled**shape) ** (1 / shape))}


def _negative_binomial(x: Floats, weights: Floats) -> dict[str, float] | None:
    """None where lengths vary less than the family can (variance at most the mean)."""
    mean = float(weights @ x)
    variance = float(weights @ (x - mean) ** 2)
    if variance <= mean:
        return None

    def score(log_r: float) -> float:
        r = float(np.exp(log_r))
        return float(weights @ digamma(x + r) - digamma(r) + np.log(r / (r + mean)))

    start = float(np.log(mean * mean / (variance - mean)))
    log_r = _root(score, start - 8, start + 8)
    if log_r is None:
        return None
    r = float(np.exp(log_r))
    return {"r": r, "p": r / (r + mean)}
