"""Floats of totals beyond 64 bits are Python's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wastesim.engine.leap.clocks.totals import LIMIT, as_floats

#: Where it matters: at powers of two, and halfway between floats, give or take a few.
near_a_tie = st.builds(
    lambda bits, high, tie, off: max(0, (high << bits) + (tie << bits >> 1) + off),
    st.integers(0, 90),
    st.integers(1 << 52, (1 << 53) - 1),
    st.integers(0, 1),
    st.integers(-2, 2),
)
carries = st.one_of(st.integers(0, 1 << 130), st.integers(0, 1 << 64), near_a_tie)
sums = st.lists(st.one_of(st.integers(0, 9), st.integers(0, LIMIT - 1)), min_size=1, max_size=8)


@given(carried=carries, found=sums)
def test_a_total_is_rounded_once(carried: int, found: list[int]) -> None:
    floats = as_floats(carried, np.array(found, dtype=np.int64))
    assert floats.tolist() == [float(carried + each) for each in found]


@given(carried=carries, found=sums)
def test_so_are_sums_that_are_too_large_themselves(carried: int, found: list[int]) -> None:
    large = [each << 20 for each in found]
    floats = as_floats(carried, np.array(large, dtype=object))
    assert floats.tolist() == [float(carried + each) for each in large]


def test_nothing_is_nothing() -> None:
    assert as_floats(1 << 70, np.array([], dtype=np.int64)).tolist() == []
