"""A measured window, by hand: which ticks, requests and tokens count."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wastesim import Result, load_experiment, simulate
from wastesim.errors import ConfigError, InputError

#: Two slots of 8 cells; ticks of 1 s.  Request 0 runs [0, 3), 1 runs [0, 5), 2 runs [3, 5),
#: 3 comes at 9 and runs [9, 11), 4 is too long.
REQUESTS = [(0, 2, 3), (0, 2, 5), (1, 3, 2), (9, 1, 2), (9, 9, 9)]


@pytest.fixture
def measured(toy: Callable[..., Result]) -> Callable[..., Result]:
    whole = toy(REQUESTS, cells=16, max_model_len=8)

    def run(from_s: float, until_s: float | None = None) -> Result:
        measure = {"from_s": from_s} | ({} if until_s is None else {"until_s": until_s})
        return simulate(load_experiment({**whole.experiment.to_tree(), "measure": measure}))

    return run


def test_ticks_count_that_begin_in_the_window(measured) -> None:
    result = measured(1, 4)
    assert result.records.ticks["t_s"].tolist() == [1, 2, 3]
    assert result.summary["time"] == {
        "horizon_s": 3.0, "ticks": 3, "measured_from_s": 1.0, "measured_until_s": 4.0,
    }  # fmt: skip


def test_a_tick_counts_whole_though_it_ends_after_the_window(measured) -> None:
    assert measured(1, 3.5).records.ticks["t_s"].tolist() == [1, 2, 3]
    assert measured(0.5, 3.5).records.ticks["t_s"].tolist() == [1, 2, 3]


def test_shares_are_of_those_ticks(measured) -> None:
    """Written: at 1 s 3 + 3; at 2 s 4 + 4; at 3 s request 2 has 3, request 1 has 5."""
    memory = measured(1, 4).summary["memory"]
    assert memory["written_over_reserved"]["step"] == (6 + 8 + 8) / (3 * 16)
    assert memory["shares_of_pool"]["step"]["written"] == (6 + 8 + 8) / (3 * 16)
    assert memory["exact_anchor"] == {"step": None, "at_finish": None}


def test_requests_count_where_they_end(measured) -> None:
    result = measured(1, 4)
    assert result.records.requests["status"].tolist() == ["completed", *["outside"] * 2]
    counts = result.summary["requests"]
    assert (counts["submitted"], counts["completed"], counts["outside"]) == (3, 1, 2)
    assert counts["reasons"]["outside"] == {
        "not ended when the run did, at the end of the window": 2
    }


def test_what_the_end_of_the_window_finds_unfinished_is_no_interruption(measured) -> None:
    result = measured(1, 4)
    assert not result.interrupted
    assert result.summary["requests"]["unfinished"] == 0


def test_a_request_that_ends_where_the_window_begins_is_before_it(measured) -> None:
    result = measured(3, 6)
    assert result.records.requests["status"].tolist()[0] == "outside"
    assert result.summary["requests"]["completed"] == 2
    assert int(result.records.ticks["finished"].sum()) == 2


def test_sleep_is_cut_at_the_edges_of_the_window(measured) -> None:
    result = measured(6, 10)
    assert result.records.ticks["t_s"].tolist() == [6, 9]
    assert result.records.ticks["dt_s"].tolist() == [3, 1]
    assert result.summary["time"]["horizon_s"] == 4.0


def test_a_rejected_request_counts_where_it_arrived(measured) -> None:
    assert measured(6).summary["requests"]["rejected"] == 1
    assert measured(0, 5).summary["requests"]["rejected"] == 0


def test_throughput_counts_tokens_sampled_in_the_window(measured) -> None:
    """At 1 s two, at 2 s two, at 3 s one of request 1 and the first of request 2."""
    throughput = measured(1, 4).summary["throughput"]
    assert throughput["output_tokens_per_s"] == 6 / 3
    assert throughput["requests_per_s"] == 1 / 3


def test_a_window_over_everything_changes_no_number(measured, toy) -> None:
    whole = toy(REQUESTS, cells=16, max_model_len=8).summary
    window = measured(0).summary
    for name in ("memory", "concurrency", "latency", "throughput", "scheduling", "utilization"):
        same = {k: v for k, v in window[name].items() if k != "exact_anchor"}
        assert same == {k: v for k, v in whole[name].items() if k != "exact_anchor"}, name


def test_tokens_after_a_preemption_count_too(toy) -> None:
    """One-cell blocks, six cells, two requests that need five each: one is preempted."""
    whole = toy([(0, 2, 4), (0, 2, 4)], cells=6, max_model_len=6, server={"policy": "token"})
    assert whole.summary["scheduling"]["preemptions"] > 0
    tree = {**whole.experiment.to_tree(), "measure": {"from_s": 0}}
    window = simulate(load_experiment(tree))
    assert window.summary["throughput"] == whole.summary["throughput"]


def test_a_run_that_ends_before_the_window_says_so(measured) -> None:
    with pytest.raises(InputError, match=r"'measure\.from_s' is 300 s, but the run ended at 11 s"):
        measured(300)


def test_a_window_that_ends_before_anything_runs_says_so(toy: Callable[..., Result]) -> None:
    said = r"'measure\.until_s' is 2 s, and nothing ran between 1 s and then: .* end later"
    with pytest.raises(InputError, match=said):
        toy([(0, 1, 2)], cells=16, max_model_len=8, workload={"request_rate": 0.01},
            measure={"from_s": 1, "until_s": 2})  # fmt: skip


def test_a_run_that_ends_within_the_window_says_so(measured) -> None:
    explanations = measured(1, 100).records.facts.explanations
    assert any("before measure.until_s, 100 s" in line for line in explanations)


def test_a_window_must_end_after_it_begins(measured) -> None:
    with pytest.raises(
        ConfigError, match=r"'measure\.until_s' must be > measure\.from_s, which is 4"
    ):
        measured(4, 4)
