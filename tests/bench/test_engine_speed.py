"""Speed of accounting-only runs (`pytest -m bench -s tests/bench/test_engine_speed.py`).

Figures are printed; only ratios within one run are asserted.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wastesim.config.policy import PRESETS

pytestmark = pytest.mark.bench

SCRIPT = Path(__file__).with_name("engine_speed.py")
#: As many requests per second as keep each policy's memory full.
SATURATING = 100.0


def measured(policy: str, requests: int, *words: str, rate: float = SATURATING) -> dict[str, Any]:
    command = [sys.executable, str(SCRIPT), policy, str(requests), str(rate), *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def row(found: dict[str, Any]) -> str:
    each = found["requests"] / found["run_s"]
    return (
        f"{found['policy']:12} {found['requests']:>10,} {found['run_s']:8.2f} s {each:>9,.0f}/s"
        f" {found['summary_s']:6.2f} s {found['peak_mib']:6.0f} MiB {found['running']:6.1f} running"
        f" {found['preemptions']:>8,} preempted {found['ticks']:>11,} ticks"
    )


@pytest.mark.parametrize("policy", sorted(PRESETS))
def test_cost_is_linear_and_memory_is_bounded(policy: str) -> None:
    """From a thousand requests to a hundred thousand; the exponent of cost is fitted."""
    sizes = (1_000, 10_000, 100_000)
    found = [measured(policy, size) for size in sizes]
    print("", *map(row, found), sep="\n")
    exponent = np.polyfit(np.log(sizes[1:]), np.log([each["run_s"] for each in found[1:]]), 1)[0]
    print(f"{policy}: cost grows with the power {exponent:.2f} of the number of requests")
    assert exponent < 1.25
    assert found[-1]["peak_mib"] < 500


@pytest.mark.parametrize("policy", ["contiguous", "paged"])
def test_a_million_requests(policy: str) -> None:
    """Both sizes are beyond what is kept in memory."""
    small, large = measured(policy, 250_000), measured(policy, 1_000_000)
    print("", row(small), row(large), sep="\n")
    exponent = math.log(large["run_s"] / small["run_s"], 4)
    print(f"{policy}: cost grows with the power {exponent:.2f} of the number of requests")
    assert exponent < 1.25
    assert large["peak_mib"] < 500


@pytest.mark.parametrize("policy", ["contiguous", "orca_pow2", "paged", "token", "predicted"])
def test_leaping_is_many_times_as_fast_as_ticking(policy: str) -> None:
    ticking, leaping = measured(policy, 2_000, "--tick"), measured(policy, 20_000)
    gain = ticking["run_s"] / ticking["requests"] / (leaping["run_s"] / leaping["requests"])
    print(f"\n{policy}: {gain:.0f} times", row(ticking), row(leaping), sep="\n")
    assert gain > 4


def test_a_run_leaps_where_memory_is_short_all_the_time() -> None:
    """One preemption for every request or nearly, and no crowds."""
    short = "server.max_num_seqs=1024"
    ticking = measured("paged", 3_000, short, "--tick")
    calm, leaping = measured("paged", 50_000), measured("paged", 50_000, short)
    gain = ticking["run_s"] / ticking["requests"] / (leaping["run_s"] / leaping["requests"])
    print(f"\npaged, preempting: {gain:.0f} times", *map(row, (ticking, leaping, calm)), sep="\n")
    assert leaping["preemptions"] > 10_000
    assert gain > 4


def test_nothing_heavy_is_imported_to_say_hello() -> None:
    """The best of five; a Python that does nothing beside it."""
    bare = _least_s("-c", "pass")
    imported = _least_s("-c", "import wastesim")
    helped = _least_s("-m", "wastesim", "--help")
    print(f"\npython {bare:.3f} s, import wastesim {imported:.3f} s, --help {helped:.3f} s")
    assert imported < 0.3
    assert helped < 0.5


def _least_s(*words: str) -> float:
    def once() -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, *words], check=True, capture_output=True)
        return time.perf_counter() - began

    return min(once() for _ in range(5))
