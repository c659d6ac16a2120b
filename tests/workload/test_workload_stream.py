"""Requests come in order, the same ones every time, from independent streams."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wastesim.rng import Streams

from .workload_helpers import arrivals, lengths, workload

LOGNORMAL = {"kind": "lognormal", "median": 100.0, "sigma": 1.0}
MARGINALS = {"prompt": LOGNORMAL, "output": {"kind": "uniform", "low": 1, "high": 50}}


def test_ids_count_up_and_arrivals_never_fall() -> None:
    requests = list(workload(lengths="sharegpt", num_requests=9000, request_rate=5.0).requests())
    assert [request.request_id for request in requests] == list(range(9000))
    assert (np.diff(arrivals(requests)) >= 0).all()


def test_asking_twice_gives_the_same_requests_and_the_same_counts() -> None:
    drawn = workload(lengths=MARGINALS, num_requests=5000, request_rate=5.0)
    first = [(r.arrival_s, r.prompt_tokens, r.output_tokens) for r in drawn.requests()]
    counts = dict(drawn.counts)
    assert [(r.arrival_s, r.prompt_tokens, r.output_tokens) for r in drawn.requests()] == first
    assert drawn.counts == counts


def test_the_streams_of_the_run_are_not_moved() -> None:
    from wastesim.config.arrivals import WorkloadSpec
    from wastesim.workload import build_workload

    streams = Streams(3)
    spec = WorkloadSpec.model_validate({"lengths": MARGINALS, "num_requests": 10})
    list(build_workload(spec, streams).requests())
    assert streams.lengths.random() == Streams(3).lengths.random()


@pytest.mark.parametrize("burstiness", [0.25, 1.0])
def test_the_first_requests_do_not_depend_on_how_many_follow(burstiness: float) -> None:
    spec = {"lengths": MARGINALS, "request_rate": 7.0, "burstiness": burstiness}
    short = list(workload(num_requests=100, **spec).requests())
    long = list(workload(num_requests=9000, **spec).requests())[:100]
    assert arrivals(short).tolist() == arrivals(long).tolist()
    assert np.array_equal(lengths(short), lengths(long))


def test_arrivals_never_move_lengths_and_lengths_never_move_arrivals() -> None:
    base = list(workload(lengths=MARGINALS, num_requests=500, request_rate=2.0).requests())
    other = {"prompt": 5, "output": 5}
    burst = workload(lengths=MARGINALS, num_requests=500, request_rate=9.0, burstiness=0.1)
    short = workload(lengths=other, num_requests=500, request_rate=2.0)
    assert np.array_equal(lengths(base), lengths(burst.requests()))
    assert np.array_equal(arrivals(base), arrivals(short.requests()))


def test_another_seed_gives_other_requests() -> None:
    spec = {"lengths": "sharegpt", "num_requests": 50, "request_rate": 2.0}
    one, two = (list(workload(seed, **spec).requests()) for seed in (1, 2))
    assert not np.array_equal(lengths(one), lengths(two))
    assert not np.array_equal(arrivals(one), arrivals(two))


def test_one_seed_gives_one_result_in_every_process() -> None:
    code = (
        "import hashlib, wastesim.workload as w, wastesim.rng as r, wastesim.config.arrivals as c\n"
        "spec = c.WorkloadSpec(lengths='sharegpt', num_requests=5000, request_rate=3.0)\n"
        "rows = [(q.arrival_s, q.prompt_tokens, q.output_tokens)"
        " for q in w.build_workload(spec, r.Streams(1)).requests()]\n"
        "print(hashlib.sha256(repr(rows).encode()).hexdigest())"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "123")
    }
    assert len(printed) == 1


def test_a_description_says_how_many_of_what_and_when() -> None:
    drawn = workload(lengths="sharegpt", num_requests=200, request_rate=40.0)
    assert drawn.describe() == (
        "200 requests: ShareGPT conversations, at most 2,048 tokens each; Poisson, 40 per second"
    )


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 2**32),
    number=st.integers(1, 9000),
    rate=st.one_of(st.just(float("inf")), st.floats(1e-3, 1e6)),
    burstiness=st.floats(0.05, 50),
)
def test_any_workload_has_the_requests_it_promises(
    seed: int, number: int, rate: float, burstiness: float
) -> None:
    drawn = workload(
        seed, lengths=MARGINALS, num_requests=number, request_rate=rate, burstiness=burstiness
    )
    requests = list(drawn.requests())
    assert len(requests) == number
    assert all(r.prompt_tokens >= 1 and 1 <= r.output_tokens <= 50 for r in requests)
    assert (np.diff(arrivals(requests)) >= 0).all()
    assert np.isfinite(arrivals(requests)).all()
