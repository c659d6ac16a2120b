"""Every metric of docs/metrics.md, worked out by hand on one small run.

Two slots of 8 cells in a pool of 20; one tick is one second::

    request 0   arrives 0, P = 2, O = 3: ticks 0 1 2      written 2 3 4
    request 1   arrives 0, P = 4, O = 1: tick  0          written 4
    request 2   arrives 0, P = 3, O = 2: ticks 1 2        written 3 4 (waits for a slot)
    (nobody: ticks 3, 4)
    request 3   arrives 5, P = 1, O = 2: ticks 5 6        written 1 2
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from wastesim import metrics
from wastesim.records import SHARES, Records

ROWS = [(0, 2, 3), (0, 4, 1), (0, 3, 2), (5, 1, 2)]
DOCS = Path(__file__).parents[1] / "docs" / "metrics.md"


@pytest.fixture
def result(toy):
    return toy(ROWS, cells=20, max_model_len=8)


@pytest.fixture
def summary(result) -> dict:
    return result.summary


def test_written_over_reserved(summary) -> None:
    """Written 6 6 8 1 2, reserved 16 16 16 8 8; time and ticks agree as every tick is 1 s."""
    ratios = summary["memory"]["written_over_reserved"]
    assert ratios["time"] == ratios["step"] == 23 / 64
    assert ratios["at_finish"] == (4 + 4 + 4 + 2) / 32


@pytest.mark.parametrize(
    ("groups", "written", "held"), [([None], 13, 16), ([5], 13 - 8, 8), ([None, 5], 18, 24)]
)
def test_what_windows_let_go_is_neither_written_nor_held(toy, groups, written, held) -> None:
    """10 + 4 - 1 tokens in blocks of 4.  The last one sees tokens 8 to 12: two blocks are gone."""
    server = {"policy": "paged", "block_size": 4, "kv_groups": groups}
    result = toy([(0, 10, 4)], cells=40, max_model_len=20, server=server)
    rows = result.records.requests
    assert (rows["written_cells"][0], rows["reserved_cells"][0]) == (written, held)
    assert rows["stored_tokens"][0] == 13
    assert result.summary["memory"]["written_over_reserved"]["at_finish"] == written / held


def test_who_was_cancelled_held_memory_too(toy) -> None:
    """Both clients leave after a second, when their prompts are stored in slots of 8 cells."""
    rows = [(0, 2, 5), (0, 3, 2)]
    result = toy(rows, cells=20, max_model_len=8, clients={"timeout_s": 1})
    ended = result.records.requests
    assert ended["status"].tolist() == ["cancelled", "cancelled"]
    held, written = ended["reserved_cells"].sum(), ended["written_cells"].sum()
    assert (held, written) == (16, 2 + 3)
    assert result.summary["memory"]["written_over_reserved"]["at_finish"] == 5 / 16


def test_exact_anchors(summary) -> None:
    """sum o (p + (o - 1)/2) = 9 + 4 + 7 + 3 = 23; sum o = 8; sum (p + o - 1) = 14."""
    assert summary["memory"]["exact_anchor"] == {"step": 23 / (8 * 8), "at_finish": 14 / (4 * 8)}


def test_shares_of_the_pool(summary) -> None:
    """Seven seconds, five ticks that ran; request 2 is refused for memory at tick 0 only."""
    written, future = 6 + 6 + 8 + 1 + 2, 2 + 2 + 0 + 1 + 0
    unused = (16 - 8) + (16 - 8) + (16 - 8) + (8 - 2) * 2
    shares = {"written": written, "future": future, "unused": unused, "padding": 0, "stranded": 4}
    step = {**shares, "idle": 4 + 4 + 12 + 12}
    time = {**shares, "idle": 4 + 4 + 2 * 20 + 12 + 12}
    found = summary["memory"]["shares_of_pool"]
    assert found["step"] == pytest.approx({name: cells / 100 for name, cells in step.items()})
    assert found["time"] == pytest.approx({name: cells / 140 for name, cells in time.items()})
    assert sum(found["time"].values()) == pytest.approx(1)


def test_concurrency(summary) -> None:
    """Running 2 2 2 0 0 1 1 over seven seconds; both slots are taken for three of them."""
    found = summary["concurrency"]
    assert found["mean"] == pytest.approx(8 / 7)
    assert found["mean_step"] == pytest.approx(8 / 5)
    assert (found["peak"], found["ceiling"], found["waiting_peak"]) == (2, 2, 1)
    assert found["at_ceiling_share"] == pytest.approx(3 / 7)
    assert found["ceiling_reason"] == "memory: 20 cells hold 2 slots of 8"


def test_the_ceiling_is_max_num_seqs_where_that_is_smaller(toy) -> None:
    found = toy(ROWS, cells=20, max_model_len=8, server={"max_num_seqs": 1}).summary["concurrency"]
    assert found["ceiling"] == 1
    assert found["ceiling_reason"].startswith("max_num_seqs: 1 (memory: 20 cells hold 2 slots")


def test_latency(summary) -> None:
    """First tokens after 1, 1, 2, 1 s; last ones after 3, 1, 3, 2 s."""
    found = summary["latency"]
    assert found["ttft_s"]["mean"] == 5 / 4
    assert found["e2el_s"]["mean"] == 9 / 4
    assert found["tpot_s"]["mean"] == 1.0  # (3 - 1) / 2, (3 - 2) / 1, (2 - 1) / 1; O = 1 has none
    assert found["e2el_s"]["p50"] == 2.5
    assert found["e2el_s"]["p90"] == 3.0
    assert found["ttft_s"]["p99"] == pytest.approx(1 + 0.97)


def test_throughput(summary) -> None:
    """Eight output and ten prompt tokens, four requests, in seven seconds."""
    found = summary["throughput"]
    assert found["output_tokens_per_s"] == 8 / 7
    assert found["total_tokens_per_s"] == 18 / 7
    assert found["requests_per_s"] == 4 / 7


def test_utilization(summary) -> None:
    """1,000 parameters of 2 bytes read in five ticks, 4 bytes a cell; at 1 GB/s for 7 s.

    FLOP: 2,000 a token, 2 * (1 + 1) per context; contexts 3 + 3 + 4, 10, 6 + 4, 1 + 2.
    """
    moved = 5 * 2000 + 4 * 23
    contexts = (1 + 2) + 3 + 4 + (1 + 2 + 3 + 4) + (1 + 2 + 3) + 4 + 1 + 2
    flop = 2000 * (10 + 4) + 4 * contexts
    assert summary["utilization"]["bandwidth"] == pytest.approx(moved / 7e9)
    assert summary["utilization"]["flops"] == pytest.approx(flop / 7e9)


def test_requests_and_time(summary) -> None:
    assert summary["requests"]["submitted"] == summary["requests"]["completed"] == 4
    whole = {"measured_from_s": None, "measured_until_s": None}
    assert summary["time"] == {"horizon_s": 7.0, "ticks": 5, **whole}


def test_scheduling_of_a_run_without_preemption_or_copies(summary) -> None:
    assert summary["scheduling"] == {
        "scheduler": "orca",
        "preemptions": 0,
        "requests_preempted": 0,
        "preemptions_most": 0,
        "recomputed_tokens": 0,
        "copied_tokens": 0,
        "copied_bytes": 0,
        "double_residency_peak_cells": 0,
    }


def test_preemption_costs_what_is_computed_again(toy) -> None:
    """Three blocks of 2. Both requests (P = 2, O = 4) store 2, then grow to two blocks each.

    At tick 1 the first takes the third block; the second, newest, is preempted with one token
    generated. It comes back at tick 4, computes 3 tokens and finishes: 3 - 0 recomputed
    beyond 2 + 4 - 1 are its two prompt tokens.
    """
    server = {"policy": "paged", "block_size": 2}
    result = toy([(0, 2, 4), (0, 2, 4)], cells=6, max_model_len=6, server=server)
    found = result.summary["scheduling"]
    assert found["scheduler"] == "vllm"
    assert found["preemptions"] == found["requests_preempted"] == found["preemptions_most"] == 1
    assert found["recomputed_tokens"] == 2
    assert result.records.ticks["preempted"].tolist() == [0, 1, 0, 0, 0, 0, 0]


def test_growing_by_copying_counts_tokens_and_both_buffers(toy) -> None:
    """Buffers of 2, 4, 8 cells: 2 tokens are copied at the third, 4 at the fifth."""
    server = {"policy": {"claim": "doubling", "place": "first_fit", "start_tokens": 2}}
    result = toy([(0, 2, 6)], cells=14, max_model_len=8, server=server)
    found = result.summary["scheduling"]
    assert (found["copied_tokens"], found["copied_bytes"]) == (2 + 4, 6 * 4)
    assert found["double_residency_peak_cells"] == 4 + 8


def test_fragmentation(toy) -> None:
    """First fit in 10 cells: 4 + 4 held, 2 free; the first ends after 1 s: two free spans."""
    server = {"policy": "first_fit"}
    workload = {"max_tokens": "output"}
    rows = [(0, 3, 1), (0, 2, 2), (0, 6, 1)]
    result = toy(rows, cells=10, max_model_len=10, server=server, workload=workload)
    ticks = result.records.ticks
    assert ticks["largest_free"].tolist() == [2, 4, 3]
    assert ticks["free_spans"].tolist() == [1, 2, 1]
    found = result.summary["memory"]["fragmentation"]
    assert found == {
        "stranded_share_of_time": 2 / 3,
        "largest_free_cells": 3.0,
        "free_spans": 4 / 3,
    }


def test_a_decode_that_is_off_has_no_tokens_and_no_speed(summary) -> None:
    assert summary["decode"] == {
        "engine": "none",
        "tokens": None,
        "wall_s": None,
        "tokens_per_s": None,
    }
    assert summary["counted"] == {"ledger": None, "arrays": None, "pages": None}


def test_anchors_are_undefined_for_a_run_that_was_stopped(result) -> None:
    records = result.records
    status = records.requests["status"].copy()
    status[0] = "unfinished"
    stopped = Records({**records.requests, "status": status}, records.ticks, {}, records.facts)
    assert metrics.exact_anchor(stopped) == {"step": None, "at_finish": None}


def test_a_run_without_a_tick_has_undefined_ratios_not_zeros(toy) -> None:
    summary = toy([(0, 9, 9)], cells=20, max_model_len=8).summary
    assert summary["memory"]["written_over_reserved"] == dict.fromkeys(
        ("time", "step", "at_finish")
    )
    whole = {"measured_from_s": None, "measured_until_s": None}
    assert summary["time"] == {"horizon_s": None, "ticks": 0, **whole}
    assert summary["concurrency"]["mean"] is None


def test_the_summary_is_plain_json_and_flattens_to_dotted_columns(summary) -> None:
    flat = metrics.flat(summary)
    assert flat["memory.written_over_reserved.step"] == 23 / 64
    assert all(not isinstance(value, np.generic | dict | list) for value in flat.values())


def test_every_number_of_the_summary_is_named_in_the_docs(summary) -> None:
    """By its whole key, or by the last part of it in a table under its group's heading."""
    named = set(re.findall(r"[\w.]+", " ".join(re.findall(r"`([^`]+)`", DOCS.read_text()))))
    leaves_of_groups = {"mean", "p50", "p90", "p99"}
    not_metrics = {"schema_version", "name", "policy", "interrupted", "decode.engine"}
    for key in metrics.flat(summary):
        key = re.sub("[.](" + "|".join(SHARES) + ")$", ".NAME", key)
        group, _, leaf = key.rpartition(".")
        known = key if leaf not in leaves_of_groups else group
        if key not in not_metrics and not key.startswith("workload."):
            assert {key, known, leaf} & named, f"{key} is not in docs/metrics.md"
