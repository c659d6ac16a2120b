"""Arrival times have the rate and the burstiness that were asked for."""

import numpy as np
import pytest

from .workload_helpers import arrivals, workload

PAIR = {"prompt": 5, "output": 5}


def gaps(number: int = 200_000, **spec: object) -> np.ndarray:
    made = workload(lengths=PAIR, num_requests=number, **spec)
    return np.diff(arrivals(made.requests()), prepend=0.0)


@pytest.mark.parametrize("burstiness", [0.25, 1.0, 4.0])
def test_gamma_gaps_have_mean_one_over_rate_and_the_stated_variation(burstiness: float) -> None:
    drawn = gaps(request_rate=40.0, burstiness=burstiness)
    assert drawn.mean() == pytest.approx(1 / 40, rel=0.02)
    assert drawn.std() / drawn.mean() == pytest.approx(burstiness**-0.5, rel=0.02)


def test_poisson_gaps_are_exponential_and_uncorrelated() -> None:
    drawn = gaps(request_rate=2.0)
    assert np.quantile(drawn, [0.5, 0.9]) == pytest.approx(
        [np.log(2) / 2, np.log(10) / 2], rel=0.02
    )
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.01


def test_gaps_run_on_across_blocks() -> None:
    drawn = gaps(20_000, request_rate=1.0)
    assert (drawn > 0).all()
    assert drawn.max() < 20


def test_an_infinite_rate_puts_everything_at_zero() -> None:
    assert not gaps(10_000, request_rate=float("inf")).any()


def test_the_realised_rate_is_not_rescaled() -> None:
    ends = [gaps(100, request_rate=1.0, seed=seed).sum() for seed in range(200)]
    assert np.std(ends) == pytest.approx(10, rel=0.15)
