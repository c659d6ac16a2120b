"""Traces are kept in a few bytes a row, and requests stream."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from wastesim.workload import describe_trace, read_trace

from .workload_helpers import workload

ROWS = 60_000


def peak_bytes(action: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("form", ["csv", "json lines", "json array"])
def test_a_row_costs_less_than_a_hundred_bytes_however_it_is_written(
    tmp_path: Path, form: str
) -> None:
    rows = [(i * 0.01, i % 4000 + 1, i % 900 + 1) for i in range(ROWS)]
    names = ("arrival_time_s", "prompt_tokens", "output_tokens")
    path = tmp_path / "trace"
    if form == "csv":
        lines = [",".join(map(str, row)) for row in (names, *rows)]
        path.write_text("\n".join(lines))
    else:
        items = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
        path.write_text("\n".join(items) if form == "json lines" else "[" + ",\n".join(items) + "]")
    assert peak_bytes(lambda: read_trace(path, arrivals=True)) < 100 * ROWS + 2_000_000


def test_describing_costs_little_more_than_reading(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    rows = "".join(f"{i % 4000 + 1},{i % 900 + 1}\n" for i in range(ROWS))
    path.write_text("prompt_tokens,output_tokens\n" + rows)
    trace = read_trace(path, arrivals=None)
    describe_trace(trace)  # what is imported and cached once
    assert peak_bytes(lambda: describe_trace(trace)) < 150 * ROWS + 2_000_000


def test_requests_stream_in_constant_memory() -> None:
    made = workload(lengths="sharegpt", num_requests=100_000, request_rate=40.0)
    next(made.requests())
    assert peak_bytes(lambda: sum(1 for _ in made.requests())) < 5_000_000
