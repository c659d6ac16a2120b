"""`wastesim run`: what it prints, writes and returns."""

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

EXPERIMENT = """\
model: {layers: 1, hidden: 8, q_heads: 1, kv_heads: 1, head_dim: 1, params: 1000}
gpu: {memory: 4 GiB, bandwidth: 1 GB/s, flops: 1 GFLOP/s}
workload: {lengths: {prompt: 3, output: 4}, num_requests: 5}
server: {max_model_len: 16, kv_cache_memory_bytes: 400}
decode: {engine: none}
clock: {kind: fixed, step_s: 1}
output: {figures: false}
"""
#: Far more work than any test waits for.
LONG = ["--set", "workload={lengths: {prompt: 3, output: 4}, num_requests: 1e6, request_rate: 5}"]
LONG += ["--set", "decode.engine=numpy"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with one experiment in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    return tmp_path


def wastesim_run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "wastesim.run", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def test_a_run_prints_its_answer_and_where_the_report_is(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.main(["e.yaml", "--output", "out"]) == 0
    printed = capsys.readouterr()
    assert "never written" in printed.out
    assert str(Path("out/report.html")) in printed.out
    assert printed.err == ""
    assert summary(here / "out")["requests"]["completed"] == 5


def test_quiet_prints_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["e.yaml", "--output", "out", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_results_go_to_a_folder_of_their_own_each_time(here: Path) -> None:
    for _ in range(2):
        assert run.main(["e.yaml", "--quiet"]) == 0
    digest = load_experiment("e.yaml").digest
    folders = list((here / "reports" / "e").iterdir())
    assert len(folders) == 2
    assert all(digest in folder.name for folder in folders)


def test_the_saved_experiment_runs_to_the_same_summary(here: Path) -> None:
    assert run.main(["e.yaml", "--output", "out", "--seed", "3", "--quiet"]) == 0
    assert run.main(["out/resolved.yaml", "--output", "again", "--quiet"]) == 0
    assert summary(here / "again") == summary(here / "out")


def test_options_replace_keys_of_the_file(here: Path) -> None:
    options = ["--set", "workload.num_requests=2", "--set", "server.max_model_len=20"]
    assert run.main(["e.yaml", *options, "--seed", "9", "--output", "out", "--quiet"]) == 0
    resolved = load_experiment("out/resolved.yaml")
    found = (resolved.workload.num_requests, resolved.server.max_model_len, resolved.seed)
    assert found == (2, 20, 9)


@pytest.mark.parametrize("study", ["allocation", "comparison"])
def test_rows_of_a_trace_that_are_left_out_are_warned_of_once(
    study: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["nan,2", "-3,2", "1.5,2", ",2", "3,2", "4,2"]
    (here / "t.csv").write_text("prompt_tokens,output_tokens\n" + "\n".join(rows) + "\n")
    words = ["--set", "workload={trace: t.csv, request_rate: 1}", "--set", f"study={study}"]
    words += ["--set", "compare=[contiguous, paged]"] if study == "comparison" else []
    assert run.main(["e.yaml", "--output", "out", *words]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        "warning: t.csv: 4 of 6 rows cannot be used: prompt_missing 2 (first at line 2),"
        " prompt_negative 1 (first at line 3), prompt_not_whole 1 (first at line 4)"
    )


@pytest.mark.parametrize("seed", ["-1", "x", "1.5", "1e3", ""])
def test_a_seed_that_is_no_whole_number_is_refused(
    seed: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        run.main(["e.yaml", f"--seed={seed}"])
    assert caught.value.code == 2
    assert f"--seed: must be a whole number >= 0 (got '{seed}')" in capsys.readouterr().err


def test_the_experiment_that_was_read_is_the_one_that_is_saved(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People edit, and delete, the file while a long run is going on."""
    from wastesim import result

    simulate = result.run_one

    def deletes(*given: object) -> object:
        (here / "e.yaml").unlink()
        return simulate(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(result, "run_one", deletes)
    assert run.main(["e.yaml", "--output", "out", "--quiet"]) == 0
    assert (here / "out/experiment.yaml").read_text() == EXPERIMENT


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.yaml"], ["error: none.yaml: cannot be read (No such file or directory)"]),
        (
            ["e.yaml", "--set", "sed=1", "--set", "server.max_num_seqs=0"],
            [
                "error: --set sed: 'sed' is not a known key; did you mean 'seed'?",
                "error: --set server.max_num_seqs: 'server.max_num_seqs' must be >= 1 (got 0)",
            ],
        ),
        (["e.yaml", "--output", "e.yaml"],
         ["error: e.yaml: is a file; name a folder for the results"]),
    ],
)  # fmt: skip
def test_mistakes_are_lines_on_standard_error_and_exit_with_2(
    words: list[str], said: list[str], here: Path
) -> None:
    done = wastesim_run(*words)
    assert done.returncode == 2
    assert done.stderr.splitlines() == said
    assert done.stdout == ""
    assert [path.name for path in here.iterdir()] == ["e.yaml"]


def test_an_interrupt_keeps_what_is_finished_and_says_so(here: Path) -> None:
    command = [sys.executable, "-m", "wastesim.run", "e.yaml", "--output", "out", *LONG]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        while not list(here.glob(".out.partial-*")) and process.poll() is None:
            time.sleep(0.02)
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert b"stopping after this tick; Ctrl-C again to give up everything" in err
    assert b"Traceback" not in err
    found = summary(here / "out")
    assert found["interrupted"] is True
    assert found["requests"]["unfinished"] > 0
    assert json.loads((here / "out/run.json").read_text())["interrupted"] is True
    assert b"stopped" in out
    assert sorted(path.name for path in here.iterdir()) == ["e.yaml", "out"]


INTERRUPTS = """
import os, signal, sys
from wastesim import run
from wastesim.progress import Progress

class Interrupted(Progress):
    ticks = 0

    def tick(self, row):
        super().tick(row)
        self.ticks += 1
        if self.ticks == 3:
            for _ in range({times}):
                os.kill(os.getpid(), signal.SIGINT)

run.Progress = Interrupted
sys.exit(run.main(sys.argv[1:]))
"""


@pytest.mark.parametrize(("times", "kept"), [(1, True), (2, False)])
def test_the_first_interrupt_ends_the_tick_and_the_second_gives_up(
    times: int, kept: bool, here: Path
) -> None:
    words = ["e.yaml", "--output", "out", "--quiet", "--set", "workload.num_requests=50"]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTS.format(times=times), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert ("error: interrupted; the run was given up" in done.stderr) is not kept
    assert (here / "out").exists() is kept
    assert not list(here.glob(".out.*"))
    if kept:
        requests = summary(here / "out")["requests"]
        assert requests["submitted"] == 50
        assert requests["completed"] + requests["unfinished"] == 50


def test_a_closed_terminal_does_not_matter(here: Path) -> None:
    """Standard error may be closed, as it is under some job runners."""
    command = f"{sys.executable} -m wastesim.run e.yaml --output out --quiet 2>&-"
    assert os.waitstatus_to_exitcode(os.system(command)) == 0
    assert (here / "out" / "summary.json").exists()


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        (EXPERIMENT, ["--verify"], "'verify' compares decoded tokens, and nothing is decoded"),
        (EXPERIMENT + "sweep: {grid: {server.max_num_seqs: [1, 2]}}\n", ["--trace"],
         "--trace: follows one run, and a sweep or a search has several"),
        ("study: quality\nmodel: tiny\n", ["--verify"], "and 'study: quality' serves nobody"),
    ],
)  # fmt: skip
def test_what_cannot_be_verified_or_followed_is_refused(
    text: str, words: list[str], said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "e.yaml").write_text(text)
    assert run.main(["e.yaml", *words]) == 2
    assert said in capsys.readouterr().err
    assert [path.name for path in here.iterdir()] == ["e.yaml"]
