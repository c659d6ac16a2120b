"""When a run leaps, when it ticks, and that an observer decides by what it looks at."""

from __future__ import annotations

from typing import Any

import pytest

from wastesim import load_experiment
from wastesim.engine import Observer, run
from wastesim.engine.leap import why_not
from wastesim.engine.observer import Happening
from wastesim.request import Request

TREE: dict[str, Any] = {
    "model": {"layers": 1, "hidden": 8, "q_heads": 1, "kv_heads": 1, "head_dim": 1, "params": 1000},
    "gpu": {"memory": "1 GiB", "bandwidth": "1 GB/s", "flops": "1 GFLOP/s"},
    "workload": {"lengths": {"prompt": 4, "output": 9}, "num_requests": 20, "request_rate": 1},
    "server": {"max_model_len": 20, "kv_cache_memory_bytes": 400},
    "decode": {"engine": "none"},
    "clock": {"kind": "fixed", "step_s": 1},
    "output": {"figures": False, "records": "none"},
}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("decode={engine: numpy, model: tiny}", "the decode runs every tick"),
        ("clients.timeout_s=9", "clients give up"),
        ("clients.priorities={0: 1, 1: 2}", "requests are served by priority"),
        ("server.kv_groups=[null, 8]", "windows slide"),
        ("server.async_scheduling=true", "tokens are in flight"),
        ("server.long_prefill_token_threshold=3", "prefills are cut by a threshold"),
        ("server.max_num_seqs=4096", "too few for all that run"),
        ("workload.too_long=error", "too long is an error"),
    ],
)
def test_what_must_be_looked_at_each_tick(change: str, reason: str) -> None:
    paged = ["server.policy=paged", "server.scheduler=vllm"]
    assert why_not(load_experiment(TREE, paged), Observer()) is None
    found = why_not(load_experiment(TREE, [*paged, change]), Observer())
    assert found is not None
    assert reason in found


class Counts(Observer):
    """Told of happenings one by one."""

    def __init__(self) -> None:
        self.told = 0

    def happened(self, what: Happening, t_s: float, request: Request, cells: int) -> None:
        self.told += 1


class LooksNowAndThen(Observer):
    """Told where the run is."""

    def __init__(self) -> None:
        self.moments: list[tuple[float, int]] = []

    def passed(self, now_s: float, running: int, waiting: int, ended: int) -> None:
        self.moments.append((now_s, ended))


def test_an_observer_of_every_happening_is_told_of_every_one() -> None:
    """Twenty arrivals, admissions and first tokens."""
    observer = Counts()
    assert why_not(load_experiment(TREE), observer) == "somebody looks at every tick"
    run(load_experiment(TREE), observer)
    assert observer.told == 60


def test_an_observer_of_the_run_is_told_less_often_than_there_are_ticks() -> None:
    observer = LooksNowAndThen()
    records = run(load_experiment(TREE), observer)
    times, ended = zip(*observer.moments, strict=True)
    assert list(times) == sorted(times)
    assert ended[-1] == 20
    assert len(times) < len(records.ticks["t_s"])
