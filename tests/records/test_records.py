"""What a run leaves behind can be read back."""

from __future__ import annotations

import numpy as np
import pytest

from wastesim import metrics
from wastesim.records import Facts, Recorder, Records, TickRow

ROWS = [(0, 2, 3), (0, 40, 1), (0, 3, 2), (5, 1, 2)]


def test_saved_records_give_the_same_summary(toy, tmp_path) -> None:
    result = toy(ROWS, cells=20, max_model_len=8)
    result.records.save(tmp_path)
    assert metrics.summarize(Records.load(tmp_path)).items() <= result.summary.items()


def test_times_and_integers_survive_to_the_last_bit(toy, tmp_path) -> None:
    rows = [(0.1 * k, 3, 5) for k in range(30)]
    records = toy(rows, cells=40, max_model_len=10, clock={"kind": "roofline"}).records
    records.save(tmp_path)
    loaded = Records.load(tmp_path)
    for table in ("requests", "ticks", "spans"):
        for name, values in getattr(records, table).items():
            np.testing.assert_array_equal(getattr(loaded, table)[name], values, err_msg=name)


def test_rejected_and_waiting_requests_have_rows_with_empty_times(toy, tmp_path) -> None:
    toy(ROWS, cells=20, max_model_len=8).records.save(tmp_path)
    lines = (tmp_path / "requests.csv").read_text().splitlines()
    assert lines[2].startswith("1,rejected,too long: prompt + output > max_model_len 8,0.0,40,1,")
    assert lines[2].endswith(",,,,,,")


def test_every_span_held_has_a_row(toy) -> None:
    spans = toy(ROWS, cells=20, max_model_len=8).records.spans
    held = sorted(zip(*(spans[name].tolist() for name in spans), strict=True))
    assert held == [(0, 0, 8, 0.0, 3.0), (2, 8, 16, 0.0, 2.0), (3, 0, 8, 5.0, 7.0)]


@pytest.mark.parametrize("ticks", [0, 1, 8192, 8193])
def test_chunks_of_ticks_are_joined_in_order(ticks: int) -> None:
    recorder = Recorder()
    for k in range(ticks):
        recorder.tick(TickRow(float(k), 1.0, *[k] * (len(TickRow._fields) - 2)))
    records = recorder.finish(Facts(*["x"] * 7, *[1] * 5, "x", 1.0, 1.0, 1))
    assert records.ticks["t_s"].tolist() == [float(k) for k in range(ticks)]
    assert records.ticks["flop"].dtype == np.int64


def test_columns_and_rows_mix_in_the_order_in_which_they_come() -> None:
    recorder, moment = Recorder(), 0
    for rows in (1, 3, 8191, 1, 20_000, 5):
        moments = np.arange(moment, moment + rows)
        moment += rows
        if rows < 5:
            for k in moments.tolist():
                recorder.tick(TickRow(*[k] * len(TickRow._fields)))
        else:
            recorder.ticks(dict.fromkeys(TickRow._fields, moments))
    assert recorder.tick_rows == moment
    records = recorder.finish(Facts(*["x"] * 7, *[1] * 5, "x", 1.0, 1.0, 1))
    for name in TickRow._fields:
        np.testing.assert_array_equal(records.ticks[name], np.arange(moment), err_msg=name)
        assert records.ticks[name].dtype == (np.float64 if name.endswith("_s") else np.int64)
