"""Malformed traces: one clear error, or rows counted by reason; never a traceback or a silence."""

import gzip
from pathlib import Path

import pytest

from wastesim.errors import InputError
from wastesim.workload import read_trace

CSV = b"arrival_time_s,prompt_tokens,output_tokens\n"
GOOD = b"1,10,20\n"
ROW = '{"arrival_time_s": 1, "prompt_tokens": 10, "output_tokens": 20}'
LINE = ROW.encode() + b"\n"


def line(**changes: str) -> bytes:
    """A JSON line with some values replaced by JSON text."""
    values = {"arrival_time_s": "1", "prompt_tokens": "10", "output_tokens": "20", **changes}
    return ("{" + ", ".join(f'"{key}": {value}' for key, value in values.items()) + "}\n").encode()


#: What is in the file, and the error that says so.
ERRORS = {
    "nothing": (b"", "is empty"),
    "only blanks": (b" \r\n\t\n", "is empty"),
    "only a byte-order mark": (b"\xef\xbb\xbf", "is empty"),
    "a header and no rows": (CSV, ":1: has names of columns but no rows"),
    "no header": (b"1,10,20\n2,10,20\n", "put a line of names above it"),
    "foreign names": (b"a,b\n1,2\n", "columns: 'a', 'b'; known names are prompt_tokens"),
    "no outputs": (b"prompt_tokens\n1\n", "has no column for the output length"),
    "no clock": (b"prompt_tokens,output_tokens\n1,2\n", "has no column of arrival times"),
    "two prompts": (b"input_tokens,prompt_tokens,output_tokens\n1,1,1\n", "more than one column"),
    "one name twice": (b"prompt_tokens,prompt_tokens,output_tokens\n1,1,1\n", "more than one"),
    "a clock without a unit": (
        b"timestamp,prompt_tokens,output_tokens\n12,1,1\n",
        ":2: 'timestamp' (here '12') is no date and its name has no unit",
    ),
    "every row unusable": (CSV + b"1,0,1\n1,1,0\n", "none of 2 rows can be used: prompt_zero 1"),
    "every time a word": (CSV + b"now,1,1\n", "arrival_not_a_time 1 (first at line 2)"),
    "an open quote": (CSV + b'1,"10,20\n2,1,1\n', ":2: the row that starts here is broken"),
    "text behind a quote": (CSV + b'1,"10"x,20\n', ":2: the row that starts here is broken"),
    "a cell without end": (CSV + b"1," + b"9" * 200_000 + b",1\n", ":2: the row that starts here"),
    "zero bytes": (CSV + b"1,1\0,1\n", "is not a text file (it has zero bytes)"),
    "a Parquet file": (b"PAR1\x15\x04", "is a Parquet file"),
    "a spreadsheet": (b"PK\x03\x04\x14\0", "is a ZIP archive or a spreadsheet"),
    "an old spreadsheet": (b"\xd0\xcf\x11\xe0\xa1\xb1", "is an old spreadsheet"),
    "bzip2": (b"BZh91AY&SY", "is compressed with bzip2"),
    "xz": (b"\xfd7zXZ\0\0", "is compressed with xz"),
    "zstd": (b"\x28\xb5\x2f\xfd\0", "is compressed with zstd"),
    "gzip cut short": (gzip.compress(CSV + GOOD * 9999)[:60], "cannot be read"),
    "gzip of nothing": (gzip.compress(b""), "is empty"),
    "gzip with damage": (
        gzip.compress(CSV + GOOD)[:20] + b"\xff\xff\xff" + gzip.compress(CSV + GOOD)[23:],
        "cannot be read",
    ),
    "conversations": (
        b'[{"id": "a", "conversations": [{"from": "human", "value": "hi"}]}]',
        "need a tokenizer",
    ),
    "messages by line": (b'{"messages": [{"role": "user", "content": "hi"}]}\n', "tokenizer"),
    "texts in CSV": (b"prompt,completion\nhi,there\n", "need a tokenizer"),
    "an empty array": (b"[]", "has no row that is a JSON object"),
    "an array of numbers": (b"[1, 2, 3]", "has no row that is a JSON object"),
    "an array cut short": (b"[" + LINE + b"," + LINE[:20], ":2: is broken"),
    "an array with a hole": (b"[" + LINE + b', {"prompt_tokens": }]', ":2: is broken"),
    "no JSON at all": (b"{prompt_tokens: 1}\n", "has no row that is a JSON object"),
    "JSON nested too deep": (b"[" * 100_000, "is broken"),
    "an object without rows": (b'{"a": 1}\n', "has no column for the prompt length"),
    "JSON columns instead of rows": (
        b'{"prompt_tokens": [1, 2], "output_tokens": [1, 2], "arrival_time_s": [1, 2]}',
        "prompt_not_a_number 1",
    ),
}

#: What the rows are, and how they are counted; each file has one good row more.
COUNTED = {
    "zero prompt": (CSV, b"1,0,5\n", "prompt_zero"),
    "negative prompt": (CSV, b"1,-3,5\n", "prompt_negative"),
    "no prompt": (CSV, b"1,,5\n", "prompt_missing"),
    "a blank prompt": (CSV, b"1,  ,5\n", "prompt_missing"),
    "a prompt that is no number": (CSV, b"1,ten,5\n", "prompt_not_a_number"),
    "half a token": (CSV, b"1,2.5,5\n", "prompt_not_whole"),
    "thousands in quotes": (CSV, b'1,"1,234",5\n', "prompt_not_a_number"),
    "a prompt with underscores": (CSV, b"1,1_000,5\n", "prompt_not_a_number"),
    "hexadecimal": (CSV, b"1,0x10,5\n", "prompt_not_a_number"),
    "infinity": (CSV, b"1,inf,5\n", "prompt_not_a_number"),
    "a failed request": (CSV, b"1,5,0\n", "output_zero"),
    "NaN": (CSV, b"1,5,nan\n", "output_missing"),
    "null": (CSV, b"1,5,NULL\n", "output_missing"),
    "beyond 32 bits": (CSV, b"1,5,2147483648\n", "output_too_large"),
    "five thousand digits": (CSV, b"1,5," + b"9" * 5000 + b"\n", "output_too_large"),
    "a huge power": (CSV, b"1,5,1e999999\n", "output_not_a_number"),
    "a negative time": (CSV, b"-1000,5,5\n", "arrival_negative"),
    "no time": (CSV, b",5,5\n", "arrival_missing"),
    "a word for a time": (CSV, b"noon,5,5\n", "arrival_not_a_time"),
    "time without end": (CSV, b"inf,5,5\n", "arrival_not_a_time"),
    "a time beyond 64 bits": (CSV, b"1e20,5,5\n", "arrival_not_a_time"),
    "a row cut short": (CSV, b"1,5\n", "too_few_cells"),
    "a row of nothing": (CSV, b",,\n", "arrival_missing prompt_missing"),
    "a row too long": (CSV, b"1,5,6,7\n", "too_many_cells"),
    "thousands without quotes": (CSV, b"1,1,234,5\n", "too_many_cells"),
    "a second header": (CSV, CSV, "prompt_not_a_number"),
    "a comment": (CSV, b"# end of file\n", "too_few_cells"),
    "bytes that are no text": (CSV, b"1,5\xff,5\n", "prompt_not_a_number"),
    "digits of another script": (CSV, "1,٥x,5\n".encode(), "prompt_not_a_number"),
    "a decimal comma or a thousand": (
        CSV.replace(b",", b";"),
        b"1;1.000;5\n",
        "prompt_ambiguous",
    ),
    "a broken line of JSON": (b"", b'{"prompt_tokens": 5,\n', "malformed_json"),
    "a line that is no object": (b"", b"[1, 5, 5]\n", "not_an_object"),
    "a number for a line": (b"", b"17\n", "not_an_object"),
    "a key that is missing": (
        b"",
        b'{"arrival_time_s": 1, "prompt_tokens": 5}\n',
        "output_missing",
    ),
    "a JSON null": (b"", line(prompt_tokens="null"), "prompt_missing"),
    "a JSON truth": (b"", line(prompt_tokens="true"), "prompt_not_a_number"),
    "a JSON list": (b"", line(prompt_tokens="[5]"), "prompt_not_a_number"),
    "a JSON NaN": (b"", line(output_tokens="NaN"), "output_missing"),
    "a JSON fraction": (b"", line(output_tokens="2.5"), "output_not_whole"),
    "a JSON time below zero": (b"", line(arrival_time_s="-0.5"), "arrival_negative"),
    "half a surrogate": (b"", line(arrival_time_s='"\\ud800"'), "arrival_not_a_time"),
    "JSON digits without end": (b"", line(prompt_tokens="9" * 5000), "malformed_json"),
    "a day that is none": (
        b"TIMESTAMP,ContextTokens,GeneratedTokens\n",
        b"2023-02-30 10:00:00,5,5\n",
        "arrival_not_a_time",
    ),
    "an hour that is none": (
        b"TIMESTAMP,ContextTokens,GeneratedTokens\n",
        b"2023-02-03 25:00:00,5,5\n",
        "arrival_not_a_time",
    ),
    "a number among dates": (
        b"TIMESTAMP,ContextTokens,GeneratedTokens\n",
        b"1700000000,5,5\n",
        "arrival_not_a_time",
    ),
}


def test_the_tables_are_as_long_as_promised() -> None:
    assert len(ERRORS) + len(COUNTED) >= 40


@pytest.mark.parametrize("name", ERRORS)
def test_a_file_that_cannot_be_used_is_one_clear_error(tmp_path: Path, name: str) -> None:
    content, message = ERRORS[name]
    path = tmp_path / "trace.data"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_trace(path, arrivals=True)
    assert len(caught.value.problems) == 1
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def good_row(header: bytes) -> bytes:
    if not header:
        return LINE
    date = header.startswith(b"TIMESTAMP")
    return (b"2023-01-01 00:00:00" if date else b"1") + GOOD[1:].replace(
        b",", b";" if b";" in header else b","
    )


@pytest.mark.parametrize("name", COUNTED)
def test_a_row_that_cannot_be_used_is_counted_by_its_reason(tmp_path: Path, name: str) -> None:
    header, row, reasons = COUNTED[name]
    path = tmp_path / "trace.data"
    path.write_bytes(header + good_row(header) + row + row)
    trace = read_trace(path, arrivals=True)
    assert (trace.prompt.tolist(), trace.output.tolist()) == ([10], [20])
    assert trace.rows == 3
    (reason,) = trace.unusable
    assert reason in reasons.split()
    assert trace.unusable == {reason: 2}
    assert trace.first_line == {reason: 3 if header else 2}


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_trace(tmp_path / "none.csv", arrivals=True)


def test_a_folder_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        read_trace(tmp_path, arrivals=True)
