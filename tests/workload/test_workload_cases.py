"""What practitioners reported of traces, each with the number of its record."""

import codecs
import json
import math
from pathlib import Path

import numpy as np
import pytest

from wastesim.config.lengths import TraceReading
from wastesim.errors import InputError
from wastesim.workload import describe_trace, read_trace

from .workload_helpers import arrivals, lengths, trace_file, workload

CODE = "AzureLLMInferenceTrace_code.csv"
MOONCAKE = "mooncake_conversation_trace.jsonl"


def write(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "trace"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_s12_almost_half_of_mooncake_is_too_long_for_8192_and_is_counted() -> None:
    limit = describe_trace(read_trace(trace_file(MOONCAKE), arrivals=True), (8192,)).limits[0]
    assert (limit.fitting, limit.too_long) == (6461, 5570)
    assert 100 * limit.too_long_share == pytest.approx(46.2971, abs=1e-4)


def test_s12_no_over_long_request_disappears_from_the_stream() -> None:
    requests = workload(trace=str(trace_file(MOONCAKE))).requests()
    assert sum(r.total_tokens > 8192 for r in requests) == 5570


def test_r01_azure_code_is_read_to_its_last_row_with_all_digits() -> None:
    path = trace_file(CODE)
    raw = path.read_bytes()
    assert b"\r\n" in raw
    assert not raw.endswith(b"\n")
    trace = read_trace(path, arrivals=True)
    assert len(trace) == 8819
    assert (trace.prompt.min(), trace.prompt.max()) == (3, 7437)
    assert (trace.output.min(), trace.output.max()) == (6, 1899)
    assert trace.prompt.sum(dtype=np.int64) == 18_059_974
    assert trace.output.sum(dtype=np.int64) == 245_896
    assert trace.arrival_s[1] == pytest.approx(0.052, abs=1e-9)


def test_r01_and_r18_reservations_of_azure_code_when_requests_finish() -> None:
    limits = (2048, 4096, 8192)
    found = describe_trace(read_trace(trace_file(CODE), arrivals=True), limits).limits
    # the records count P + O cells, one per request more than are ever stored
    assert [limit.fitting for limit in found] == [5452, 7562, 8819]
    assert found[1].too_long == 1257
    assert [limit.contiguous_at_finish for limit in found] == pytest.approx(
        [0.4186, 0.3419, 0.2534], abs=6e-4
    )
    assert [limit.power_of_two_at_finish for limit in found] == pytest.approx(
        [0.7333, 0.7052, 0.7231], abs=6e-4
    )
    assert [limit.paged_at_finish for limit in found] == pytest.approx(
        [0.9913, 0.9946, 0.9963], abs=6e-4
    )


def test_r03_a_column_may_mix_fractions_and_zones(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2024-05-12 00:00:00.001163+00:00,1,1\n"
        "2024-05-12 00:00:00+00:00,2,2\n",
    )
    trace = read_trace(path, arrivals=True)
    assert trace.unusable == {}
    assert trace.prompt.tolist() == [2, 1]
    assert trace.arrival_s.tolist() == [0.0, 0.001163]


def test_r04_failed_requests_of_burstgpt_are_counted(tmp_path: Path) -> None:
    header = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    rows = "".join(
        f"{t},ChatGPT,{100 + t},{0 if t % 50 == 7 else 60},1,Conversation log\n" for t in range(100)
    )
    made = workload(trace=str(write(tmp_path, header + rows)))
    assert len(list(made.requests())) == 98
    assert made.counts == {"row_output_zero": 2}
    assert "first at line 9" in made.notes[0]


def test_r04_a_slice_from_a_quiet_start_is_remarked_on(tmp_path: Path) -> None:
    head, steady = np.arange(0, 72_000, 1 / 0.0343), 72_000 + np.arange(20_000) / 3.1713
    rows = "".join(f"{t:.3f},1,1\n" for t in [*head, *steady])
    path = write(tmp_path, "Timestamp,Request tokens,Response tokens\n" + rows)
    (note,) = workload(trace=str(path), num_requests=2000).notes
    assert "they do not stand for the trace; choose others with 'from_s'" in note
    later = workload(trace=str(path), from_s=72_000, num_requests=2000)
    assert len(list(later.requests())) / arrivals(later.requests())[-1] == pytest.approx(
        3.1713, rel=1e-3
    )


def test_r06_mooncake_is_in_milliseconds_and_comes_in_batches() -> None:
    path = trace_file(MOONCAKE)
    trace = read_trace(path, arrivals=True)
    assert len(trace) == 12_031
    assert trace.arrival_s[-1] == 3536.999
    assert (trace.prompt.min(), trace.prompt.max()) == (891, 126_195)
    assert (trace.output.min(), trace.output.max()) == (1, 2000)
    times, counts = np.unique(trace.arrival_s, return_counts=True)
    assert (len(times), counts.max()) == (1180, 28)
    assert round(trace.prompt.mean(), 2) == 12_035.06
    assert round(trace.output.mean(), 2) == 342.62
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert trace.prompt.tolist() == [row["input_length"] for row in rows]  # ties keep their order


def test_r06_hash_ids_are_ignored_and_the_report_says_so() -> None:
    made = workload(trace=str(trace_file(MOONCAKE)))
    assert made.notes == [
        f"{MOONCAKE}: prefix sharing is not modelled: 'hash_ids' are ignored"
    ]  # and no row disagrees with its length


def test_r06_waste_of_mooncake() -> None:
    found = describe_trace(read_trace(trace_file(MOONCAKE), arrivals=True), (32_768, 131_072))
    assert found.limits[0].fitting == 11_185
    limit = found.limits[1]
    assert limit.contiguous_at_finish == pytest.approx(0.0944, abs=1e-4)
    assert limit.power_of_two_at_finish == pytest.approx(0.6964, abs=1e-4)
    assert limit.paged_at_finish == pytest.approx(0.9994, abs=1e-4)


@pytest.mark.parametrize(("block", "odd"), [(None, True), (16, False), (15, False), (10, False)])
def test_r08_hash_ids_that_do_not_fit_the_length_are_remarked_on(
    tmp_path: Path, block: int | None, odd: bool
) -> None:
    row = {"timestamp": 0, "input_length": 20, "output_length": 5, "hash_ids": [0, 1]}
    path = write(tmp_path, json.dumps(row))
    reading = TraceReading(hash_block_tokens=block)
    trace = read_trace(path, arrivals=True, reading=reading)
    assert math.ceil(20 / (block or 512)) == (1 if odd else 2)
    assert any("1 rows (first at line 1) have more or fewer" in n for n in trace.notes) == odd


def test_r10_a_byte_order_mark_does_not_hide_the_first_name(tmp_path: Path) -> None:
    text = codecs.BOM_UTF8 + b"prompt_tokens,output_tokens\n3,4\n"
    path = write(tmp_path, text)
    assert len(read_trace(path, arrivals=False)) == 1
    requests = list(workload(lengths=str(path), num_requests=1).requests())
    assert (requests[0].prompt_tokens, requests[0].output_tokens) == (3, 4)


def test_r10_an_error_names_the_columns_that_were_seen(tmp_path: Path) -> None:
    path = write(tmp_path, codecs.BOM_UTF8 + b"in,out\n3,4\n")
    with pytest.raises(InputError, match="columns: 'in', 'out'"):
        read_trace(path, arrivals=False)


def test_r12_zero_and_negative_values_are_counted_with_their_lines(tmp_path: Path) -> None:
    rows = "1,0,5\n2,-3,5\n-1000,5,5\n4,5,5\n"
    path = write(tmp_path, "arrival_time_s,prompt_tokens,output_tokens\n" + rows)
    trace = read_trace(path, arrivals=True)
    assert len(trace) == 1
    assert trace.first_line == {"prompt_zero": 2, "prompt_negative": 3, "arrival_negative": 4}


def test_r15_conversations_are_an_error_that_says_what_is_needed(tmp_path: Path) -> None:
    turns = [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}] * 3
    path = write(tmp_path, json.dumps([{"id": "x", "conversations": turns}]))
    with pytest.raises(InputError, match="need a tokenizer"):
        workload(trace=str(path))


def test_r15_long_requests_do_not_vanish(tmp_path: Path) -> None:
    rows = "5000,100\n10,5000\n10,10\n"
    path = write(tmp_path, "prompt_tokens,output_tokens\n" + rows)
    requests = list(workload(trace=str(path), request_rate=1.0).requests())
    assert [r.total_tokens for r in requests] == [5100, 5010, 20]


def test_r16_no_default_limit_cuts_the_outputs_of_a_trace(tmp_path: Path) -> None:
    rows = "".join(f"{i},10,{output}\n" for i, output in enumerate((20, 500, 4)))
    path = write(tmp_path, "arrival_time_s,prompt_tokens,output_tokens\n" + rows)
    for limit in (None, 16, "output"):
        made = workload(trace=str(path), max_tokens=limit)
        assert lengths(made.requests())[1].tolist() == [20, 500, 4]
