"""Events at absolute times."""

from __future__ import annotations

import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st

from wastesim.engine.simtime import SimTime

times = st.floats(0, 1e9, allow_nan=False)


@given(first=times, later=times)
def test_an_event_happens_at_exactly_its_time(first: float, later: float) -> None:
    env = SimTime()
    seen = []

    def process():
        for at_s in sorted((first, later)):
            yield env.at(at_s)
            seen.append(env.now)

    env.process(process())
    env.run()
    assert seen == sorted((first, later))


def test_urgent_events_come_before_others_of_the_same_time() -> None:
    env, order = SimTime(), []
    for name, urgent in (("server", False), ("arrival", True)):
        env.at(5.0, urgent=urgent).callbacks.append(lambda _, name=name: order.append(name))
    env.run()
    assert order == ["arrival", "server"]


def test_time_does_not_go_back() -> None:
    env = SimTime(initial_time=2.0)
    with pytest.raises(ValueError, match=r"cannot go back from 2\.0 s to 1\.0 s"):
        env.at(1.0)


def test_it_is_still_a_simpy_environment() -> None:
    env = SimTime()
    env.run(until=env.timeout(3))
    assert isinstance(env, simpy.Environment)
    assert env.now == 3
