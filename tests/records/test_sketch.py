"""Quantiles from counts are within the accuracy that they promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wastesim.records.sketch import ACCURACY, Exact, Sketch

QUANTILES = [0.0, 0.1, 0.5, 0.9, 0.99, 1.0]
times = st.one_of(st.just(0.0), st.floats(1e-9, 1e9))


@settings(deadline=None)
@given(values=st.lists(times, min_size=1), accuracy=st.sampled_from([ACCURACY, 0.01, 0.2]))
def test_quantiles_are_within_the_accuracy(values: list[float], accuracy: float) -> None:
    sketch = Sketch(accuracy)
    for chunk in np.array_split(np.array(values), 3):
        sketch.add(chunk)
    exact = np.quantile(values, QUANTILES)
    np.testing.assert_allclose(sketch.quantiles(QUANTILES), exact, rtol=accuracy * (1 + 1e-6))
    assert sketch.mean() == pytest.approx(np.mean(values))


def test_nothing_has_no_quantiles() -> None:
    for values in (Exact(), Sketch()):
        values.add(np.empty(0))
        assert values.mean() is values.quantiles(QUANTILES) is None


def test_memory_follows_the_range_and_not_the_number() -> None:
    sketch, rng = Sketch(), np.random.default_rng(0)
    for _ in range(50):
        sketch.add(rng.uniform(1, 100, 10_000))
    assert len(sketch._bins) < np.log(100) / (2 * ACCURACY) + 2
