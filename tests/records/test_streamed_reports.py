"""What a reader sees of a run that was too long to keep, from the command line to the pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wastesim import load_experiment, metrics, run
from wastesim.records import Limits, Records, recorder
from wastesim.records.sample import Sample
from wastesim.report.__main__ import main as rebuild
from wastesim.result import run_one
from wastesim.statistics import twins

FILE = """
model: llama-3-8b
gpu: a100-sxm-80gb
workload: {lengths: {prompt: 30, output: 12}, num_requests: 90, request_rate: 20}
server: {max_model_len: 64}
decode: {engine: none}
"""
COMPARED = FILE + "study: comparison\ncompare: [contiguous, paged]\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recorder, "LIMITS", Limits(20, 40, 10))
    monkeypatch.setattr("wastesim.studies.parallel.usual_workers", lambda experiment: 1)
    (tmp_path / "e.yaml").write_text(FILE)
    (tmp_path / "c.yaml").write_text(COMPARED)
    return tmp_path


def test_terminal_and_pages_say_that_the_run_was_streamed(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.main(["e.yaml", "--output", "out", "--set", "output.format=csv"]) == 0
    said = "This run was too long to keep: its numbers are of all of it, latency quantiles within"
    assert said in capsys.readouterr().out
    page = (here / "out" / "report.md").read_text()
    assert said in page
    assert "all rows are in requests.csv, spans.csv, ticks.csv" in page
    assert "Requests are a sample: 90 drawn evenly from 90." in page
    assert "| latency quantiles within | 0.1 % |" in page
    assert json.loads((here / "out" / "summary.json").read_text())["records"]["streamed"] is True


@pytest.mark.parametrize("kind", ["full", "none"])
def test_the_page_tells_of_no_map_that_there_is_not(
    here: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr("wastesim.engine.spanlog.MOST_ROWS", 30)
    words = ["e.yaml", "--output", "out", "--quiet", "--set", f"output.records={kind}"]
    assert run.main(words) == 0
    page = (here / "out/report.md").read_text()
    assert "the memory map has" not in page
    assert ("the file of spans has the first" in page) == (kind == "full")


def test_without_rows_there_is_no_timeline_of_rows(here: Path) -> None:
    for kind in ("full", "none"):
        words = ["e.yaml", "--output", kind, "--quiet", "--set", f"output.records={kind}"]
        assert run.main(words) == 0
    assert (here / "full/trace.json").exists()
    assert not (here / "none/trace.json").exists()
    assert (here / "none/explorer.html").exists()


def test_its_files_are_in_the_folder_and_can_be_read(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.main(["e.yaml", "--output", "out", "--quiet", "--set", "output.format=csv"])
    names = {path.name for path in (here / "out").iterdir()}
    assert {"requests.csv", "ticks.csv", "spans.csv", "facts.json"} <= names
    monkeypatch.undo()
    loaded = Records.load(here / "out")
    kept = run_one(load_experiment(here / "e.yaml"))
    assert loaded.streamed is None
    ours, theirs = metrics.summarize(loaded), kept.summary
    assert all(ours[name] == theirs[name] for name in ("memory", "requests", "latency", "time"))


def test_without_records_nothing_is_written_but_the_summary(here: Path) -> None:
    run.main(["e.yaml", "--output", "out", "--quiet", "--set", "output.records=none"])
    names = {path.name for path in (here / "out").iterdir()}
    assert not {name for name in names if name.startswith(("requests.", "ticks.", "spans."))}
    assert "single rows were not written" in (here / "out" / "report.md").read_text()


def test_a_report_is_rebuilt_from_its_files(here: Path) -> None:
    run.main(["e.yaml", "--output", "out", "--quiet", "--set", "output.format=csv"])
    before = (here / "out" / "report.md").read_text()
    assert rebuild(["out"]) == 0
    assert (here / "out" / "report.md").read_text() == before


def test_each_variant_of_a_comparison_has_its_own_files(here: Path) -> None:
    run.main(["c.yaml", "--output", "out", "--quiet", "--set", "output.format=csv"])
    for name in ("contiguous", "paged"):
        loaded = Records.load(here / "out" / "variants" / name)
        assert loaded.totals.requests.submitted == 90
    assert (here / "out" / "report.html").exists()


def test_a_comparison_of_samples_says_that_its_means_are_of_samples(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wastesim.records.stream.Sample", lambda: Sample(20))
    streamed = run_one(load_experiment(here / "e.yaml")).records
    assert streamed.requests_per_row > 1
    how = twins.differences(streamed, streamed)[0].how
    assert how.endswith("both completed, drawn from all and paired; summaries are of all")


def test_a_streamed_run_is_paired_with_a_kept_one_by_its_sample(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    streamed = run_one(load_experiment(here / "e.yaml")).records
    monkeypatch.undo()
    kept = run_one(load_experiment(here / "e.yaml")).records
    assert streamed.streamed is not None
    assert twins.same_requests(kept, streamed)
    found = twins.differences(kept, streamed)
    assert found
    assert all(each.found.estimate == pytest.approx(0, abs=1e-9) for each in found)
    assert "90 requests that both completed" in found[0].how
