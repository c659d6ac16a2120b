"""How often intervals of one run cover the truth, at four loads of a server.

`python tests/bench/coverage_of_intervals.py [--runs 60]`: the numbers in docs/statistics.md, about
two minutes.  The truth is the mean of a long run.  Counted are the intervals that are given.
"""

from __future__ import annotations

import argparse
from typing import Any

from wastesim import Result, load_experiment, simulate

NAMES = ("ttft_s", "tpot_s", "e2el_s")
RATES = (6, 8, 9, 10)
LONG, LONG_RUNS = 190_000, 1


def run(requests: int, rate: float, seed: int) -> Result:
    """Contiguous slots for 50 requests; more than about 11 a second are not served."""
    tree: dict[str, Any] = {
        "seed": seed,
        "model": "llama-3-8b",
        "gpu": "a100-sxm-40gb",
        "workload": {"lengths": "sharegpt", "num_requests": requests, "request_rate": rate},
        "server": {"policy": "contiguous", "max_model_len": 3072},
        "decode": {"engine": "none"},
    }
    return simulate(load_experiment(tree))


def covered(rate: float, runs: int) -> dict[str, str]:
    """By latency, how many intervals cover its truth, of those that are given."""
    long = [run(LONG, rate, 1001 + i).summary["latency"] for i in range(LONG_RUNS)]
    truth = {name: sum(one[name]["mean"] for one in long) / LONG_RUNS for name in NAMES}
    hits, given = dict.fromkeys(NAMES, 0), dict.fromkeys(NAMES, 0)
    for seed in range(1, runs + 1):
        rows = run(2000, rate, seed).summary["statistics"]["intervals"]
        found = {row["of"]: row for row in rows}
        for name in NAMES:
            row = found[f"latency.{name}.mean"]
            if row["low"] is not None:
                given[name] += 1
                hits[name] += row["low"] <= truth[name] <= row["high"]
    return {name: f"{hits[name]} of {given[name]} given" for name in NAMES}


def main() -> None:
    """Print a line per load."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=60)
    runs = parser.parse_args().runs
    for rate in RATES:
        print(f"{rate} requests/s, {runs} runs: {covered(rate, runs)}", flush=True)


if __name__ == "__main__":
    main()
