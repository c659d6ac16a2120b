"""When ticks end."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wastesim.engine.clock import FixedClock, MeasuredClock, RooflineClock
from wastesim.engine.cost import Cost, CostModel

NOTHING = Cost(0, 0)


def test_a_fixed_clock_stays_on_its_grid_also_after_being_idle() -> None:
    clock = FixedClock(0.5)
    assert clock.start(0.7) == 1.0
    assert clock.after(NOTHING, 0.0) == 1.5
    assert clock.start(1.5) == 1.5
    assert clock.start(9.01) == 9.5


@given(now_s=st.floats(0, 1e6), step_s=st.sampled_from([0.02, 0.1, 1 / 3, 7.0]))
def test_a_fixed_clock_starts_at_the_first_grid_point_not_before_now(now_s, step_s) -> None:
    start_s = FixedClock(step_s).start(now_s)
    k = round(start_s / step_s)
    assert start_s == k * step_s
    assert start_s >= now_s
    assert k == 0 or (k - 1) * step_s < now_s


def test_a_roofline_takes_the_longer_of_memory_and_arithmetic() -> None:
    clock = RooflineClock(bytes_per_s=100.0, flop_per_s=1000.0, overhead_s=0.25)
    clock.start(2.0)
    assert clock.after(Cost(moved_bytes=300, flop=10), 0.0) == 2.0 + 3.0 + 0.25
    assert clock.after(Cost(moved_bytes=1, flop=500), 0.0) == 2.0 + 3.5 + 0.5


@given(costs=st.lists(st.integers(1, 10**12), min_size=1, max_size=50))
def test_memory_bound_ticks_are_converted_once(costs: list[int]) -> None:
    one_by_one, at_once = RooflineClock(3.3e12, 1e15), RooflineClock(3.3e12, 1e15)
    for moved in costs:
        ends_s = one_by_one.after(Cost(moved, 0), 0.0)
    assert ends_s == at_once.after(Cost(sum(costs), 0), 0.0)


def test_a_measured_clock_follows_the_decode() -> None:
    clock = MeasuredClock()
    clock.start(10.0)
    assert clock.after(NOTHING, 0.125) == 10.125


def test_the_chapters_decode_floor_is_one_tick_of_an_empty_cache() -> None:
    """16 GB of weights at 3.3 TB/s: about 4.85 ms, about 206 tokens/s at batch 1."""
    clock = RooflineClock(3.3e12, 1000e12)
    model = CostModel(16_000_000_000, 0, 0, 0)
    floor_s = clock.after(model.of([(0, 1)]), 0.0)
    assert math.isclose(floor_s, 4.85e-3, rel_tol=1e-3)
    assert round(1 / floor_s) == 206


def test_the_cost_of_a_tick_by_hand() -> None:
    """A prompt of 3 and a decode with 5 stored: 3 + 6 cells; contexts 1+2+3 and 6."""
    model = CostModel(1000, 10, 100, 7)
    cost = model.of([(0, 3), (5, 1)])
    assert cost[:2] == (1000 + 10 * 9, 100 * 4 + 7 * (6 + 6))
    assert cost == Cost(*cost[:2], decode_requests=1, kv_tokens=5, prefill_tokens=3)


@given(before=st.integers(0, 1000), new=st.integers(1, 300))
def test_a_prompt_costs_what_its_tokens_cost_one_by_one(before: int, new: int) -> None:
    model = CostModel(0, 0, 3, 5)
    singles = [model.of([(before + k, 1)]).flop for k in range(new)]
    assert model.of([(before, new)]).flop == sum(singles)


@pytest.mark.parametrize(
    ("clock", "said"),
    [
        ({"kind": "roofline"}, "times come from a roofline of ideal hardware: no real server"),
        (
            {"kind": "roofline", "bandwidth_efficiency": 0.7, "overhead_s": "2 ms"},
            "times come from a roofline at 70 % of the card's bandwidth and 100 % of its"
            " arithmetic, and 2 ms of overhead in each tick",
        ),
        ({"kind": "fixed", "step_s": 1}, "every tick takes the same time, whatever it does"),
    ],
)
def test_a_run_says_where_its_times_come_from(toy, clock: dict[str, object], said: str) -> None:
    found = toy([(0, 2, 2)], cells=8, max_model_len=8, clock=clock).records.facts.explanations
    assert [line for line in found if line.startswith(said)]
