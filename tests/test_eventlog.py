"""`--trace`: a log that can be read, and checked by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from wastesim import load_experiment
from wastesim.engine import Observer, run
from wastesim.errors import OutputError
from wastesim.eventlog import EventLog
from wastesim.records import RequestRow, TickRow
from wastesim.request import Request
from wastesim.run import main

TREE = {
    "model": {"layers": 1, "hidden": 8, "q_heads": 1, "kv_heads": 1, "head_dim": 1, "params": 1000},
    "gpu": {"memory": "1 GiB", "bandwidth": "1 GB/s", "flops": "1 GFLOP/s"},
    "decode": {"engine": "none"},
    "clock": {"kind": "fixed", "step_s": 1},
}


class Counting(Observer):
    """Counts what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def happened(self, what, t_s: float, request: Request, cells: int) -> None:
        self.told.append(what)

    def request(self, row: RequestRow) -> None:
        self.told.append(row.status)

    def tick(self, row: TickRow) -> None:
        self.told.append("tick")


def log(tmp_path: Path, rows: list[tuple[float, int, int]], *, ticks: bool = False, **more):
    """(lines of the log, what others were told)."""
    trace = tmp_path / "trace.csv"
    text = "".join(f"{arrival},{prompt},{output}\n" for arrival, prompt, output in rows)
    trace.write_text(f"arrival_time_s,prompt_tokens,output_tokens\n{text}")
    server = {"max_model_len": 6, "kv_cache_memory_bytes": 4 * more.pop("cells")}
    tree = TREE | {
        "workload": {"trace": str(trace), **more.pop("workload", {})},
        "server": {**server, **more.pop("server", {})},
        **more,
    }
    others = Counting()
    with EventLog(str(tmp_path / "log.txt"), others, ticks=ticks) as observer:
        run(load_experiment(tree), observer)
    lines = (tmp_path / "log.txt").read_text().splitlines()
    return [" ".join(line.split()) for line in lines], others.told


def test_a_run_by_hand(tmp_path: Path) -> None:
    """Twelve cells, slots of six: the third waits for the first, the fourth is too long."""
    lines, told = log(tmp_path, [(0, 2, 2), (0, 3, 3), (0, 1, 2), (1, 4, 3)], cells=12)
    assert lines == [
        "0.000000 s request 0 arrives: 2 prompt tokens, 2 output tokens",
        "0.000000 s request 1 arrives: 3 prompt tokens, 3 output tokens",
        "0.000000 s request 2 arrives: 1 prompt tokens, 2 output tokens",
        "0.000000 s request 0 is admitted and holds 6 cells",
        "0.000000 s request 1 is admitted and holds 6 cells",
        "1.000000 s request 3 arrives: 4 prompt tokens, 3 output tokens",
        "1.000000 s request 3 is rejected: too long: prompt + output > max_model_len 6",
        "1.000000 s request 0 gets its first token",
        "1.000000 s request 1 gets its first token",
        "2.000000 s request 0 completes after 2 output tokens; 3 of 6 cells written",
        "2.000000 s request 2 is admitted and holds 6 cells",
        "3.000000 s request 1 completes after 3 output tokens; 5 of 6 cells written",
        "3.000000 s request 2 gets its first token",
        "4.000000 s request 2 completes after 2 output tokens; 2 of 6 cells written",
    ]
    assert told.count("tick") == 4
    assert [told.count(what) for what in ("arrived", "admitted", "first_token")] == [4, 3, 3]
    assert [told.count(what) for what in ("completed", "rejected")] == [3, 1]


def test_preemptions_by_hand(tmp_path: Path) -> None:
    """Five cells, token by token: two requests of 4 cells in the end; the later one has to go."""
    lines, told = log(
        tmp_path, [(0, 2, 3), (0, 2, 3)], cells=5, server={"policy": "token"}
    )  # fmt: skip
    assert "1.000000 s request 1 is preempted: its cells are free, and it waits again" in lines
    again = [line for line in lines if "request 1 is admitted" in line]
    assert len(again) == 2
    assert told.count("preempted") == 1
    assert len([line for line in lines if "request 1 gets its first token" in line]) == 1


def test_cancellation_and_declared_limits(tmp_path: Path) -> None:
    lines, _ = log(
        tmp_path, [(0, 2, 4)], cells=6, clients={"timeout_s": 2}, workload={"max_tokens": "output"}
    )  # fmt: skip
    assert lines[0].endswith("arrives: 2 prompt tokens, 4 output tokens, max_tokens 4")
    assert lines[-1] == (
        "2.000000 s request 0 is cancelled after 2 output tokens; 3 of 6 cells written"
    )


def test_ticks_are_lines_when_they_are_asked_for(tmp_path: Path) -> None:
    lines, _ = log(tmp_path, [(0, 2, 1), (3, 2, 1)], cells=6, ticks=True)
    assert [line for line in lines if "tick" in line or "nothing" in line] == [
        "0.000000 s tick of 1.000000 s: 1 of 1 running, 0 waiting; 2 prefill and 0 decode tokens;"
        " cells written 2, future 0, unused 4, padding 0, stranded 0, idle 0",
        "1.000000 s nothing runs for 2.000000 s; 0 waiting",
        "3.000000 s tick of 1.000000 s: 1 of 1 running, 0 waiting; 2 prefill and 0 decode tokens;"
        " cells written 2, future 0, unused 4, padding 0, stranded 0, idle 0",
    ]


def test_a_file_that_cannot_be_written_is_found_out_first(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"none/log\.txt: cannot be written \(No such file"):
        EventLog(str(tmp_path / "none" / "log.txt"), Observer()).__enter__()


def test_a_full_disk_is_one_error() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with pytest.raises(OutputError, match="/dev/full: writing failed"):
        fill()


def fill() -> None:
    with EventLog("/dev/full", Observer()) as log:
        for number in range(10_000):
            log.happened("arrived", 0.0, Request(number, 0.0, 1, 1), 0)


EXPERIMENT = """\
model: {layers: 1, hidden: 8, q_heads: 1, kv_heads: 1, head_dim: 1, params: 1000}
gpu: {memory: 4 GiB, bandwidth: 1 GB/s, flops: 1 GFLOP/s}
workload: {lengths: {prompt: 3, output: 4}, num_requests: 3}
server: {max_model_len: 16, kv_cache_memory_bytes: 400}
decode: {engine: none}
clock: {kind: fixed, step_s: 1}
output: {figures: false}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with one experiment in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    return tmp_path


def test_the_verb_prints_the_log_before_the_answer(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["e.yaml", "--output", "out", "--trace"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("request 0 arrives: 3 prompt tokens, 4 output tokens")
    assert len([line for line in lines if "completes after 4 output tokens" in line]) == 3
    assert "tick of" not in "".join(lines)


def test_the_verb_logs_to_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--output", "out", "--trace", "log.txt", "--trace-ticks", "--quiet"]
    assert main(["e.yaml", *words]) == 0
    assert capsys.readouterr() == ("", "")
    assert (here / "log.txt").read_text().count("tick of") == 4


def test_a_measured_part_is_logged_as_well(here: Path) -> None:
    words = ["--output", "out", "--trace", "log.txt", "--quiet"]
    assert main(["e.yaml", *words, "--set", "measure.until_s=2"]) == 0
    assert (here / "log.txt").read_text().count("is admitted") == 3


def test_a_comparison_has_no_log(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--set", "study=comparison", "--set", "compare=[contiguous, paged]", "--trace"]
    assert main(["e.yaml", *words]) == 2
    assert capsys.readouterr().err.startswith("error: --trace: follows one run")


PIPED = """
import sys
from wastesim.engine import Observer
from wastesim.eventlog import EventLog
from wastesim.request import Request
from wastesim.run import main

with EventLog("-", Observer()) as log:
    for number in range(100_000):
        log.happened("arrived", 0.0, Request(number, 0.0, 1, 1), 0)
print("done", file=sys.stderr)
"""


def test_a_reader_who_goes_away_ends_the_log_and_not_the_run() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PIPED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "request 0 arrives" in process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == "done\n"
    assert process.returncode == 0
