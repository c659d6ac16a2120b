"""`trace.json` keeps the rules of the Trace Event Format, and tells what the records tell."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wastesim.records import SHARES, Records
from wastesim.report import timeline_lanes
from wastesim.report.timeline import NAME, microseconds, timeline, write_timeline

from .report_runs import run

Event = dict[str, Any]


@cache
def vllm() -> Records:
    """A run of the real engine in which requests are preempted."""
    from wastesim.result import load_experiment, run_one

    tree = {
        "model": "llama-3-8b",
        "gpu": "l4-24gb",
        "workload": {"lengths": "sharegpt", "num_requests": 40, "request_rate": "inf"},
        "server": {
            "policy": "paged",
            "scheduler": "vllm",
            "max_model_len": 2048,
            "kv_cache_memory_bytes": "1 GiB",
        },
        "decode": {"engine": "none"},
    }
    return run_one(load_experiment(tree)).records


RUNS: dict[str, Callable[[], Records]] = {
    "few": run,
    "cut": lambda: run(ticks=20),
    "spaced": lambda: run(gap_s=0.2),
    "preempted": vllm,
}


@pytest.fixture(params=RUNS)
def records(request: pytest.FixtureRequest) -> Records:
    made: Callable[[], Records] = RUNS[request.param]
    return made()


def events(records: Records, phase: str) -> list[Event]:
    return [event for event in timeline(records)["traceEvents"] if event["ph"] == phase]


def tracks(records: Records) -> dict[tuple[int, int], list[Event]]:
    found = defaultdict(list)
    for event in events(records, "X"):
        found[event["pid"], event["tid"]].append(event)
    return found


def test_every_event_has_what_its_kind_needs(records: Records) -> None:
    needed = {"M": {"args"}, "X": {"ts", "dur"}, "C": {"ts", "args"}, "i": {"ts", "s"}}
    for event in timeline(records)["traceEvents"]:
        assert {"ph", "pid", "tid", "name", *needed[event["ph"]]} <= set(event)


def test_times_are_whole_microseconds_and_never_negative(records: Records) -> None:
    for event in timeline(records)["traceEvents"]:
        for key in {"ts", "dur"} & set(event):
            assert isinstance(event[key], int)
            assert event[key] >= 0


def test_slices_of_a_track_nest(records: Records) -> None:
    for slices in tracks(records).values():
        open_until: list[int] = []
        for event in sorted(slices, key=lambda e: (e["ts"], -e["dur"])):
            while open_until and open_until[-1] <= event["ts"]:
                open_until.pop()
            assert not open_until or event["ts"] + event["dur"] <= open_until[-1]
            open_until.append(event["ts"] + event["dur"])


def test_outer_slices_stand_before_those_inside_them(records: Records) -> None:
    for slices in tracks(records).values():
        order = [(event["ts"], -event["dur"]) for event in slices]
        assert order[0] == min(order)


def test_every_track_has_a_name(records: Records) -> None:
    named = {(e["pid"], e["tid"]) for e in events(records, "M") if e["name"] == "thread_name"}
    assert set(tracks(records)) <= named


def test_phases_cover_a_request_from_its_arrival_to_its_end(records: Records) -> None:
    for slices in tracks(records).values():
        whole, *inside = slices
        assert sum(event["dur"] for event in inside) == whole["dur"]


def test_phases_are_the_records(records: Records) -> None:
    rows = records.requests
    for row in np.flatnonzero((rows["status"] == "completed") & (rows["preemptions"] == 0)):
        name = f"request {rows['request_id'][row]}"
        inside = next(s for s in tracks(records).values() if s[0]["name"] == name)[1:]
        begins = {event["name"]: event["ts"] for event in inside}
        assert begins.get("prefill") == microseconds(float(rows["admitted_s"][row]))
        if "decode" in begins:
            assert begins["decode"] == microseconds(float(rows["first_token_s"][row]))


def test_a_preemption_is_a_slice() -> None:
    preempted = vllm()
    assert preempted.requests["preemptions"].sum() > 0
    found = [event for event in events(preempted, "X") if event["name"] == "preempted"]
    assert 0 < len(found) <= preempted.requests["preemptions"].sum()


def test_counters_are_the_ticks(records: Records) -> None:
    cells = [event for event in events(records, "C") if event["name"] == "cells"]
    counts = [event for event in events(records, "C") if event["name"] == "requests"]
    ticks = records.ticks
    assert len(cells) == len(counts) == len(ticks["t_s"]) + 1
    for at in (0, len(cells) // 2, len(cells) - 2):
        assert cells[at]["args"] == {name: ticks[name][at] for name in SHARES}
        assert sum(cells[at]["args"].values()) == records.facts.capacity_cells
        assert counts[at]["args"]["running"] == ticks["running"][at]
    assert [event["ts"] for event in cells] == sorted(event["ts"] for event in cells)


def test_rejected_requests_are_marks_with_their_reason() -> None:
    late = run(((10, 5), (200, 30)))
    assert [(e["name"], e["args"]["reason"][:8]) for e in events(late, "i")] == [
        ("request 1 rejected", "too long")
    ]


def test_many_requests_share_lanes_that_never_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_lanes, "MOST_TRACKS", 3)
    records = vllm()
    lanes = tracks(records)
    assert len(lanes) == records.ticks["running"].max()
    for slices in lanes.values():
        whole = [event for event in slices if event["name"].startswith("request")]
        for one, other in pairwise(whole):
            assert one["ts"] + one["dur"] <= other["ts"]


def test_the_file_is_json_with_an_event_per_line(tmp_path: Path, records: Records) -> None:
    write_timeline(records, tmp_path)
    text = (tmp_path / NAME).read_text(encoding="utf-8")
    found = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert found["traceEvents"] == json.loads(json.dumps(timeline(records)["traceEvents"]))
    assert text.count("\n") == len(found["traceEvents"]) + 2


def test_a_run_without_ticks_is_an_empty_timeline() -> None:
    nothing = timeline(run((), ticks=0))
    assert not [event for event in nothing["traceEvents"] if event["ph"] in "XCi"]
