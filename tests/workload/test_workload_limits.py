"""What clients declare as `max_tokens` is a quantity of its own."""

import numpy as np
import pytest

from .workload_helpers import lengths, workload

PAIR = {"prompt": 5, "output": {"kind": "uniform", "low": 1, "high": 100}}


def declared(number: int = 5000, **spec: object) -> tuple[list[int | None], np.ndarray, dict]:
    made = workload(lengths=PAIR, num_requests=number, **spec)
    requests = list(made.requests())
    return [r.max_tokens for r in requests], lengths(requests)[1], made.counts


def test_clients_declare_nothing_unless_told_to() -> None:
    assert set(declared()[0]) == {None}


def test_clients_may_declare_their_true_output() -> None:
    limits, output, counts = declared(max_tokens="output")
    assert limits == output.tolist()
    assert counts == {}


def test_a_drawn_limit_is_raised_to_the_output_and_counted() -> None:
    free = declared()[1]
    limits, output, counts = declared(max_tokens=60)
    assert np.array_equal(output, free)
    assert limits == np.maximum(output, 60).tolist()
    assert counts == {"max_tokens_raised_to_output": int((output > 60).sum())}


def test_declaring_a_limit_never_moves_lengths_or_arrivals() -> None:
    spec = {"lengths": PAIR, "num_requests": 6000, "request_rate": 3.0}
    one = list(workload(**spec).requests())
    limit = {"kind": "lognormal", "mu": 6.0, "sigma": 1.0, "max": 4096}
    two = list(workload(**spec, max_tokens=limit).requests())
    assert np.array_equal(lengths(one), lengths(two))
    assert [r.arrival_s for r in one] == [r.arrival_s for r in two]
    assert len({r.max_tokens for r in two}) > 1000


def test_redrawn_limits_are_counted() -> None:
    limit = {"kind": "uniform", "low": 1, "high": 2}
    bounded = {"kind": "mixture", "parts": [{"weight": 1.0, "of": limit}], "min": 2}
    _, output, counts = declared(10_000, max_tokens=bounded)
    assert counts["max_tokens_redrawn"] == pytest.approx(10_000, rel=0.05)
    assert counts["max_tokens_raised_to_output"] == (output > 2).sum()
