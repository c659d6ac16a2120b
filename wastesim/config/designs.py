"""Points of a space: at random, a Latin hypercube, or Sobol's low-discrepancy sequence."""

from __future__ import annotations

import math
import warnings
from typing import Any

from wastesim.config.sweep import Range, Sample


def sampled(sample: Sample | None) -> list[dict[str, Any]]:
    """One mapping of keys to values per point; a single empty one without a sample.

    The design has a generator of its own, seeded by `sample.seed`.
    """
    if sample is None:
        return [{}]
    axes = list(sample.over.items())
    return [
        {key: _value(axis, share) for (key, axis), share in zip(axes, point, strict=True)}
        for point in _unit_points(sample, len(axes))
    ]


def _unit_points(sample: Sample, dimensions: int) -> list[list[float]]:
    from scipy.stats import qmc

    if sample.method == "random":
        import numpy as np

        drawn = np.random.default_rng(sample.seed).random((sample.points, dimensions))
        return [list(map(float, row)) for row in drawn]
    kinds = {"latin_hypercube": qmc.LatinHypercube, "sobol": qmc.Sobol}
    engine = kinds[sample.method](dimensions, rng=sample.seed)
    with warnings.catch_warnings():  # Sobol: its balance needs a power of two, the points do not
        warnings.simplefilter("ignore", UserWarning)
        return [list(map(float, row)) for row in engine.random(sample.points)]


def _value(axis: Range | list[Any], share: float) -> Any:
    """The value at that share of an axis; lists are cut into equal parts."""
    if isinstance(axis, list):
        return axis[min(int(share * len(axis)), len(axis) - 1)]
    if axis.scale == "log":
        value = axis.low * (axis.high / axis.low) ** share
    else:
        value = axis.low + (axis.high - axis.low) * share
    if not axis.whole:
        return value
    return min(max(math.floor(value + 0.5), math.ceil(axis.low)), math.floor(axis.high))
