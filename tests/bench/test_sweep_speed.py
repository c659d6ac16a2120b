"""A sweep in parallel against the same one by one: a ratio measured in one run (`-m bench -s`)."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.bench

#: 200 cells of about a quarter of a second: enough that starting workers does not decide.
EXPERIMENT = """\
model: llama-3-8b
gpu: a100-sxm-40gb
workload: {lengths: sharegpt, num_requests: 20000, request_rate: 20}
server: {policy: contiguous, max_model_len: 2048}
decode: {engine: none}
output: {figures: false}
sweep:
  grid:
    server.policy: [contiguous, paged]
    server.max_num_seqs: [4, 8, 16, 24, 32, 48, 64, 96, 128, 256]
    workload.request_rate: [4, 8, 12, 16, 20, 24, 28, 32, 40, 64]
  cell_reports: none
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two processors")
def test_two_workers_are_nearly_twice_as_fast_as_one(tmp_path: Path) -> None:
    path = tmp_path / "many.yaml"
    path.write_text(EXPERIMENT)
    serial, work = _run_s(path, tmp_path / "serial", "--executor", "serial")
    parallel, shared = _run_s(path, tmp_path / "parallel", "--workers", "2")
    print(f"\n200 cells: {serial:.1f} s, two workers {parallel:.1f} s, {serial / parallel:.2f} x")
    print(f"processor time {work:.1f} and {shared:.1f} s: alone at most {2 * work / shared:.2f} x")
    one, other = ((tmp_path / name / "runs.csv").read_text() for name in ("serial", "parallel"))
    assert one == other
    assert 2 * work / shared > 1.6  # what starting workers and passing results costs
    if os.getloadavg()[0] < (os.cpu_count() or 1) + 1:  # others leave no room for a second one
        assert serial / parallel > 1.5


def _run_s(path: Path, folder: Path, *words: str) -> tuple[float, float]:
    """Seconds on the wall, and of processors over all processes."""
    command = [sys.executable, "-m", "wastesim.run", str(path), "--output", str(folder), "--quiet"]
    began, before = time.perf_counter(), _processor_s()
    subprocess.run([*command, *words], check=True)
    return time.perf_counter() - began, _processor_s() - before


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
