"""Very many rows: bounded memory, the same numbers, files as they come."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wastesim import load_experiment, metrics, simulate
from wastesim.errors import ConfigError
from wastesim.records import (
    Facts,
    Limits,
    Recorder,
    Records,
    RequestRow,
    Spill,
    TickRow,
    recorder,
)
from wastesim.records.tick_totals import TickTotals

FACTS = Facts(*["x"] * 7, *[1] * 5, "x", 1.0, 1.0, 1)
CHUNK = 50_000


def some_ticks(rows: int, begin: int = 0) -> dict[str, np.ndarray]:
    moments = np.arange(begin, begin + rows)
    columns = {name: (moments * (7 + k)) % 97 for k, name in enumerate(TickRow._fields)}
    return {**columns, "t_s": moments / 2, "dt_s": np.full(rows, 0.5)}


def some_requests(rows: int, begin: int = 0) -> dict[str, np.ndarray]:
    ids = np.arange(begin, begin + rows)
    texts = dict.fromkeys(("status", "reason"), np.full(rows, "", dtype=object))
    columns = dict.fromkeys(RequestRow._fields, ids % 89 + 1) | texts
    times = {
        "arrival_s": ids / 4,
        "first_token_s": ids / 4 + 1,
        "finished_s": ids / 4 + ids % 13 + 1,
    }
    status = np.where(ids % 50 == 0, "cancelled", "completed").astype(object)
    return {**columns, **times, "request_id": ids, "status": status}


def fed(rows: int, limits: Limits | None = None, spill: Spill | None = None) -> Records:
    found = Recorder(limits=limits, spill=spill)
    for begin in range(0, rows, CHUNK):
        found.ticks(some_ticks(min(CHUNK, rows - begin), begin))
        found.requests(some_requests(min(CHUNK, rows - begin), begin))
    return found.finish(replace(FACTS))


def peak_bytes(rows: int) -> int:
    tracemalloc.start()
    try:
        fed(rows, Limits(50_000, 50_000))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_number_of_rows() -> None:
    one, three = peak_bytes(300_000), peak_bytes(900_000)
    assert three < 120e6
    assert three < 1.1 * one


def test_up_to_the_limit_everything_is_kept() -> None:
    at, beyond = fed(1000, Limits(1000, 1000)), fed(1001, Limits(1000, 2000))
    assert at.streamed is None
    assert len(at.ticks["t_s"]) == len(at.requests["status"]) == 1000
    assert beyond.streamed is not None
    assert metrics.summarize(at)["records"] == {
        "streamed": False, "quantiles_within": None, "sampled_requests": None, "merged_ticks": None,
    }  # fmt: skip


def test_a_streamed_run_says_what_its_numbers_are_made_from() -> None:
    records = fed(100_000, Limits(1000, 1000))
    found = metrics.summarize(records)
    assert found["records"]["streamed"] is True
    assert found["records"]["quantiles_within"] == 0.001
    assert found["records"]["sampled_requests"] == len(records.requests["status"]) <= 32_768
    assert found["records"]["merged_ticks"] == len(records.ticks["t_s"]) <= 16_384
    said = records.facts.explanations[-1]
    assert "100,000 requests and 100,000 ticks are more than are kept in memory" in said
    assert "latency quantiles are within 0.1 %" in said
    assert "single rows were not written" in said
    assert records.requests_per_row == pytest.approx(100_000 / len(records.requests["status"]))


def test_totals_are_those_of_the_run_kept() -> None:
    kept, streamed = fed(200_000, Limits(10**9, 10**9)), fed(200_000, Limits(10, 10))
    ours, theirs = kept.totals, streamed.totals
    for name in ("sums", "step_sums", "peaks", "short", "decoding"):
        assert getattr(ours.ticks, name) == getattr(theirs.ticks, name)
    for name in ("completed", "statuses", "twice_written", "preempted", "generated_tokens"):
        assert getattr(ours.requests, name) == getattr(theirs.requests, name)
    for name, value in ours.ticks.integrals.items():
        assert theirs.ticks.integrals[name] == pytest.approx(value, rel=1e-12)
    for name, values in ours.requests.latencies.items():
        assert theirs.requests.latencies[name].mean() == pytest.approx(values.mean(), rel=1e-12)


def test_sums_are_exact_where_64_bits_are_too_few() -> None:
    ticks = some_ticks(4)
    ticks["flop"] = np.full(4, 2**62)
    totals = TickTotals()
    totals.add(ticks)
    assert totals.sums["flop"] == 2**64


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_rows_are_written_as_they_come(form: str, tmp_path: Path) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    records = fed(200_000, Limits(1000, 1000), Spill(tmp_path / "out", form))
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == [f"requests.{form}", f"spans.{form}", f"ticks.{form}"]
    records.save(tmp_path / "out")
    loaded, kept = Records.load(tmp_path / "out"), fed(200_000, Limits(10**9, 10**9))
    for table in ("requests", "ticks", "spans"):
        for name, values in getattr(kept, table).items():
            np.testing.assert_array_equal(getattr(loaded, table)[name], values, err_msg=name)


def test_files_that_are_elsewhere_are_copied(tmp_path: Path) -> None:
    records = fed(100, Limits(10, 10), Spill(tmp_path / "one", "csv"))
    (tmp_path / "two").mkdir()
    records.save(tmp_path / "two")
    assert len(Records.load(tmp_path / "two").ticks["t_s"]) == 100


def test_what_is_too_long_is_streamed_again_when_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = fed(3000, Limits(10, 10), Spill(tmp_path, "csv"))
    records.save(tmp_path)
    monkeypatch.setattr(recorder, "LIMITS", Limits(1000, 1000))
    loaded = Records.load(tmp_path)
    assert loaded.streamed is not None
    assert loaded.facts.explanations == records.facts.explanations
    assert metrics.summarize(loaded) == metrics.summarize(records)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_kept_run_is_written_in_the_format_that_was_asked_for(
    toy, tmp_path: Path, form: str
) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    records = toy([(0, 2, 3), (0, 40, 1), (0, 3, 2)], cells=20, max_model_len=8).records
    folder = tmp_path / "out"
    folder.mkdir()
    records.save(folder, form)
    assert (folder / f"ticks.{form}").exists()
    loaded = Records.load(folder)
    for table in ("requests", "ticks", "spans"):
        for name, values in getattr(records, table).items():
            np.testing.assert_array_equal(getattr(loaded, table)[name], values, err_msg=name)


def test_parquet_without_pyarrow_is_an_error_that_says_what_to_install(
    toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = toy([(0, 2, 3)], cells=20, max_model_len=8).experiment.to_tree()
    monkeypatch.setattr("wastesim.result.parquet_is_there", lambda: False)
    with pytest.raises(ConfigError, match=r"output\.format.*pip install 'wastesim\[parquet\]'"):
        load_experiment({**tree, "output": {"format": "parquet"}})


def test_goodput_of_a_streamed_run_is_exact(toy, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(k / 3, 3, 1 + k % 5) for k in range(60)]
    kept = toy(rows, cells=16, max_model_len=8, statistics={"goodput": {"e2el_s": 4}})
    monkeypatch.setattr(recorder, "LIMITS", Limits(10, 10))
    streamed = simulate(kept.experiment)
    assert streamed.records.streamed is not None
    assert streamed.summary["statistics"]["goodput"] == kept.summary["statistics"]["goodput"]


def test_importing_the_recorder_imports_no_file_format() -> None:
    code = "import sys, wastesim.records; assert not {'pandas', 'pyarrow'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)
