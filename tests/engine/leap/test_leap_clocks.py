"""Times of many ticks at once are those of the clock, tick by tick, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wastesim.engine.clock import FixedClock, MeasuredClock, RooflineClock
from wastesim.engine.cost import Cost
from wastesim.engine.leap.clocks import Expanded, LeapClock, leaping

Stretch = tuple[int, tuple[int, ...]]

#: Bytes and FLOP of the first tick, of the second, and what each one after it adds.
costs = st.tuples(*[st.integers(0, 40)] * 4, *[st.integers(0, 9)] * 2)
stretches = st.lists(st.tuples(st.integers(1, 30), costs), min_size=1, max_size=8)


def roofline() -> RooflineClock:
    return RooflineClock(7.0, 5.0, 0.013)


def tick_by_tick(clock: RooflineClock, stretch: Stretch) -> list[float]:
    ticks, (b0, f0, b1, f1, db, df) = stretch
    ends = []
    for k in range(ticks):
        cost = Cost(b0, f0) if k == 0 else Cost(b1 + db * (k - 1), f1 + df * (k - 1))
        ends.append(clock.after(cost, 0.0))
    return ends


def amounts(found: list[Stretch], first: int) -> np.ndarray:
    """Bytes (`first` 0) or FLOP (1) of every tick."""
    values = []
    for ticks, cost in found:
        start, later, step = cost[first], cost[first + 2], cost[first + 4]
        values += [start, *(later + step * k for k in range(ticks - 1))]
    return np.array(values)


@settings(deadline=None)
@given(found=stretches)
def test_a_roofline_leaps_to_where_it_would_have_walked(found: list[Stretch]) -> None:
    walking, clock = roofline(), leaping(roofline())
    assert clock is not None
    walking.start(3.7)
    clock.start(3.7)
    ends: list[float] = []
    for stretch in found:
        walked = tick_by_tick(walking, stretch)
        assert clock.begin(*stretch[1]) == walked[0]
        assert [clock.end(k + 1) for k in range(stretch[0])] == walked
        assert clock.commit(stretch[0]) == walked[-1]
        ends += walked
    ticks = np.array([ticks for ticks, _ in found])
    k = np.concatenate([np.arange(n) for n in ticks])
    t_s, dt_s = clock.columns(Expanded(ticks, k), amounts(found, 0), amounts(found, 1))
    begins = [3.7, *ends[:-1]]
    assert t_s.tolist() == begins
    assert dt_s.tolist() == [end - begin for begin, end in zip(begins, ends, strict=True)]


@settings(deadline=None)
@given(found=stretches, scale_bits=st.sampled_from([0, 45, 53]), walk=st.booleans())
def test_a_long_run_goes_on_where_it_is(found: list[Stretch], scale_bits: int, walk: bool) -> None:
    """Totals are carried from one `columns` to the next, beyond 64 bits too."""
    walking, clock = roofline(), leaping(roofline())
    assert clock is not None
    now_s = clock.start(walking.start(3.7))
    for ticks, cost in found * 3:
        stretch = ticks, tuple(amount << scale_bits for amount in cost)
        walked = tick_by_tick(walking, stretch)
        moved, flop = amounts([stretch], 0), amounts([stretch], 1)
        if walk:
            assert clock.walk(moved, flop).tolist() == walked
            continue
        clock.begin(*stretch[1])
        assert clock.commit(ticks) == walked[-1]
        expanded = Expanded(np.array([ticks]), np.arange(ticks))
        t_s, dt_s = clock.columns(expanded, moved, flop)
        begins = [now_s, *walked[:-1]]
        assert t_s.tolist() == begins
        assert dt_s.tolist() == [b - a for a, b in zip(begins, walked, strict=True)]
        now_s = walked[-1]


@settings(deadline=None)
@given(cost=costs, most=st.integers(1, 200), limit_s=st.floats(0, 900))
@pytest.mark.parametrize("clock", [FixedClock(0.7), roofline()], ids=["fixed", "roofline"])
def test_until_finds_the_first_tick_that_reaches_a_time(
    clock: FixedClock | RooflineClock, cost: tuple[int, ...], most: int, limit_s: float
) -> None:
    found = leaping(clock)
    assert found is not None
    found.start(0.0)
    found.begin(*cost)
    reached = [k for k in range(1, most + 1) if found.end(k) >= limit_s]
    assert found.until(limit_s, most) == (reached[0] if reached else most)


def test_totals_beyond_64_bits_stay_exact() -> None:
    """Ten ticks of 4e18 FLOP: numpy's integers would wrap after two."""
    walking, clock = RooflineClock(1.0, 1e15), leaping(RooflineClock(1.0, 1e15))
    assert clock is not None
    stretch = (10, (0, 4 * 10**18, 0, 4 * 10**18, 0, 0))
    walked = tick_by_tick(walking, stretch)
    clock.begin(*stretch[1])
    assert clock.commit(10) == walked[-1]
    nothing, flop = np.zeros(10, dtype=np.int64), np.full(10, 4 * 10**18)
    t_s, _ = clock.columns(Expanded(np.array([10]), np.arange(10)), nothing, flop)
    assert t_s.tolist() == [0.0, *walked[:-1]]


def test_a_row_of_sleep_is_no_tick_of_the_busy_time_that_begins() -> None:
    clock: LeapClock | None = leaping(RooflineClock(1.0, 1.0, 0.5))
    assert clock is not None
    clock.begin(2, 0, 2, 0, 0, 0)
    assert clock.commit(2) == 5.0
    clock.start(8.0)
    clock.sleep()
    clock.begin(3, 0, 3, 0, 0, 0)
    assert clock.commit(1) == 11.5
    ticks = np.array([2, 1, 1])
    moved = np.array([2, 2, 0, 3])
    expanded = Expanded(ticks, np.array([0, 1, 0, 0]))
    t_s, dt_s = clock.columns(expanded, moved, np.zeros(4, dtype=np.int64))
    assert t_s[[0, 1, 3]].tolist() == [0.0, 2.5, 8.0]
    assert dt_s[[0, 1, 3]].tolist() == [2.5, 2.5, 3.5]


def test_a_clock_that_must_be_asked_each_tick_does_not_leap() -> None:
    assert leaping(MeasuredClock()) is None
