"""A sweep on a real Dask cluster: a scheduler and two worker processes, started here."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from wastesim import run

from .sweep_runs import command, ran, saved, table

pytest.importorskip("distributed", reason="needs wastesim[cluster]: dask and distributed")

SWEEP = {
    "grid": {
        "server.max_num_seqs": [1, 2, 3, 4],
        "server.max_model_len": list(range(15, 21)),
    },
    "replications": 2,
    "cell_reports": "none",
}


class Cluster(NamedTuple):
    """Where it is, and its two workers."""

    address: str
    workers: list[subprocess.Popen[bytes]]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler without a dashboard, and two single-threaded workers without nannies."""
    log = tmp_path / "scheduler.log"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    with log.open("wb") as file:
        scheduler = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_scheduler", *options],
            stderr=file, stdout=subprocess.DEVNULL, cwd=tmp_path,
        )  # fmt: skip
    processes = [scheduler]
    try:
        address = _address(log, scheduler)
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", f"tcp://{address}"]
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
        options += ["--local-directory", str(tmp_path / "dask")]
        workers = [
            subprocess.Popen([*worker, *options], cwd=tmp_path, **quiet)  # type: ignore[call-overload]
            for _ in range(2)
        ]
        processes += workers
        _wait_for_workers(address, 2)
        yield Cluster(address, workers)
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def test_a_cluster_gives_the_same_numbers_as_this_process(tmp_path: Path, cluster: Cluster) -> None:
    path = saved(tmp_path, sweep=SWEEP)
    here, there = tmp_path / "here", tmp_path / "there"
    assert run.main([str(path), "--output", str(here), "--executor", "serial", "--quiet"]) == 0
    done = ran(path, "--output", there, "--executor", f"dask://{cluster.address}", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert table(here) == table(there)


def test_a_killed_worker_changes_no_number(tmp_path: Path, cluster: Cluster) -> None:
    path = saved(tmp_path, sweep=SWEEP, workload={"num_requests": 400})
    here, there = tmp_path / "here", tmp_path / "there"
    where = f"dask://{cluster.address}"
    process = subprocess.Popen(
        command(path, "--output", there, "--executor", where, "--quiet"), stderr=subprocess.PIPE
    )
    _wait_for_files(there / "runs", 3)
    os.kill(cluster.workers[0].pid, signal.SIGKILL)
    _, said = process.communicate(timeout=180)
    assert process.returncode == 0, said
    assert len(list((there / "runs").glob("*.json"))) == 48
    assert ran(path, "--output", here, "--quiet").returncode == 0
    assert table(here) == table(there)


def test_a_cluster_that_is_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from wastesim.sweep import executors

    monkeypatch.setattr(executors, "CONNECT_S", 0.5)
    path = saved(tmp_path, sweep=SWEEP)
    words = [str(path), "--output", str(tmp_path / "out"), "--executor", "dask://127.0.0.1:1"]
    assert run.main(words) == 2
    assert "no cluster at 127.0.0.1:1" in capsys.readouterr().err


def _address(log: Path, scheduler: subprocess.Popen[bytes]) -> str:
    ends = time.monotonic() + 60
    while time.monotonic() < ends and scheduler.poll() is None:
        found = re.search(r"Scheduler at:\s+tcp://([\d.:]+)", log.read_text())
        if found:
            return found.group(1)
        time.sleep(0.05)
    raise AssertionError(f"the scheduler did not start: {log.read_text()}")


def _wait_for_workers(address: str, count: int) -> None:
    from distributed import Client

    with Client(address, set_as_default=False, timeout="60s") as client:
        client.wait_for_workers(count, timeout=60)


def _wait_for_files(folder: Path, files: int) -> None:
    ends = time.monotonic() + 90
    while time.monotonic() < ends:
        if folder.is_dir() and len(list(folder.glob("*.json"))) >= files:
            return
        time.sleep(0.02)
    raise AssertionError(f"{folder} never had {files} files")
