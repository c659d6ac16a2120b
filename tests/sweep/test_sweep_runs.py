"""Sweeps as they run: in parallel as one by one, around failures, up to an interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from wastesim import load_experiment, run
from wastesim.config import dump_yaml
from wastesim.sweep.__main__ import main as sweep_main
from wastesim.sweep.results import interval
from wastesim.sweep.store import Store, at_work, write_json

from .sweep_runs import command, ran, saved, table, varied

#: 200 cells.
MANY = {
    "grid": {
        "server.max_num_seqs": list(range(1, 11)),
        "server.max_model_len": list(range(15, 25)),
        "server.policy": ["contiguous", "paged"],
    },
    "cell_reports": "none",
}
FEW = {"grid": {"server.max_num_seqs": [1, 2, 3]}, "replications": 2}

#: Enough requests for intervals inside one run; all of the measured part is steady.
LOADED = {"num_requests": 300, "request_rate": 0.2}
MEASURED = {"measure": {"from_s": 100, "until_s": 1200}}

#: With `too_long: error` the second cell ends in one.
FAILS = {"grid": {"server.max_model_len": [16, 4, 20]}}


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_two_hundred_cells_are_the_same_in_parallel_and_one_by_one(here: Path) -> None:
    path = saved(here, sweep=MANY)
    serial = ran(path, "--output", "serial", "--executor", "serial", "--quiet")
    parallel = ran(path, "--output", "parallel", "--workers", "2", "--quiet")
    assert (serial.returncode, serial.stderr) == (0, "")
    assert (parallel.returncode, parallel.stderr) == (0, "")
    assert table(here / "serial") == table(here / "parallel")
    assert summary(here / "serial") == summary(here / "parallel")
    assert len(table(here / "serial").splitlines()) == 201


def test_an_infinite_rate_is_text_where_json_has_no_number_for_it(here: Path) -> None:
    path = saved(here, sweep={"grid": {"workload.request_rate": [1, float("inf")]}})
    assert ran(path, "--output", "out", "--executor", "serial", "--quiet").returncode == 0
    for file in (here / "out").rglob("*.json"):
        assert "Infinity" not in file.read_text(), file
    assert summary(here / "out")["cells"][1]["values"] == {"workload.request_rate": "inf"}
    again = ran(path, "--output", "out", "--executor", "serial", "--quiet", "--resume")
    assert (again.returncode, again.stderr) == (0, "")


def test_one_replication_of_a_cell_is_what_run_says_of_it(here: Path) -> None:
    path = saved(here, sweep={"grid": {"server.max_num_seqs": [1, 2]}})
    assert run.main([str(path), "--output", "s", "--executor", "serial", "--quiet"]) == 0
    alone = saved(here)
    words = ["--set", "server.max_num_seqs=2", "--output", "r", "--quiet"]
    assert run.main([str(alone), *words]) == 0
    cell = summary(here / "s")["cells"][1]
    throughput = summary(here / "r")["throughput"]["output_tokens_per_s"]
    assert cell["numbers"]["throughput.output_tokens_per_s"]["estimate"] == throughput


def test_both_verbs_run_a_sweep(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(here, sweep=FEW)
    words = [str(path), "--executor", "serial"]
    assert run.main([*words, "--output", "a"]) == 0
    assert sweep_main(["run", *words, "--output", "b"]) == 0
    assert table(here / "a") == table(here / "b")
    assert "Written / reserved, per step is 41.1 % in every cell." in capsys.readouterr().out


def test_sweep_run_refuses_an_experiment_that_varies_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sweep_main(["run", str(saved(here))]) == 2
    assert "has no 'sweep' and no 'search'" in capsys.readouterr().err


def test_sweep_run_takes_a_seed(here: Path) -> None:
    words = ["run", str(saved(here, sweep=FEW)), "--executor", "serial", "--quiet"]
    assert sweep_main([*words, "--seed", "7", "--output", "out"]) == 0
    assert json.loads((here / "out/run.json").read_text())["seed"] == 7


def test_cells_show_the_experiments_own_value_of_keys_that_others_name(here: Path) -> None:
    listed = [{"server": {"max_num_seqs": 2}}, {"server.policy": "paged"}]
    path = saved(here, sweep={"list": listed})
    words = [str(path), "--output", "out", "--executor", "serial", "--quiet"]
    assert run.main(words) == 0
    assert [cell["values"] for cell in summary(here / "out")["cells"]] == [
        {"server.max_num_seqs": 2, "server.policy": "contiguous"},
        {"server.max_num_seqs": 256, "server.policy": "paged"},
    ]


def test_a_cell_that_fails_is_recorded_and_the_others_go_on(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(here, sweep=FAILS, workload={"too_long": "error"})
    assert run.main([str(path), "--output", "out", "--executor", "serial"]) == 3
    assert "failed: max_model_len 4, replication 0: " in capsys.readouterr().err
    cells = summary(here / "out")["cells"]
    assert [cell["runs"] for cell in cells] == [1, 0, 1]
    assert cells[1]["errors"][0]
    assert cells[1]["errors"][0] in (here / "out/report.md").read_text()


@pytest.mark.parametrize("verb", [[], ["--resume"], ["--dry-run"]])
def test_a_trace_that_cannot_be_read_is_told_before_anything_runs(
    here: Path, capsys: pytest.CaptureFixture[str], verb: list[str]
) -> None:
    trace = here / "t.csv"
    trace.write_text("arrival_time_s,prompt_tokens,output_tokens\n0,1,2\n1,2,3\n")
    tree = {**varied(sweep=FEW), "workload": {"trace": str(trace)}}
    (here / "toy.yaml").write_text(dump_yaml(tree))
    words = ["toy.yaml", "--output", "out", "--executor", "serial", "--quiet"]
    if verb:
        assert run.main(words) == 0
    before = {f: f.read_bytes() for f in (here / "out").rglob("*.*")}
    trace.write_text("x,y\n1,2\n")
    assert run.main([*words, *verb]) == 2
    assert "t.csv" in capsys.readouterr().err
    assert {f: f.read_bytes() for f in (here / "out").rglob("*.*")} == before


def test_a_failed_run_is_tried_again_by_resume(here: Path) -> None:
    path = saved(here, sweep=FAILS, workload={"too_long": "error"})
    words = [str(path), "--output", "out", "--executor", "serial", "--quiet"]
    assert run.main(words) == 3
    kept = {file: file.stat().st_mtime_ns for file in (here / "out/runs").iterdir()}
    assert run.main([*words, "--resume"]) == 3
    again = {file: file.stat().st_mtime_ns for file in (here / "out/runs").iterdir()}
    assert sum(kept[file] != again[file] for file in kept) == 1


def test_a_folder_with_a_sweep_is_not_overwritten(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(here, sweep=FEW)
    words = [str(path), "--output", "out", "--executor", "serial", "--quiet"]
    assert run.main(words) == 0
    assert run.main(words) == 2
    assert "'--resume' goes on with it" in capsys.readouterr().err
    (here / "other").mkdir()
    (here / "other/file").touch()
    assert run.main([str(path), "--output", "other", "--quiet"]) == 2
    assert "holds no sweep" in capsys.readouterr().err


def test_a_single_run_does_not_replace_a_sweep(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--output", "out", "--executor", "serial", "--quiet"]
    assert run.main([str(saved(here, sweep=FEW)), *words]) == 0
    before = sorted((here / "out").rglob("*"))
    assert run.main([str(saved(here)), *words]) == 2
    assert "holds a sweep, whose runs would be lost" in capsys.readouterr().err
    assert sorted((here / "out").rglob("*")) == before


def test_a_folder_is_worked_in_by_one_process_at_a_time(here: Path) -> None:
    path = saved(here, sweep=FEW)
    assert not at_work(here / "out")
    with Store(here / "out", resume=False):
        write_json(here / "out/run.json", {})
        assert at_work(here / "out")
        second = ran(path, "--output", "out", "--resume", "--executor", "serial")
    assert second.returncode == 2
    assert "another process works in it" in second.stderr


def test_resume_without_a_folder_takes_the_newest_of_the_same_experiment(here: Path) -> None:
    path = saved(here, sweep=FEW)
    words = [str(path), "--executor", "serial", "--quiet", "--resume"]
    assert run.main(words) == 0
    assert run.main(words) == 0
    assert len(list((here / "reports/toy").iterdir())) == 1
    assert run.main([*words, "--set", "seed=1"]) == 0
    assert len(list((here / "reports/toy").iterdir())) == 2


def test_more_replications_run_only_what_is_new(here: Path) -> None:
    path = saved(here, sweep=FEW)
    words = [str(path), "--executor", "serial", "--quiet", "--output", "out"]
    assert run.main(words) == 0
    before = {file.name: file.stat().st_mtime_ns for file in (here / "out/runs").iterdir()}
    assert run.main([*words, "--resume", "--set", "sweep.replications=4"]) == 0
    after = {file.name: file.stat().st_mtime_ns for file in (here / "out/runs").iterdir()}
    assert len(after) == 12
    assert {name: after[name] for name in before} == before


def test_resume_refuses_the_folder_of_another_experiment(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(saved(here, sweep=FEW)), "--executor", "serial", "--quiet", "--output", "out"]
    assert run.main(words) == 0
    before = {f: f.stat().st_mtime_ns for f in (here / "out").rglob("*.*") if f.name != ".lock"}
    assert run.main([*words, "--resume", "--set", "workload.num_requests=30"]) == 2
    assert "workload.num_requests is 20 there and 30 here" in capsys.readouterr().err
    grid = "sweep.grid={server.max_num_seqs: [1, 2]}"
    assert run.main([*words, "--resume", "--set", grid]) == 2
    assert "[1, 2, 3] there and [1, 2] here" in capsys.readouterr().err
    searched = saved(here, search={"key": "server.max_num_seqs", "find": "best", "among": [1, 2],
                                   "maximize": "concurrency.mean"})  # fmt: skip
    assert run.main([str(searched), *words[1:], "--resume"]) == 2
    assert "search.key is not given there and 'server.max_num_seqs'" in capsys.readouterr().err
    assert {f: f.stat().st_mtime_ns for f in before} == before


def test_dry_run_shows_the_cells_and_the_time_and_writes_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.main([str(saved(here, sweep=FEW)), "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "3 cells, 6 runs:" in printed
    assert "max_num_seqs 2" in printed
    assert "for a run, from pieces of 3 of them" in printed
    assert sorted(path.name for path in here.iterdir()) == ["toy.yaml"]


@pytest.mark.parametrize("option", ["--dry-run", "--resume"])
def test_options_of_sweeps_are_refused_where_there_is_none(
    here: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    words = [str(saved(here)), "--output", "out", "--quiet"]
    assert run.main(words) == 0
    before = (here / "out/run.json").read_text()
    assert run.main([*words, option]) == 2
    assert f"error: {option}: is for experiments with 'sweep'" in capsys.readouterr().err
    assert (here / "out/run.json").read_text() == before
    assert run.main([str(saved(here, sweep=FEW)), "--trace", "--output", "s"]) == 2
    assert "--trace: follows one run" in capsys.readouterr().err


def test_status_tells_how_far_a_sweep_is(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep_main(["status", str(here)]) == 2
    assert "holds no sweep" in capsys.readouterr().err
    path = saved(here, sweep=FAILS, workload={"too_long": "error"})
    assert run.main([str(path), "--output", "out", "--executor", "serial", "--quiet"]) == 3
    next(
        f for f in sorted((here / "out/runs").glob("*.json")) if '"done"' in f.read_text()
    ).unlink()
    assert sweep_main(["status", "out"]) == 0
    printed = capsys.readouterr().out
    assert "toy: 1 of 3 runs done, 1 failed" in printed
    assert "failed: max_model_len 4, replication 0: " in printed
    assert "1 runs are missing: '--resume' goes on" in printed


def test_ctrl_c_keeps_what_is_finished(here: Path) -> None:
    long = {"workload": {"num_requests": 4000}}
    grid = {"grid": {"server.max_model_len": list(range(15, 55))}, "cell_reports": "none"}
    path = saved(here, sweep=grid, **long)
    process = subprocess.Popen(
        command(path, "--output", "out", "--workers", "2"), stderr=subprocess.PIPE, text=True
    )
    _wait_for(here / "out/runs", 3)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    found = summary(here / "out")
    assert found["interrupted"] is True
    done = sum(cell["runs"] for cell in found["cells"])
    assert 3 <= done < 40
    assert f"{done} of 40 runs are done" in (here / "out/report.md").read_text()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kill -9 needs a Unix")
def test_kill_9_at_any_moment_loses_only_the_runs_in_flight(here: Path) -> None:
    grid = {"grid": {"server.max_model_len": list(range(15, 45))}, "cell_reports": "none"}
    path = saved(here, sweep=grid, workload={"num_requests": 500})
    whole = ran(path, "--output", "whole", "--executor", "serial", "--quiet")
    assert whole.returncode == 0
    words = ["--output", "out", "--workers", "2", "--resume", "--quiet"]
    written: dict[str, int] = {}
    for files in (0, 5, 14):
        process = subprocess.Popen(command(path, *words))
        _wait_for(here / "out/runs", files)
        time.sleep(0.07 * files % 0.4)  # anywhere within a run
        process.kill()
        process.wait()
        now = {f.name: f.stat().st_mtime_ns for f in (here / "out/runs").glob("*.json")}
        assert all(json.loads((here / "out/runs" / name).read_text()) for name in now)
        assert {name: now[name] for name in written} == written  # nothing lost, nothing twice
        written = now
    assert ran(path, *words).returncode == 0
    now = {f.name: f.stat().st_mtime_ns for f in (here / "out/runs").glob("*.json")}
    assert {name: now[name] for name in written} == written
    assert table(here / "out") == table(here / "whole")


def test_workers_end_when_the_main_process_is_killed(here: Path) -> None:
    grid = {"grid": {"server.max_model_len": list(range(15, 45))}, "cell_reports": "none"}
    path = saved(here, sweep=grid, workload={"num_requests": 3000})
    process = subprocess.Popen(command(path, "--output", "out", "--workers", "2", "--quiet"))
    _wait_for(here / "out/runs", 1)
    children = _children(process.pid)
    assert children
    process.kill()
    process.wait()
    ends = time.monotonic() + 20
    while any(map(_alive, children)) and time.monotonic() < ends:
        time.sleep(0.05)
    assert not [pid for pid in children if _alive(pid)]


def test_a_worker_that_dies_takes_nobody_with_it(here: Path) -> None:
    """The run that kills its process has failed; those in flight beside it are run again."""
    (here / "deadly.py").write_text(DEADLY)
    policies = ["contiguous", "deadly:Deadly", "paged"]
    grid = {"grid": {"server.policy": policies, "server.max_num_seqs": [1, 2, 3, 4]}}
    path = saved(here, sweep={**grid, "cell_reports": "none"})
    done = subprocess.run(
        command(path, "--output", "out", "--workers", "2"),
        capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PYTHONPATH": str(here)},
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    cells = summary(here / "out")["cells"]
    died = [cell["label"] for cell in cells if not cell["runs"]]
    assert len(died) == 4
    assert all("Deadly" in label for label in died)
    assert "its process died" in done.stderr


DEADLY = """\
import os, signal
class Deadly:
    name = "deadly"
    def __init__(self, *args, **options):
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_unknown_executor_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(here, sweep=FEW)
    assert run.main([str(path), "--executor", "thread"]) == 2
    assert "must be processes, serial or dask://HOST:PORT" in capsys.readouterr().err


def test_intervals_are_over_replications_and_differences_are_paired(here: Path) -> None:
    from wastesim.statistics import of_mean, of_paired
    from wastesim.sweep.plan import plan

    path = saved(here, sweep={**FEW, "replications": 4})
    assert run.main([str(path), "--executor", "serial", "--output", "out", "--quiet"]) == 0
    planned = plan(load_experiment(path))
    name = "concurrency.mean"
    values = [
        [
            json.loads((here / f"out/runs/{task.digest}.json").read_text())["summary"][
                "concurrency"
            ]["mean"]
            for task in planned.of(cell)
        ]
        for cell in planned.cells
    ]
    cells = summary(here / "out")["cells"]
    expected = of_mean(values[1])
    assert cells[1]["numbers"][name] == {
        "estimate": expected.estimate,
        "low": expected.low,
        "high": expected.high,
    }
    assert cells[1]["less_first"][name]["estimate"] == of_paired(values[0], values[1]).estimate
    assert cells[0]["less_first"] == {}


@pytest.mark.parametrize(("measured", "known"), [({}, False), (MEASURED, True)])
def test_a_single_run_has_an_interval_only_of_the_number_that_is_shown(
    here: Path, measured: dict[str, Any], known: bool
) -> None:
    """The steady estimate is another number than that of the whole run, unless it was measured."""
    grid = {"grid": {"server.max_num_seqs": [2, 3]}}
    path = saved(here, sweep=grid, workload=LOADED, **measured)
    assert run.main([str(path), "--executor", "serial", "--output", "out", "--quiet"]) == 0
    for cell in summary(here / "out")["cells"]:
        found = cell["numbers"]["concurrency.mean"]
        assert (found["low"] is not None) == known
        assert not known or found["low"] <= found["estimate"] <= found["high"]
    page = (here / "out/report.md").read_text()
    assert ("numbers are of the whole run and have no intervals" in page) != known


def test_the_only_finished_run_of_several_has_no_interval() -> None:
    """Beside intervals over replications one of batch means would be of another kind."""
    row = {"of": "concurrency.mean", "estimate": 8.0, "low": 7.0, "high": 9.0}
    done = {0: {"concurrency": {"mean": 8.0}, "statistics": {"intervals": [row]}}}
    assert interval(done, "concurrency.mean", 0.95) == (8.0, 7.0, 9.0, 1, 0.95)
    assert interval(done, "concurrency.mean", 0.95, planned=3) == (8.0, None, None, 1, 0.95)


def test_intervals_over_replications_are_of_possible_numbers() -> None:
    shares = {r: {"statistics": {"goodput": {"share": s}}} for r, s in enumerate([0.9, 1.0, 0.2])}
    found = interval(shares, "goodput", 0.95)
    assert (found.low, found.high) == (0.0, 1.0)


def test_saturated_cells_are_counted(here: Path) -> None:
    """Six at once, replies of 5 steps on average: one request a second is served, not three."""
    grid = {"workload.request_rate": [0.2, 3.0]}
    path = saved(here, sweep={"grid": grid, "replications": 2}, workload=LOADED)
    assert run.main([str(path), "--executor", "serial", "--output", "out", "--quiet"]) == 0
    assert [cell["saturated"] for cell in summary(here / "out")["cells"]] == [0, 2]
    assert "1 of 2 cells has saturated runs" in (here / "out/report.md").read_text()


def _wait_for(folder: Path, files: int, most_s: float = 60) -> None:
    ends = time.monotonic() + most_s
    while time.monotonic() < ends:
        if folder.is_dir() and len(list(folder.glob("*.json"))) >= files:
            return
        time.sleep(0.01)
    raise AssertionError(f"{folder} never had {files} files")


def _children(pid: int) -> list[int]:
    if sys.platform != "linux":
        pytest.skip("reads /proc")
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
