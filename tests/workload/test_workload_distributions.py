"""Samples have the moments that the distributions promise; what is moved is counted."""

import math

import numpy as np
import pytest

from wastesim.errors import InputError

from .workload_helpers import lengths, workload

N = 200_000


def drawn(prompt: object, number: int = N) -> tuple[np.ndarray, dict[str, int]]:
    made = workload(lengths={"prompt": prompt, "output": 1}, num_requests=number)
    values = lengths(made.requests())[0]
    return values, made.counts


def test_fixed_lengths_are_all_the_same() -> None:
    values, counts = drawn(77, 100)
    assert set(values) == {77}
    assert counts == {}


def test_uniform_lengths_include_both_ends_equally_often() -> None:
    values, _ = drawn({"kind": "uniform", "low": 3, "high": 7})
    shares = np.bincount(values, minlength=8)[3:] / N
    assert values.min() == 3
    assert values.max() == 7
    assert shares == pytest.approx([0.2] * 5, abs=0.005)


@pytest.mark.parametrize(
    "place", [{"mu": 6.0}, {"median": math.exp(6.0)}, {"mean": math.exp(6.0 + 0.8**2 / 2)}]
)
def test_a_lognormal_is_placed_by_mu_median_or_mean(place: dict[str, float]) -> None:
    values, counts = drawn({"kind": "lognormal", "sigma": 0.8, **place})
    assert values.mean() == pytest.approx(math.exp(6.0 + 0.8**2 / 2), rel=0.01)
    assert np.median(values) == pytest.approx(math.exp(6.0), rel=0.01)
    assert np.log(values).std() == pytest.approx(0.8, rel=0.01)
    assert counts == {}


def test_values_below_one_token_are_raised_and_counted() -> None:
    values, counts = drawn({"kind": "lognormal", "mu": 0.0, "sigma": 1.0})
    below = 0.5 * math.erfc(math.log(2) / math.sqrt(2))  # what rounds to 0
    assert values.min() == 1
    assert counts["prompt_raised"] / N == pytest.approx(below, rel=0.02)


def test_redrawing_leaves_the_distribution_inside_its_bounds() -> None:
    spec = {"kind": "lognormal", "mu": 4.0, "sigma": 1.0, "min": 20, "max": 150}
    values, counts = drawn(spec)
    free, _ = drawn({"kind": "lognormal", "mu": 4.0, "sigma": 1.0})
    inside = free[(free >= 20) & (free <= 150)]
    assert (values.min(), values.max()) == (20, 150)
    assert values.mean() == pytest.approx(inside.mean(), rel=0.01)
    assert counts["prompt_redrawn"] / N == pytest.approx(N / len(inside) - 1, rel=0.03)


def test_clipping_moves_what_is_outside_and_counts_it() -> None:
    spec = {"kind": "lognormal", "mu": 4.0, "sigma": 1.0, "min": 20, "max": 150, "outside": "clip"}
    values, counts = drawn(spec)
    free, _ = drawn({"kind": "lognormal", "mu": 4.0, "sigma": 1.0})
    assert np.array_equal(values, np.clip(free, 20, 150))
    assert counts == {"prompt_clipped": int(((free < 20) | (free > 150)).sum())}


def test_counts_are_those_of_the_requests_that_were_made() -> None:
    spec = {"kind": "lognormal", "mu": 4.0, "sigma": 1.0, "max": 50, "outside": "clip"}
    values, counts = drawn(spec, 10)
    assert counts.get("prompt_clipped", 0) <= (values == 50).sum() <= 10


def test_bounds_that_hold_nothing_are_an_error_and_not_an_endless_loop() -> None:
    with pytest.raises(InputError, match="fewer than one draw in 1000"):
        drawn({"kind": "lognormal", "mu": 4.0, "sigma": 0.1, "min": 10**8}, 1)


def test_a_length_beyond_32_bits_is_clipped_and_counted() -> None:
    values, counts = drawn({"kind": "lognormal", "mu": 20.0, "sigma": 9.0}, 1000)
    assert values.max() == 2**31 - 1
    assert counts["prompt_clipped"] == (values == 2**31 - 1).sum()


def test_prompts_and_outputs_are_independent() -> None:
    one = {"kind": "lognormal", "mu": 4.0, "sigma": 1.0}
    made = workload(lengths={"prompt": one, "output": one}, num_requests=50_000)
    prompt, output = lengths(made.requests())
    assert abs(np.corrcoef(np.log(prompt), np.log(output))[0, 1]) < 0.015
