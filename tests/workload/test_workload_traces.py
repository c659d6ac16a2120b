"""Traces as people have them: every row is used, or counted with its reason."""

from pathlib import Path

import numpy as np
import pytest

from wastesim.config.lengths import TraceColumns, TraceReading
from wastesim.errors import InputError
from wastesim.workload import Trace, read_trace

from .workload_helpers import arrivals, lengths, trace_file, workload

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
GENERIC = "arrival_time_s,prompt_tokens,output_tokens\n"


def read(tmp_path: Path, text: str | bytes, arrivals: bool = True, **options: object) -> Trace:
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_trace(path, arrivals=arrivals, **options)


def pairs(trace: Trace) -> list[tuple[int, int]]:
    return list(zip(trace.prompt.tolist(), trace.output.tolist(), strict=True))


def test_azure_rows_keep_seven_digits_line_ends_and_the_last_row(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        AZURE + "2023-11-16 18:17:03.9799600,4808,10\r\n2023-11-16 18:17:04.0319601,3180,8",
    )
    assert pairs(trace) == [(4808, 10), (3180, 8)]
    assert trace.arrival_s.tolist() == [0.0, 0.0520001]
    assert trace.unusable == {}


def test_generic_rows_may_be_in_any_order_and_ties_keep_theirs(tmp_path: Path) -> None:
    trace = read(tmp_path, GENERIC + "7.5,1,1\n5,2,2\n7.5,3,3\n6,4,4\n")
    assert pairs(trace) == [(2, 2), (4, 4), (1, 1), (3, 3)]
    assert trace.arrival_s.tolist() == [0.0, 1.0, 2.5, 2.5]
    assert any("2 rows came before" in note for note in trace.notes)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1,0,5", "prompt_zero"),
        ("1,-3,5", "prompt_negative"),
        ("1,,5", "prompt_missing"),
        ("1,2.5,5", "prompt_not_whole"),
        ("1,abc,5", "prompt_not_a_number"),
        ("1,5,0", "output_zero"),
        ("1,5,nan", "output_missing"),
        ("1,5,99999999999", "output_too_large"),
        ("-1,5,5", "arrival_negative"),
        (",5,5", "arrival_missing"),
        ("soon,5,5", "arrival_not_a_time"),
        ("inf,5,5", "arrival_not_a_time"),
        ("1,5", "too_few_cells"),
        ("1,5,6,7", "too_many_cells"),
        ('1,"1,234",5', "prompt_not_a_number"),
    ],
)
def test_a_row_that_cannot_be_used_is_counted_with_reason_and_line(
    tmp_path: Path, row: str, reason: str
) -> None:
    trace = read(tmp_path, f"{GENERIC}1,10,20\n{row}\n{row}\n2,30,40\n")
    assert pairs(trace) == [(10, 20), (30, 40)]
    assert trace.unusable == {reason: 2}
    assert trace.first_line == {reason: 3}
    assert trace.rows == 4


def test_whole_numbers_may_be_written_as_floats(tmp_path: Path) -> None:
    assert pairs(read(tmp_path, GENERIC + "1, 12.0 ,1.2e1\n")) == [(12, 12)]


def test_a_file_without_a_usable_row_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, GENERIC + "1,0,5\n1,5,0\n1,0,7\n")
    assert str(caught.value).endswith(
        "t.csv:2: none of 3 rows can be used:"
        " prompt_zero 2 (first at line 2), output_zero 1 (first at line 3)"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (GENERIC, ":1: has names of columns but no rows"),
        ("a,b,c\n1,2,3\n", ":1: has no column for the prompt length; columns: 'a', 'b', 'c'"),
        ("prompt_tokens,b\n1,2\n", "has no column for the output length"),
        ("374,44\n1,2\n", "the first line seems to be data"),
        ("prompt_tokens,output_tokens\n1,2\n", "has no column of arrival times"),
        (
            "prompt_tokens,input_tokens,output_tokens\n1,2,3\n",
            "more than one column for the prompt",
        ),
        ("timestamp,prompt_tokens,output_tokens\n5,1,2\n", "say which with 'time_unit: s'"),
        (GENERIC + '1,"5,5\n2,5,5\n', ":2: the row that starts here is broken"),
    ],
)
def test_a_file_that_cannot_be_read_says_why_and_what_to_do(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)
    assert len(caught.value.problems) == 1


def test_a_missing_file_and_a_folder_are_input_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(InputError):
            read_trace(path, arrivals=False)


def test_foreign_names_are_mapped(tmp_path: Path) -> None:
    text = "when,in,out\n3,1,2\n"
    columns = TraceColumns(prompt="in", output="out", arrival="when")
    trace = read(tmp_path, text, reading=TraceReading(columns=columns, time_unit="s"))
    assert pairs(trace) == [(1, 2)]
    misnamed = TraceReading(columns=TraceColumns(prompt="input", output="out"))
    with pytest.raises(InputError, match="has no column 'input'"):
        read(tmp_path, text, reading=misnamed)


def test_times_are_not_looked_at_when_only_lengths_are_wanted(tmp_path: Path) -> None:
    trace = read(tmp_path, GENERIC + "soon,1,2\n", arrivals=False)
    assert pairs(trace) == [(1, 2)]
    assert trace.arrival_s is None


def test_the_azure_conversation_trace_has_its_published_means() -> None:
    trace = read_trace(trace_file("AzureLLMInferenceTrace_conv.csv"), arrivals=True)
    assert len(trace) == trace.rows == 19_366
    assert round(trace.prompt.mean(), 2) == 1154.70
    assert round(trace.output.mean(), 2) == 211.13
    gaps = np.diff(trace.arrival_s)
    assert trace.arrival_s[-1] == pytest.approx(3501.721937)
    assert gaps.std() / gaps.mean() == pytest.approx(1.0942, abs=1e-3)


def test_a_replay_has_the_rows_as_they_are_with_their_own_arrivals() -> None:
    path = trace_file("AzureLLMInferenceTrace_conv.csv")
    requests = list(workload(trace=str(path)).requests())
    assert len(requests) == 19_366
    assert (requests[0].prompt_tokens, requests[0].output_tokens) == (374, 44)
    assert arrivals(requests)[:2].tolist() == [0.0, 4.314579]
    first = list(workload(trace=str(path), num_requests=300).requests())
    assert np.array_equal(lengths(first), lengths(requests[:300]))


def test_a_replay_may_take_its_arrivals_from_a_rate() -> None:
    path = trace_file("sharegpt_opt_lengths.csv")
    requests = list(workload(trace=str(path), request_rate=50.0, num_requests=9000).requests())
    assert (requests[0].prompt_tokens, requests[0].output_tokens) == (21, 518)
    assert arrivals(requests)[-1] == pytest.approx(180, rel=0.05)


def test_a_trace_shorter_than_asked_for_says_so(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(GENERIC + "1,2,3\n2,0,1\n")
    drawn = workload(trace=str(path), num_requests=10)
    assert len(list(drawn.requests())) == 1
    assert drawn.counts == {"row_prompt_zero": 1}
    assert drawn.notes == [
        "t.csv: 1 of 2 rows cannot be used: prompt_zero 1 (first at line 3)",
        "num_requests is 10, but the trace has 1 rows that can be used",
    ]


def test_resampling_draws_whole_rows_with_replacement(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(GENERIC + "1,2,20\n2,3,30\n2,0,1\n")
    drawn = workload(lengths=str(path), num_requests=10_000)
    prompt, output = lengths(drawn.requests())
    assert set(zip(prompt.tolist(), output.tolist(), strict=True)) == {(2, 20), (3, 30)}
    assert (prompt == 2).mean() == pytest.approx(0.5, abs=0.02)
    assert drawn.counts == {"row_prompt_zero": 1}
