"""The tick, worked out by hand on a toy server: one tick is one second."""

from __future__ import annotations

import numpy as np
import pytest

from wastesim.errors import InputError
from wastesim.records import SHARES


def columns(result, *names: str) -> list[tuple]:
    """Chosen columns of the ticks, row by row."""
    ticks = result.records.ticks
    return [tuple(row) for row in zip(*(ticks[name].tolist() for name in names), strict=True)]


def request_rows(result, *names: str) -> list[tuple]:
    rows = result.records.requests
    return [tuple(row) for row in zip(*(rows[name].tolist() for name in names), strict=True)]


def test_one_request_writes_its_prompt_then_a_cell_per_tick(toy) -> None:
    """P = 3, O = 4: four ticks, written 3, 4, 5, 6; the fourth token is never stored."""
    result = toy([(0, 3, 4)], cells=20, max_model_len=10)
    assert columns(result, "t_s", "written", "future", "unused", "idle") == [
        (0.0, 3, 3, 4, 10),
        (1.0, 4, 2, 4, 10),
        (2.0, 5, 1, 4, 10),
        (3.0, 6, 0, 4, 10),
    ]
    names = ("status", "stored_tokens", "reserved_cells", "first_token_s", "finished_s")
    assert request_rows(result, *names) == [("completed", 6, 10, 1.0, 4.0)]


def test_the_head_waits_for_a_slot_and_free_cells_are_stranded_meanwhile(toy) -> None:
    """Two slots of 8 in 20 cells, three requests of three ticks at t = 0."""
    result = toy([(0, 2, 3)] * 3, cells=20, max_model_len=8)
    names = ("running", "waiting", "stranded", "idle", "prefill_tokens", "decode_tokens")
    assert columns(result, *names) == [
        (2, 1, 4, 0, 4, 0),
        (2, 1, 4, 0, 0, 2),
        (2, 1, 4, 0, 0, 2),
        (1, 0, 0, 12, 2, 0),
        (1, 0, 0, 12, 0, 1),
        (1, 0, 0, 12, 0, 1),
    ]
    assert request_rows(result, "admitted_s", "finished_s") == [(0, 3), (0, 3), (3, 6)]


def test_a_limit_on_requests_leaves_free_cells_idle_not_stranded(toy) -> None:
    result = toy([(0, 2, 2)] * 2, cells=20, max_model_len=8, server={"max_num_seqs": 1})
    assert columns(result, "running", "waiting", "stranded", "idle")[0] == (1, 1, 0, 12)


def test_a_token_budget_counts_running_requests_and_whole_prompts(toy) -> None:
    """Budget 5: the prompts 3 and 2 go together, the next one waits for room beside two decodes."""
    rows = [(0, 3, 9), (0, 2, 9), (0, 3, 1), (0, 4, 1)]
    result = toy(rows, cells=80, max_model_len=20, server={"max_num_batched_tokens": 5})
    assert request_rows(result, "admitted_s") == [(0.0,), (0.0,), (1.0,), (9.0,)]
    assert columns(result, "stranded")[0] == (0,)


def test_a_prompt_beyond_the_token_budget_is_refused_with_both_numbers(toy) -> None:
    result = toy([(0, 6, 2)], cells=80, max_model_len=20, server={"max_num_batched_tokens": 5})
    assert result.summary["requests"]["reasons"] == {
        "rejected": {"never fits: the whole prompt > max_num_batched_tokens 5": 1}
    }


def test_first_come_first_served_even_if_a_later_one_would_fit(toy) -> None:
    """One slot: the requests are admitted in the order of their arrival, ties in file order."""
    result = toy([(0, 2, 2), (0.5, 2, 1), (0.5, 1, 1)], cells=8, max_model_len=8)
    assert request_rows(result, "admitted_s") == [(0.0,), (2.0,), (3.0,)]


def test_arrivals_at_the_time_of_a_tick_take_part_in_it(toy) -> None:
    result = toy([(0, 1, 3), (1, 1, 1)], cells=20, max_model_len=5)
    assert request_rows(result, "admitted_s") == [(0.0,), (1.0,)]


def test_a_fixed_clock_serves_an_arrival_at_the_next_grid_point(toy) -> None:
    result = toy([(0, 1, 1), (4.25, 1, 1)], cells=20, max_model_len=5)
    assert request_rows(result, "admitted_s", "finished_s") == [(0.0, 1.0), (5.0, 6.0)]
    assert columns(result, "t_s", "dt_s", "running", "idle") == [
        (0.0, 1.0, 1, 15),
        (1.0, 4.0, 0, 20),
        (5.0, 1.0, 1, 15),
    ]


def test_the_rows_cover_the_horizon_from_the_first_arrival(toy) -> None:
    """A rejected request knocks first: the horizon begins with it (times are relative to it)."""
    result = toy([(0, 50, 1), (2.5, 1, 2)], cells=20, max_model_len=5)
    ticks = result.records.ticks
    assert ticks["t_s"][0] == 0.0
    assert ticks["dt_s"].sum() == result.summary["time"]["horizon_s"] == 5.0


def test_too_long_requests_are_rejected_with_the_limit(toy) -> None:
    result = toy([(0, 6, 5), (0, 6, 4)], cells=20, max_model_len=10)
    assert request_rows(result, "status") == [("rejected",), ("completed",)]
    assert result.summary["requests"]["reasons"]["rejected"] == {
        "too long: prompt + output > max_model_len 10": 1
    }


def test_too_long_requests_can_be_cut_at_the_limit_and_are_counted(toy) -> None:
    rows = [(0, 6, 50), (0, 10, 1)]
    result = toy(rows, cells=20, max_model_len=10, workload={"too_long": "truncate"})
    assert request_rows(result, "status", "output_tokens", "truncated_tokens", "stored_tokens") == [
        ("completed", 4, 46, 9),
        ("rejected", 1, 0, 0),
    ]
    assert result.summary["requests"]["truncated"] == 1


def test_too_long_requests_can_end_the_run(toy) -> None:
    with pytest.raises(InputError, match=r"request 0 has 6 prompt and 50 output .* 10;"):
        toy([(0, 6, 50)], cells=20, max_model_len=10, workload={"too_long": "error"})


def test_a_pool_smaller_than_one_slot_refuses_everybody_and_ends(toy) -> None:
    result = toy([(0, 1, 1)] * 3, cells=7, max_model_len=8)
    summary = result.summary
    assert summary["requests"]["rejected"] == 3
    assert summary["requests"]["reasons"]["rejected"] == {
        "never fits: needs 8 cells, an empty pool can give 7": 3
    }
    assert summary["concurrency"]["ceiling"] == 0
    assert summary["memory"]["written_over_reserved"]["time"] is None


def test_a_request_of_one_output_token_takes_one_tick_and_has_no_tpot(toy) -> None:
    result = toy([(0, 3, 1)], cells=20, max_model_len=10)
    assert result.summary["latency"]["tpot_s"]["mean"] is None
    assert result.summary["latency"]["ttft_s"]["mean"] == 1.0


def test_the_six_shares_make_up_the_pool_at_every_tick(toy) -> None:
    rng = np.random.default_rng(1)
    rows = [(float(t), int(p), int(o)) for t, p, o in rng.integers(1, 9, (40, 3))]
    result = toy(sorted(rows), cells=70, max_model_len=17)
    total = sum(result.records.ticks[name] for name in SHARES)
    assert (total == 70).all()


def test_simpy_sees_one_event_per_tick_and_arrival_at_most(toy, monkeypatch) -> None:
    """Counted at the environment's own step()."""
    from wastesim.engine.simtime import SimTime

    steps = []
    real = SimTime.step
    monkeypatch.setattr(SimTime, "step", lambda env: (steps.append(env.now), real(env)))
    rows = [(k * 0.37, 3, 40) for k in range(20)]
    result = toy(rows, cells=300, max_model_len=50)
    sleeps_and_starts = 8  # two processes begin and end, the server is woken
    assert len(steps) <= result.summary["time"]["ticks"] + len(rows) + sleeps_and_starts
