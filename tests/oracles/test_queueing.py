"""The engine against queueing theory: Little's law, and a server that is an M/D/1 queue.

With one slot, a fixed clock and replies of equal length, the server serves one request at a time
for a fixed time: an M/D/1 queue whose waiting time is known (Pollaczek and Khinchine).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wastesim import Result, load_experiment, simulate
from wastesim.statistics import of_mean, of_series

#: Service is two steps of the grid.
STEP_S, OUTPUT = 0.5, 2
SERVICE_S = STEP_S * OUTPUT


def server(load: float, requests: int, seed: int, slots: int = 1) -> Result:
    """One slot of fixed service at that load."""
    result: Result = simulate(
        load_experiment(
            {
                "seed": seed,
                "model": {"layers": 1, "hidden": 8, "q_heads": 1, "kv_heads": 1, "head_dim": 1,
                          "params": 1000},
                "gpu": {"memory": "1 GiB", "bandwidth": "1 GB/s", "flops": "1 GFLOP/s"},
                "workload": {"lengths": {"prompt": 1, "output": OUTPUT}, "num_requests": requests,
                             "request_rate": load / SERVICE_S * slots},
                "server": {"policy": "contiguous", "max_model_len": 64,
                           "kv_cache_memory_bytes": 64 * 4 * slots, "max_num_seqs": slots},
                "decode": {"engine": "none"},
                "clock": {"kind": "fixed", "step_s": STEP_S},
            }
        )
    )  # fmt: skip
    return result


def waits(result: Result) -> Any:
    """From arrival to admission, in order of arrival."""
    rows = result.records.requests
    return rows["admitted_s"] - rows["arrival_s"]


def theory_s(load: float) -> float:
    """The mean wait: Pollaczek and Khinchine's, and half a step for the grid, exactly.

    Arrivals of one step are seen together at its end.  In slots, with m = D / step of service,
    the work found is load (m - 1 + load) / (2 (1 - load)) and that of those who came in the same
    step and stand ahead load / 2; the sum is load m / (2 (1 - load)), as without a grid.
    """
    return load * SERVICE_S / (2 * (1 - load)) + STEP_S / 2


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_the_mean_wait_is_that_of_an_md1_queue(load: float) -> None:
    """Ten replications: the interval of their means holds theory."""
    means = [waits(server(load, 1500, seed)).mean() for seed in range(10)]
    found = of_mean(means, level=0.999)
    assert found.holds(theory_s(load))
    assert found.estimate == pytest.approx(theory_s(load), rel=0.1)


def test_the_share_of_time_that_the_server_works_is_the_load() -> None:
    result = server(0.6, 6000, 1)
    found = result.summary["concurrency"]["mean"]
    assert found == pytest.approx(0.6, rel=0.04)


@pytest.mark.parametrize("load", [0.5, 0.9, 1.3])
@pytest.mark.parametrize("slots", [1, 3])
def test_littles_law_holds_to_the_last_digit(load: float, slots: int) -> None:
    """Over a whole run that begins and ends empty, L T = sum of times in the system, exactly."""
    result = server(load, 1500, 2, slots)
    rows, ticks = result.records.requests, result.records.ticks
    inside = rows["finished_s"] - rows["admitted_s"]
    assert ticks["running"] @ ticks["dt_s"] == pytest.approx(inside.sum(), rel=1e-9)
    # A request is counted from the tick that sees it, up to a step after it came; a tick in which
    # the server slept shows who woke it, and is left out.
    there = np.where(ticks["running"] > 0, ticks["running"] + ticks["waiting"], 0) @ ticks["dt_s"]
    stayed = (rows["finished_s"] - rows["arrival_s"]).sum()
    assert stayed - STEP_S * len(inside) <= there <= stayed + 1e-6


def test_batch_means_of_one_run_hold_the_wait_of_theory() -> None:
    """Intervals of one run each, at a load of 0.5: they cover about as often as they say."""
    count = 40
    found = [of_series(waits(server(0.5, 1000, 100 + seed))[100:]) for seed in range(count)]
    assert sum(one.holds(theory_s(0.5)) for one in found) / count >= 0.875
