"""One accounting-only run in a process of its own: what it took, as a line of JSON.

`python tests/bench/engine_speed.py POLICY REQUESTS RATE [KEY=VALUE ...]`; also `--tick`.
Processor seconds, because others share the machine.
"""

from __future__ import annotations

import json
import resource
import sys
import time

#: ShareGPT's lengths and Poisson arrivals at the card's limit and beyond, summary alone.
BASE = {
    "model": "llama-3-8b",
    "gpu": "a100-sxm-40gb",
    "workload": {"lengths": "sharegpt", "num_requests": 100},
    "server": {"max_model_len": 2048},
    "decode": {"engine": "none"},
    "output": {"figures": False, "records": "none"},
}


def measure(policy: str, requests: int, rate: float, *changes: str, leap: bool = True) -> dict:
    """Seconds of start-up, of the engine and of the summary; the peak of memory in MiB."""
    began = time.process_time()
    from wastesim import load_experiment
    from wastesim.engine import run
    from wastesim.result import Result

    wanted = [f"server.policy={policy}", f"workload.request_rate={rate}", *changes]
    warm = load_experiment(BASE, wanted)
    assert Result(warm, run(warm, leap=leap)).summary  # what is imported late is imported now
    ready = time.process_time()
    experiment = load_experiment(BASE, [*wanted, f"workload.num_requests={requests}"])
    records = run(experiment, leap=leap)
    ran = time.process_time()
    summary = Result(experiment, records).summary
    done = time.process_time()
    counts, ticks = summary["requests"], summary["time"]["ticks"]
    assert counts["completed"] + counts["rejected"] == requests
    return {
        "policy": policy,
        "requests": requests,
        "rate": rate,
        "start_s": ready - began,
        "run_s": ran - ready,
        "summary_s": done - ran,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "ticks": ticks,
        "running": summary["concurrency"]["mean"],
        "preemptions": summary["scheduling"]["preemptions"],
    }


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--tick"]
    policy, requests, rate, *changes = words
    found = measure(policy, int(requests), float(rate), *changes, leap="--tick" not in sys.argv)
    print(json.dumps(found))
