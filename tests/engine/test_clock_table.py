"""Measured step times: exact where measured, straight between, counted beyond."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wastesim.engine.clock import TableClock
from wastesim.engine.clock_steps import MeasuredStep, read_steps
from wastesim.engine.clock_table import StepTable
from wastesim.engine.cost import Cost, CostModel
from wastesim.errors import InputError

GRID = """\
decode_requests,kv_tokens,prefill_tokens,step_s
1,100,0,0.010
1,1000,0,0.011
8,800,0,0.012
8,8000,0,0.020
8,800,512,0.052
8,800,2048,0.152
0,0,512,0.050
0,0,2048,0.140
"""


def table(tmp_path: Path, text: str = GRID) -> StepTable:
    path = tmp_path / "steps.csv"
    path.write_text(text)
    return StepTable.of(read_steps(path))


def seconds(found: StepTable, *work: int) -> float:
    return found.at(*work).picoseconds / 1e12


def test_every_measured_step_comes_out_as_it_was_measured(tmp_path: Path) -> None:
    found = table(tmp_path)
    for row in GRID.splitlines()[1:]:
        *work, time = row.split(",")
        reading = found.at(*map(int, work))
        assert reading.picoseconds == round(float(time) * 1e12)
        assert reading.beyond == ()


def test_lines_are_straight_over_kv_tokens_and_over_requests(tmp_path: Path) -> None:
    found = table(tmp_path)
    assert seconds(found, 1, 550, 0) == 0.0105  # half way along the line of 1
    assert seconds(found, 8, 4400, 0) == 0.016
    # 4.5 requests: the range is 450 to 4,500 KV tokens, and each end half way between the lines
    assert seconds(found, 2, 200, 0) == pytest.approx(0.010 + 0.002 / 7)
    assert found.at(4, 4000, 0).beyond == ()
    assert found.at(4, 4001, 0).beyond == ("kv_tokens",)


def test_prefill_adds_a_term_of_its_own(tmp_path: Path) -> None:
    found = table(tmp_path)
    assert seconds(found, 8, 4400, 512) == pytest.approx(0.016 + 0.040)
    assert seconds(found, 8, 800, 1280) == pytest.approx(0.012 + (0.040 + 0.140) / 2)
    assert seconds(found, 1, 100, 256) == pytest.approx(0.010 + 0.020)
    assert seconds(found, 0, 0, 1280) == pytest.approx(0.095)


def test_without_mixed_rows_prefill_adds_what_it_takes_beyond_its_base(tmp_path: Path) -> None:
    """Alone: 20 ms + 60 ns per token, so 512 tokens add what lies above the 20 ms."""
    rows = [row for row in GRID.splitlines() if not row.startswith("8,800,")]
    found = table(tmp_path, "\n".join([*rows, "8,800,0,0.012"]))
    slope = (0.140 - 0.050) / (2048 - 512)
    assert seconds(found, 1, 100, 512) == pytest.approx(0.010 + 512 * slope)


def test_without_prefill_rows_prefill_is_free_and_counted(tmp_path: Path) -> None:
    rows = [row for row in GRID.splitlines() if row.split(",")[2] in ("0", "prefill_tokens")]
    found = table(tmp_path, "\n".join(rows))
    assert found.at(0, 0, 99) == (10_000_000_000, ("prefill_tokens",))
    assert found.at(1, 100, 99) == (10_000_000_000, ("prefill_tokens",))


@pytest.mark.parametrize(
    ("work", "time_s", "beyond"),
    [
        ((8, 9000, 0), 0.020 + 1000 * 0.008 / 7200, ("kv_tokens",)),
        ((16, 1600, 0), 0.012 + 8 * 0.002 / 7, ("decode_requests",)),
        ((8, 800, 4096), 0.012 + 0.140 + 2048 * 0.100 / 1536, ("prefill_tokens",)),
        ((1, 1, 0), 0.010, ("kv_tokens",)),  # the line goes below the shortest step
        ((16, 1, 0), 0.012 + 8 * 0.002 / 7 - 1599 * 0.016 / 14400,
         ("decode_requests", "kv_tokens")),
    ],
)  # fmt: skip
def test_beyond_the_edges_lines_go_on_and_it_is_said(
    work: tuple[int, int, int], time_s: float, beyond: tuple[str, ...], tmp_path: Path
) -> None:
    found = table(tmp_path).at(*work)
    assert found.picoseconds / 1e12 == pytest.approx(time_s, rel=1e-6)
    assert found.beyond == beyond


@given(
    coefficients=st.tuples(*[st.integers(0, 10**6)] * 3),
    contexts=st.sampled_from([(1, 500), (10, 20, 4000)]),
    requests=st.integers(1, 64),
    share=st.floats(0, 1),
)
def test_a_time_that_is_linear_is_met_on_a_grid_of_contexts(
    coefficients: tuple[int, int, int], contexts: tuple[int, ...], requests: int, share: float
) -> None:
    """Rows at requests x context, as benchmarks have them: no row is beyond the fan."""
    base, each, per_token = coefficients

    def time_s(batch: int, kv: int) -> float:
        return (1e9 + base + each * batch + per_token * kv) / 1e12

    rows = [(batch, batch * context) for batch in (1, 4, 32, 64) for context in contexts]
    found = StepTable.of([MeasuredStep(2, b, kv, 0, time_s(b, kv)) for b, kv in rows])
    kv = round(requests * (contexts[0] + share * (contexts[-1] - contexts[0])))
    reading = found.at(requests, kv, 0)
    assert reading.beyond == ()
    assert reading.picoseconds == pytest.approx(time_s(requests, kv) * 1e12, rel=1e-9, abs=1)


def test_one_row_is_a_table(tmp_path: Path) -> None:
    found = table(tmp_path, "batch,kv_tokens,step_ms\n4,400,20\n")
    assert found.at(4, 400, 0) == (20_000_000_000, ())
    assert found.at(5, 401, 0) == (20_000_000_000, ("decode_requests", "kv_tokens"))


def test_a_table_clock_totals_whole_picoseconds_and_converts_once(tmp_path: Path) -> None:
    clock = TableClock(table(tmp_path), "steps.csv")
    assert clock.start(2.5) == 2.5
    for _ in range(7):
        ends_s = clock.after(Cost(0, 0, 1, 100, 0), 9.0)
    assert ends_s == 2.5 + 0.07
    assert clock.after(Cost(0, 0), 9.0) == ends_s  # nothing ran
    assert clock.start(9.0) == 9.0
    assert clock.after(Cost(0, 0, 1, 1000, 0), 0.0) == 9.011


def test_a_table_clock_says_how_often_it_went_beyond(tmp_path: Path) -> None:
    clock = TableClock(table(tmp_path), "steps.csv")
    clock.after(Cost(0, 0, 1, 100, 0), 0.0)
    assert clock.explain().endswith("steps of steps.csv; all 1 ticks lie within them")
    clock.after(Cost(0, 0, 9, 100, 9999), 0.0)
    clock.after(Cost(0, 0, 9, 900, 0), 0.0)
    assert "2 of 3 ticks lie beyond them (decode_requests 2, kv_tokens 1, prefill_tokens 1)" in (
        clock.explain()
    )


def test_a_run_with_a_table_by_hand(toy, tmp_path: Path) -> None:
    """P = 2, O = 3: a prefill of 2, then decodes upon 2 and 3 stored tokens."""
    (tmp_path / "steps.csv").write_text(
        "decode_requests,kv_tokens,prefill_tokens,step_ms\n1,2,0,100\n1,3,0,200\n0,0,2,1000\n"
    )
    clock = {"kind": "table", "file": str(tmp_path / "steps.csv")}
    result = toy([(5, 2, 3)], cells=8, max_model_len=8, clock=clock)
    assert result.requests()["finished_s"].tolist() == [1.3]
    assert result.requests()["first_token_s"].tolist() == [1.0]
    assert any("steps.csv; all 3 ticks" in line for line in result.records.facts.explanations)
    assert result.records.facts.clock == "table"


def test_what_a_tick_is_asked_for(toy) -> None:
    """A last piece of one prompt token upon stored ones takes as long as a decode."""
    model = CostModel(0, 0, 0, 0)
    assert model.of([(0, 7), (5, 1), (9, 1), (4, 3)])[2:] == (2, 14, 10)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ":1: is empty"),
        ("# only this\n\n", ":1: is empty"),
        ("kv_tokens,step_s\n1,1\n", ":1: has no column 'decode_requests'; columns: kv_tokens"),
        ("batch,step_s\n1,1\n", ":1: has no column 'kv_tokens'; columns: batch, step_s"),
        ("batch,running,kv_tokens,step_s\n", "more than one column for decode_requests: 'batch'"),
        ("batch,kv_tokens\n1,1\n", ":1: must have one column of times, such as 'step_s' or"),
        ("batch,kv_tokens,step_s,step_ms\n", "(more than one: 'step_s', 'step_ms')"),
        ("batch,kv_tokens,step_time_min\n", "'step_time_min' must end in a unit: _s, _ms, _us"),
        ("batch,kv_tokens,step_s\n1,1\n", ":2: has 2 cells, fewer than the first line has names"),
        ("batch,kv_tokens,step_s\n1,x,1\n", ":2: 'kv_tokens' must be a whole number >= 0 (got 'x"),
        ("batch,kv_tokens,step_s\n1.5,9,1\n", ":2: 'decode_requests' must be a whole number"),
        ("batch,kv_tokens,step_s\n-1,9,1\n", ":2: 'decode_requests' must be a whole number"),
        ("batch,kv_tokens,step_s\n1,nan,1\n", ":2: 'kv_tokens' must be a whole number"),
        ("batch,kv_tokens,step_s\n1,9,0\n", ":2: the step's time must be a number > 0 (got '0')"),
        ("batch,kv_tokens,step_s\n1,9,inf\n", ":2: the step's time must be a number > 0"),
        ("batch,kv_tokens,step_s\n0,0,1\n", ":2: must have decode_requests or prefill_tokens"),
        ("batch,kv_tokens,prefill_tokens,step_s\n0,4,4,1\n", ":2: 'kv_tokens' are those of"),
        ("batch,kv_tokens,step_s\n4,3,1\n", ":2: 'kv_tokens' must be at least 1 for each"),
        ("batch,kv_tokens,step_s\n4,8,1\n\n4,8,2\n", ":4: is the same work as line 2; keep one"),
        ("batch,kv_tokens,prefill_tokens,step_s\n0,0,4,1\n", ":1: must have a row that decodes"),
    ],
)
def test_tables_that_cannot_be_used(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        table(tmp_path, text)
    assert said in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "steps.csv"))


def test_all_bad_rows_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        table(tmp_path, "batch,kv_tokens,step_s\n1,x,1\n1,9,0\n")
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(
    ("unit", "time"), [("s", "0.25"), ("ms", "250"), ("us", "250000"), ("ns", "2.5e8")]
)
def test_times_carry_their_unit_in_the_name(unit: str, time: str, tmp_path: Path) -> None:
    found = table(tmp_path, f"# measured\nBatch Size,KV tokens,latency_{unit}\r\n2,9,{time}\r\n")
    assert found.at(2, 9, 0).picoseconds == 250_000_000_000


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: cannot be read \(No such file"):
        read_steps(tmp_path / "none.csv")
