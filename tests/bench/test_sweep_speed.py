"""A sweep in parallel against the same one by one: a ratio measured in one run (`-m bench -s`)."""

from __future__ import annotations

import os
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
workload: {lengths: sharegpt, num_requests: 150, request_rate: 20}
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
    serial = _run_s(path, tmp_path / "serial", "--executor", "serial")
    parallel = _run_s(path, tmp_path / "parallel", "--workers", "2")
    print(f"\n200 cells: {serial:.1f} s, two workers {parallel:.1f} s, {serial / parallel:.2f} x")
    assert (tmp_path / "serial/runs.csv").read_text() == (
        tmp_path / "parallel/runs.csv"
    ).read_text()
    assert serial / parallel > 1.3  # 1.8 on a machine with nothing else to do


def _run_s(path: Path, folder: Path, *words: str) -> float:
    command = [sys.executable, "-m", "wastesim.run", str(path), "--output", str(folder), "--quiet"]
    began = time.perf_counter()
    subprocess.run([*command, *words], check=True)
    return time.perf_counter() - began
