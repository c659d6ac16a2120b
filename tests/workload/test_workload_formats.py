"""Every format and name of public traces is read as its tool wrote it."""

import codecs
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from wastesim.config.lengths import TraceReading
from wastesim.workload import Trace, read_trace

from .workload_helpers import trace_file


def read(tmp_path: Path, content: str | bytes, **options: object) -> Trace:
    path = tmp_path / "trace"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_trace(path, arrivals=True, reading=TraceReading.model_validate(options))


def rows(trace: Trace) -> list[tuple[float, int, int]]:
    columns = trace.arrival_s.tolist(), trace.prompt.tolist(), trace.output.tolist()
    return list(zip(*columns, strict=True))


EXPECTED = [(0.0, 10, 20), (1.5, 30, 40)]


@pytest.mark.parametrize(
    ("header", "first", "second"),
    [
        ("arrival_time_s,prompt_tokens,output_tokens", "2,10,20", "3.5,30,40"),
        (
            "TIMESTAMP,ContextTokens,GeneratedTokens",
            "2023-11-16 23:59:59.0000001,10,20",
            "2023-11-17 00:00:00.5000001,30,40",
        ),
        ("arrived_at,num_prefill_tokens,num_decode_tokens", "2,10,20", "3.5,30,40"),
        ("arrival_timestamp,prompt_size,token_size", "2,10,20", "3.5,30,40"),
        ("input_toks,output_toks,arrival_time_ns", "10,20,2000000000", "30,40,3500000000"),
        ("StartTimeOffset,ContextTokens,GeneratedTokens", "2000000000,10,20", "3500000000,30,40"),
        ("input_tokens,output_tokens,arrival_time_us", "10,20,2000000", "30,40,3500000"),
        (
            "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type",
            "2,ChatGPT,10,20,30,Conversation log",
            "3.5,GPT-4,30,40,70,API log",
        ),
        ("timestamp,input_length,output_length", "2000,10,20", "3500,30,40"),
        ("ARRIVAL-TIME-S , Prompt Tokens,OUTPUT_TOKENS", "2,10,20", "3.5,30,40"),
        ("timestamp,prompt_tokens,output_tokens", "1700000000,10,20", "1700000001.5,30,40"),
        ("timestamp,prompt_tokens,output_tokens", "1700000000000,10,20", "1700000001500,30,40"),
    ],
)
def test_csv_by_the_names_of_its_tool(tmp_path: Path, header: str, first: str, second: str) -> None:
    assert rows(read(tmp_path, f"{header}\n{first}\n{second}\n")) == EXPECTED


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"timestamp": 2000, "input_length": 10, "output_length": 20, "hash_ids": [1]}, None),
        ({"input_toks": 10, "output_toks": 20, "arrival_time_ns": 2_000_000_000}, None),
        ({"StartTimeOffset": 2e9, "ContextTokens": 10, "GeneratedTokens": 20}, None),
        ({"arrival_time_s": "2", "prompt_tokens": "10", "output_tokens": 20.0}, None),
    ],
)
@pytest.mark.parametrize("form", ["lines", "array", "spread array", "document"])
def test_json_by_line_and_in_arrays(tmp_path: Path, first: dict, second: None, form: str) -> None:
    clock = next(key for key in first if "ime" in key)
    later = {key: value for key, value in first.items() if key != "hash_ids"}
    prompt, output = [key for key in later if key != clock][:2]
    later |= {clock: float(first[clock]) * 1.75, prompt: 30, output: 40}
    items = [first, later]
    text = {
        "lines": "\n".join(json.dumps(item) for item in items),
        "array": json.dumps(items),
        "spread array": json.dumps(items, indent=2),
        "document": json.dumps({"meta": {"n": 2}, "requests": items}, indent=1),
    }[form]
    assert rows(read(tmp_path, text)) == EXPECTED


TABLE = "arrival_time_s,prompt_tokens,output_tokens\n2,10,20\n3.5,30,40\n"


@pytest.mark.parametrize(
    "content",
    [
        codecs.BOM_UTF8 + TABLE.encode(),
        TABLE.encode("utf-16"),
        TABLE.replace("\n", "\r\n").encode(),
        TABLE.replace("\n", "\r").encode(),
        TABLE.rstrip().encode(),
        ("\n\n" + TABLE + "\n\n").encode(),
        gzip.compress(TABLE.encode()),
        gzip.compress(codecs.BOM_UTF8 + TABLE.replace("\n", "\r\n").encode()),
        TABLE.replace(",", ";").replace("3.5", "3,5").encode(),
        ("sep=;\n" + TABLE.replace(",", ";").replace("3.5", "3,5")).encode(),
        TABLE.replace(",", "\t").encode(),
        TABLE.replace(",", "|").encode(),
        TABLE.replace("10,20", '"10","20",').encode(),
        TABLE.replace("10,20", "10.0,2e1").encode(),
    ],
    ids=[
        "byte-order mark", "UTF-16", "CRLF", "CR", "no last newline", "blank lines", "gzip",
        "gzip with mark and CRLF", "decimal comma", "a spreadsheet's hint", "tabs", "bars",
        "quotes and a surplus comma", "floats",
    ],
)  # fmt: skip
def test_one_table_in_all_its_dresses(tmp_path: Path, content: bytes) -> None:
    trace = read(tmp_path, content)
    assert rows(trace) == EXPECTED
    assert trace.unusable == {}


@pytest.mark.parametrize(
    ("first", "second", "gap_s"),
    [
        ("2024-05-12 00:00:00.001163+00:00", "2024-05-12 00:00:01+00:00", 0.998837),
        ("2024-05-12T00:00:00Z", "2024-05-12T00:00:00.5Z", 0.5),
        ("2024-05-12 00:00:00+02:00", "2024-05-11 22:00:01Z", 1.0),
        ("2024-05-12 00:00:00+0530", "2024-05-12 00:00:00+05", 1800.0),
        ("2024/5/12 00:00:00", "2024-05-12 00:00:00.1234567891", 0.123456789),
        ("2024-02-28 23:59:59", "2024-03-01 00:00:00", 86401.0),
        ("2024-05-12 00:00:00,25", "2024-05-12 00:00:00,75", 0.5),
    ],
)
def test_dates_with_fractions_and_zones(
    tmp_path: Path, first: str, second: str, gap_s: float
) -> None:
    text = f"TIMESTAMP;ContextTokens;GeneratedTokens\n{first};1;1\n{second};1;1\n"
    assert read(tmp_path, text).arrival_s.tolist() == [0.0, gap_s]


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)])
def test_a_declared_unit_is_used(tmp_path: Path, unit: str, factor: float) -> None:
    text = "timestamp,prompt_tokens,output_tokens\n1000,1,1\n4000,1,1\n"
    assert read(tmp_path, text, time_unit=unit).arrival_s[1] == pytest.approx(3000 * factor)


def test_a_unit_that_was_guessed_from_size_is_said(tmp_path: Path) -> None:
    text = "timestamp,prompt_tokens,output_tokens\n1700000000000,1,1\n"
    assert read(tmp_path, text).notes == (
        "'timestamp' is read as time since 1970 in ms, by its size",
    )


def test_nanoseconds_of_epoch_times_are_not_lost(tmp_path: Path) -> None:
    text = "arrival_time_s,prompt_tokens,output_tokens\n1700000000.000000001,1,1\n1700000000,1,1\n"
    assert read(tmp_path, text).arrival_s.tolist() == [0.0, 1e-9]


def test_an_array_larger_than_what_is_read_at_once(tmp_path: Path) -> None:
    items = [
        {"arrival_time_s": i, "prompt_tokens": i + 1, "output_tokens": 1, "note": "x" * (i % 997)}
        for i in range(3000)
    ]
    trace = read(tmp_path, json.dumps(items, indent=1))
    assert trace.prompt.tolist() == list(range(1, 3001))


def test_lines_are_counted_inside_arrays_too(tmp_path: Path) -> None:
    items = [{"arrival_time_s": 1, "prompt_tokens": p, "output_tokens": 1} for p in (1, 2, 0)]
    trace = read(tmp_path, json.dumps(items, indent=1))
    assert trace.first_line == {"prompt_zero": 12}


@pytest.mark.parametrize(
    ("name", "count", "prompt_mean", "output_mean"),
    [
        ("AzureLLMInferenceTrace_conv.csv", 19_366, 1154.70, 211.13),
        ("AzureLLMInferenceTrace_code.csv", 8_819, 2047.85, 27.88),
        ("mooncake_conversation_trace.jsonl", 12_031, 12_035.06, 342.62),
        ("sharegpt_8k_filtered_stats_llama2_tokenizer.csv", 30_731, 2340.03, 438.71),
        ("sharegpt_opt_lengths.csv", 84_226, 295.60, 358.02),
    ],
)
def test_public_traces_are_read_whole(
    name: str, count: int, prompt_mean: float, output_mean: float
) -> None:
    trace = read_trace(trace_file(name), arrivals=False)
    assert len(trace) == trace.rows == count
    assert round(float(np.mean(trace.prompt)), 2) == prompt_mean
    assert round(float(np.mean(trace.output)), 2) == output_mean
