"""Speed of accounting-only runs: CPU seconds printed, ratios within one run asserted.

`pytest -m bench -s tests/bench/test_policies_speed.py`
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from wastesim import load_experiment, simulate
from wastesim.config.policy import PRESETS

pytestmark = pytest.mark.bench

DEFAULT = Path(__file__).parents[2] / "experiments" / "default.yaml"
SATURATED = ["decode.engine=none", "workload.request_rate=inf", "workload.num_requests=4000"]
CROWD = ["decode.engine=none", "workload.request_rate=inf", "workload.num_requests=100000",
         "workload.lengths={prompt: {kind: uniform, low: 1, high: 8},"
         " output: {kind: uniform, low: 1, high: 4}}"]  # fmt: skip


def cpu_s(*overrides: str) -> float:
    """CPU time, since others share the machine."""
    experiment: Any = load_experiment(DEFAULT, list(overrides))
    began = time.process_time()
    result = simulate(experiment)
    spent_s = time.process_time() - began
    assert result.summary["requests"]["completed"] == experiment.workload.num_requests
    return spent_s


def test_saturated_sharegpt_under_every_preset() -> None:
    """`token` grows by a block for every token that it generates, and pays for each."""
    spent_s = {name: cpu_s(*SATURATED, f"server.policy={name}") for name in PRESETS}
    print("\n", {name: round(value, 2) for name, value in spent_s.items()})
    least = spent_s["contiguous"]
    assert spent_s.pop("token") < 60 * least
    assert max(spent_s.values()) < 8 * least


@pytest.mark.parametrize("name", ["contiguous", "orca_pow2", "paged", "first_fit"])
def test_a_hundred_thousand_simultaneous_arrivals(name: str) -> None:
    spent_s = cpu_s(*CROWD, f"server.policy={name}")
    print(f"\n{name}: {spent_s:.1f} s")
    assert spent_s < 30
