"""Intervals that cover, warm-ups that are found, every formula of docs/statistics.md by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from wastesim import Result, load_experiment, simulate
from wastesim.metrics import summarize
from wastesim.statistics import (
    Interval,
    Objectives,
    good_share,
    mser5,
    of_mean,
    of_paired,
    of_ratio,
    of_run,
    of_series,
    steadiness,
    within,
)
from wastesim.statistics.bounds import possible
from wastesim.statistics.intervals import lag1, quantile
from wastesim.statistics.series import Window, events, integrals
from wastesim.statistics.steadiness import trend

REPETITIONS = 1000
#: Of 1000 repetitions at 95 %, the count that covers is 950 +- 7 (one standard deviation).
COVERS = (0.92, 0.98)

Toy = Callable[..., Result]


def test_students_t_is_the_table_in_every_book() -> None:
    assert quantile(1, 0.95) == pytest.approx(12.7062, abs=1e-4)
    assert quantile(9, 0.95) == pytest.approx(2.2622, abs=1e-4)
    assert quantile(29, 0.99) == pytest.approx(2.7564, abs=1e-4)


def test_an_interval_by_hand() -> None:
    """Mean 4 of 2, 4, 6: s = 2, t(2) = 4.3027, half = 4.3027 * 2 / sqrt 3."""
    found = of_mean([2.0, 4.0, 6.0])
    assert found.estimate == 4
    assert found.half_width == pytest.approx(4.30265 * 2 / math.sqrt(3), rel=1e-5)
    assert found.low is not None
    assert found.low + found.half_width == pytest.approx(4)


def test_what_is_undefined_is_none() -> None:
    assert of_mean([]) == Interval(None, None, None, 0)
    assert of_mean([3.0]) == Interval(3.0, None, None, 1)
    assert of_ratio([1.0, 2.0], [0.0, 0.0]).estimate is None
    assert of_series(list(range(19))).low is None


def test_a_paired_difference_knows_what_the_pairs_share() -> None:
    """10, 20, 30 against 11, 22, 33: differences 1, 2, 3; unpaired the noise would be ten-fold."""
    found = of_paired([10.0, 20.0, 30.0], [11.0, 22.0, 33.0])
    assert found.estimate == 2
    assert found.half_width == pytest.approx(4.30265 * 1 / math.sqrt(3), rel=1e-5)


def test_a_ratio_by_hand() -> None:
    """3/10 and 5/10 and 10/30: R = 18/50; residuals -0.6, 1.4, -0.8; s^2 = 2.96 / 2."""
    found = of_ratio([3.0, 5.0, 10.0], [10.0, 10.0, 30.0])
    assert found.estimate == pytest.approx(0.36)
    se = math.sqrt(2.96 / 2 / 3) / (50 / 3)
    assert found.half_width == pytest.approx(4.30265 * se, rel=1e-5)


def test_the_correlation_of_neighbours_by_hand() -> None:
    values = np.array([1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
    assert lag1(values) == pytest.approx((1 - 1 + 1 - 1 + 1 - 1 + 1) / 8)
    assert lag1([1.0, -1.0]) == 0


def test_kendalls_tau_by_hand() -> None:
    """1 3 2 4: five of six pairs rise, one falls; var = 4*3*13/18; z = (4 - 1) / sqrt var."""
    tau, chance = trend(np.array([1.0, 3.0, 2.0, 4.0]))
    assert tau == pytest.approx(4 / 6)
    assert chance == pytest.approx(math.erfc(3 / math.sqrt(156 / 18) / math.sqrt(2)))
    assert trend(np.ones(10)) == (0.0, 1.0)


@pytest.mark.parametrize(
    "draw",
    [
        lambda r, n: r.normal(3, 2, n),
        lambda r, n: r.uniform(2, 4, n),
        lambda r, n: 2 + r.gamma(4, 0.25, n),
    ],
    ids=["normal", "uniform", "gamma"],
)
def test_replication_intervals_cover_a_known_mean(draw: Callable[..., Any]) -> None:
    """Ten replications of a model whose mean is 3."""
    random = np.random.default_rng(1)
    covered = sum(of_mean(draw(random, 10)).holds(3) for _ in range(REPETITIONS))
    assert COVERS[0] <= covered / REPETITIONS <= COVERS[1]


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.8, 0.9, 0.95])
def test_batch_means_cover_the_mean_of_an_ar1(phi: float) -> None:
    """x_t = phi x_{t-1} + e_t: the variance of a long mean is 1 / (n (1 - phi)^2)."""
    random = np.random.default_rng(2)
    n = 4000
    found = [of_series(_ar1(random, phi, n)) for _ in range(REPETITIONS)]
    covered = sum(interval.holds(0.0) for interval in found)
    assert COVERS[0] <= covered / REPETITIONS <= COVERS[1]
    half = np.mean([interval.half_width or 0.0 for interval in found])
    ideal = 1.96 / (math.sqrt(n) * (1 - phi))
    assert ideal * 0.95 < half < ideal * 1.35


def test_intervals_of_means_of_independent_values_would_not_cover_an_ar1() -> None:
    """What batch means are for: the naive interval is four times too narrow at phi = 0.9."""
    random = np.random.default_rng(3)
    covered = sum(of_mean(_ar1(random, 0.9, 2000)).holds(0.0) for _ in range(300))
    assert covered / 300 < 0.6


def test_batched_ratios_cover_a_known_ratio() -> None:
    """Parts that are 0.3 of correlated wholes, and noise."""
    random = np.random.default_rng(4)
    covered = 0
    for _ in range(REPETITIONS):
        whole = 10 + _ar1(random, 0.7, 60)
        covered += of_ratio(0.3 * whole + random.normal(0, 1, 60), whole).holds(0.3)
    assert COVERS[0] <= covered / REPETITIONS <= COVERS[1]


def test_common_random_numbers_make_differences_surer_and_still_cover() -> None:
    random = np.random.default_rng(5)
    covered, paired, apart = 0, 0.0, 0.0
    for _ in range(REPETITIONS):
        luck = random.normal(0, 5, 10)
        one, other = luck + random.normal(0, 1, 10), luck + 2 + random.normal(0, 1, 10)
        found = of_paired(one, other)
        covered += found.holds(2.0)
        paired += found.half_width or 0.0
        apart += of_mean(one).half_width or 0.0
    assert COVERS[0] <= covered / REPETITIONS <= COVERS[1]
    assert paired < 0.35 * apart


def test_mser5_by_hand() -> None:
    """Groups 10, 0, 2, 0, 2, ... of 5: leaving out the first group is best."""
    groups = [10.0] + [0.0, 2.0] * 10
    found = mser5(np.repeat(groups, 5))
    assert (found.values, found.settled) == (5, True)
    rest = np.array(groups[1:])
    assert found.curve[1] == pytest.approx(((rest - 1) ** 2).sum() / 20**2)
    assert mser5([1.0] * 9).settled is False


def test_mser5_finds_a_warm_up_and_is_not_certain_of_a_drift() -> None:
    random = np.random.default_rng(6)
    series = _ar1(random, 0.5, 5000) - 30 * np.exp(-np.arange(5000) / 150)
    found = mser5(series)
    assert found.settled
    assert 350 <= found.values <= 1500
    assert mser5(np.arange(1000.0) + random.normal(0, 1, 1000)).settled is False


def test_leaving_out_the_warm_up_makes_intervals_narrow_and_keeps_them_true() -> None:
    random = np.random.default_rng(7)
    covered, before, after = 0, 0.0, 0.0
    for _ in range(300):
        series = _ar1(random, 0.8, 4000) + 20 * np.exp(-np.arange(4000) / 200)
        rest = of_series(series[mser5(series).values :])
        covered += rest.holds(0.0)
        after += rest.half_width or 0.0
        before += of_series(series).half_width or 0.0
    assert covered / 300 > 0.88
    assert after < 0.4 * before


def test_integrals_are_exact_between_any_two_moments(toy: Toy) -> None:
    """A request runs over [0, 3), another over [1, 4): 1, 2, 2, 1 in four ticks."""
    records = toy([(0, 1, 3), (1, 1, 3)], cells=40, max_model_len=8).records
    running = records.ticks["running"]
    assert integrals(records, running, np.array([0.0, 1.5, 4.0])).tolist() == [2.0, 4.0]
    assert events(np.array([0.0, 2.0, np.nan, 3.9]), np.array([0.0, 2.0, 4.0])).tolist() == [1, 2]
    assert Window(1.0, 3.0).edges(2).tolist() == [1.0, 2.0, 3.0]


def test_goodput_by_hand(toy: Toy) -> None:
    """One slot: ttft 1 and 4 s, tpot 1 s; a third request is too long and rejected."""
    result = toy([(0, 1, 3), (0, 1, 3), (0, 9, 9)], cells=8, max_model_len=8)
    assert good_share(result.records, Objectives(ttft_s=2)) == (1 / 3, 1)
    assert good_share(result.records, Objectives(ttft_s=4, tpot_s=1)) == (2 / 3, 2)
    assert good_share(result.records, Objectives(tpot_s=0.9)) == (0.0, 0)
    found = of_run(result.records, objectives=Objectives(ttft_s=2))["goodput"]
    assert found == {"share": 1 / 3, "requests_per_s": 1 / 6}


def test_the_summary_has_intervals_around_its_own_numbers() -> None:
    summary = long_run(0.5).summary
    rows = {row["of"]: row for row in summary["statistics"]["intervals"]}
    assert set(rows) >= {
        "memory.written_over_reserved.time", "memory.written_over_reserved.step",
        "memory.shares_of_pool.time.idle", "concurrency.mean",
        "throughput.output_tokens_per_s", "latency.ttft_s.mean", "latency.e2el_s.mean",
    }  # fmt: skip
    for name, row in rows.items():
        value: Any = summary
        for part in name.split("."):
            value = value[part]
        assert row["estimate"] == pytest.approx(value, rel=0.05, abs=0.01), name
        assert row["low"] - 0.05 * abs(value) <= value <= row["high"] + 0.05 * abs(value), name
    assert summary["statistics"]["warnings"] == []
    assert summary["statistics"]["steady"] is True


def test_estimates_over_the_whole_run_are_those_of_metrics() -> None:
    """With `measure` the steady part is what was asked for: then the two must agree exactly."""
    summary = long_run(0.5, measure={"from_s": 100, "until_s": 2000}).summary
    rows = {row["of"]: row["estimate"] for row in summary["statistics"]["intervals"]}
    memory = summary["memory"]
    assert rows["concurrency.mean"] == pytest.approx(summary["concurrency"]["mean"], rel=1e-12)
    for at in ("time", "step"):
        name = f"memory.written_over_reserved.{at}"
        assert rows[name] == pytest.approx(memory["written_over_reserved"][at], rel=1e-12)
    for share, value in memory["shares_of_pool"]["time"].items():
        assert rows[f"memory.shares_of_pool.time.{share}"] == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(("rate", "verdict"), [(0.3, "keeps up"), (2.5, "saturated")])
def test_saturation_is_told(rate: float, verdict: str) -> None:
    """Four slots, replies of 4 steps: one request a second is all that is served."""
    found = long_run(rate).summary["statistics"]
    assert found["saturation"]["verdict"] == verdict
    assert any("more requests come" in text for text in found["warnings"]) == (rate > 1)
    if rate > 1:
        assert found["saturation"]["queue_growth_per_s"] == pytest.approx(rate - 1, rel=0.1)


def test_no_interval_goes_beyond_what_is_possible() -> None:
    wide = Interval(0.5, -0.1, 1.1, 3)
    assert within(wide, "goodput")[1:3] == (0.0, 1.0)
    assert within(wide, "memory.shares_of_pool.time.idle")[1:3] == (0.0, 1.0)
    assert within(wide, "latency.ttft_s.mean")[1:3] == (0.0, 1.1)
    assert within(wide, "statistics.saturation.queue_growth_per_s") == wide
    assert within(Interval(0.5, None, None, 1), "goodput").low is None
    assert within(wide, "latency.ttft_s.mean").is_cut
    assert not wide.is_cut


@pytest.mark.parametrize("rate", [0.3, 0.9, 2.5])
def test_the_intervals_of_runs_are_of_possible_numbers(rate: float) -> None:
    for row in long_run(rate).summary["statistics"]["intervals"]:
        low, high = possible(row["of"])
        assert row["low"] is None or low <= row["low"] <= row["high"] <= high, row


def test_latencies_of_a_saturated_run_have_no_interval_but_a_reason() -> None:
    found = long_run(2.5).summary["statistics"]
    rows = {row["of"]: row for row in found["intervals"]}
    for name in ("latency.ttft_s.mean", "latency.e2el_s.mean"):
        assert (rows[name]["low"], rows[name]["high"]) == (None, None)
        assert "grows" in rows[name]["reason"]
    assert rows["concurrency.mean"]["low"] is not None
    assert rows["latency.tpot_s.mean"]["reason"] is None
    assert not any("send more requests" in text for text in found["warnings"])


def test_a_run_with_few_queues_gives_waiting_no_interval(toy: Toy) -> None:
    """Two of 600 requests come together with others at one slot: what they wait is luck."""
    lonely = [(3.0 * i, 1, 2) for i in range(600)]
    crowd = sorted([*lonely, (900.0, 1, 2), (903.0, 1, 2)])
    found = toy(crowd, cells=8, max_model_len=8).summary["statistics"]
    rows = {row["of"]: row for row in found["intervals"]}
    assert rows["latency.ttft_s.mean"]["low"] is None
    assert "requests waited in 1 of 30 batches" in rows["latency.ttft_s.mean"]["reason"]
    assert rows["memory.shares_of_pool.time.stranded"]["low"] is None
    assert rows["concurrency.mean"]["reason"] is None
    assert any("hangs on rare moments" in text for text in found["warnings"])


def test_queues_that_are_never_near_or_often_there_are_not_rare() -> None:
    for rate in (0.05, 0.95):
        warnings = long_run(rate).summary["statistics"]["warnings"]
        assert not any("rare moments" in text for text in warnings), rate


def test_a_ceiling_that_is_nearly_reached_is_a_rare_queue_to_come(toy: Toy) -> None:
    """Slots for two: both are taken once."""
    rows = sorted([*[(3.0 * i, 1, 2) for i in range(600)], (900.0, 1, 2)])
    found = toy(rows, cells=16, max_model_len=8).summary["statistics"]
    assert any("the ceiling was near in 1 of 30" in text for text in found["warnings"])


def test_clients_that_give_up_waiting_are_lost_load() -> None:
    """One request a second is served of 2.5, and the queue is as long as clients have patience."""
    found = long_run(2.5, clients={"timeout_s": 20}).summary["statistics"]
    loaded = found["saturation"]
    assert loaded["verdict"] == "sheds load"
    assert loaded["given_up_per_s"] == pytest.approx(
        loaded["arrived_per_s"] - loaded["served_per_s"], rel=0.1
    )
    assert any("give up because they wait" in text for text in found["warnings"])


def test_clients_that_leave_an_idle_server_are_no_lost_load() -> None:
    clients = {"cancel_share": 0.5, "cancel_after_s": 10}
    found = long_run(0.2, clients=clients).summary["statistics"]["saturation"]
    assert found["verdict"] == "keeps up"


def test_who_gave_up_because_of_waiting(toy: Toy) -> None:
    """One slot: the second waits 10 of its 12 s; the third gives up in its reply."""
    rows = [(0, 1, 10), (0, 1, 10), (30, 1, 20)]
    result = toy(rows, cells=32, max_model_len=32, clients={"timeout_s": 12})
    left_s, waited_s = steadiness._given_up(result.records.requests)
    assert (left_s.tolist(), waited_s.tolist()) == ([12.0], [10.0])
    assert (result.records.requests["status"] == "cancelled").sum() == 2


def test_all_at_once_has_no_steady_part() -> None:
    found = long_run("inf").summary["statistics"]
    assert found["saturation"]["verdict"] == "all at once"
    assert found["intervals"] == []
    assert found["steady_from_s"] is None
    assert "replications give intervals" in found["warnings"][0]


def test_a_short_run_says_so(toy: Toy) -> None:
    found = toy([(i, 1, 3) for i in range(5)], cells=80, max_model_len=8).summary["statistics"]
    assert found["batches"] is None
    assert found["intervals"] == []
    assert "too short" in found["warnings"][0]


def test_no_request_at_all_is_undefined_and_no_error(toy: Toy) -> None:
    found = toy([(0, 9, 9)], cells=8, max_model_len=8).summary["statistics"]
    assert found["intervals"] == []


def test_of_run_needs_nothing_but_records(toy: Toy) -> None:
    records = toy([(i, 1, 3) for i in range(90)], cells=80, max_model_len=8).records
    assert "statistics" not in summarize(records)
    assert of_run(records)["batches"]


def long_run(rate: Any, **sections: Any) -> Result:
    """2,000 requests of 2 + 4 tokens at four slots of 8 cells."""
    result: Result = simulate(
        load_experiment(
            {
                "model": {"layers": 1, "hidden": 8, "q_heads": 1, "kv_heads": 1, "head_dim": 1,
                          "params": 1000},
                "gpu": {"memory": "1 GiB", "bandwidth": "1 GB/s", "flops": "1 GFLOP/s"},
                "workload": {"lengths": {"prompt": 2, "output": 4}, "num_requests": 2000,
                             "request_rate": rate},
                "server": {"max_model_len": 8, "kv_cache_memory_bytes": 4 * 8 * 4},
                "decode": {"engine": "none"},
                "clock": {"kind": "fixed", "step_s": 1},
                **sections,
            }
        )
    )  # fmt: skip
    return result


def _ar1(random: np.random.Generator, phi: float, n: int) -> np.ndarray[Any, Any]:
    from scipy.signal import lfilter

    noise = random.normal(0, 1, n + 300)
    return np.asarray(lfilter([1.0], [1.0, -phi], noise))[300:]
