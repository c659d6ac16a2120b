"""Closed forms of concurrency against saturated simulations of every shipped workload.

Slots agree to the request.  Where requests grow, the default run compares with the very requests
that ran; `-m bench` (`-s` shows the figures) with the workload, which takes millions of requests.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from wastesim import load_experiment, simulate
from wastesim.capacity.expected import draw_lengths, expected_lines, expected_of
from wastesim.config.workload import TooLong
from wastesim.errors import ConfigError, InputError
from wastesim.records import Records
from wastesim.report.lengths import Lengths, asked
from wastesim.workload import workload_names
from wastesim.workload.pairs import BLOCK

#: Name -> a limit that nearly all of its requests keep.
LIMITS = {
    "arxiv-summarization": 4096,
    "azure-code": 16_384,
    "azure-conversation": 16_384,
    "deepseek-r1": 32_768,
    "mooncake-conversation": 131_072,
    "sharegpt": 2048,
    "sharegpt-8k": 8192,
}
#: Policies under which requests grow -> their names in the formulas' answer.
GROWING = {"token": "token", "paged": "paged (16)"}
CELL_BYTES = 131_072
#: Memory is for so many requests.
AT_ONCE = 300
BATCHES = 20


@cache
def sample(name: str, blocks: int = 16) -> Lengths:
    return draw_lengths(name, blocks)


def saturated(name: str, policy: str, cells: int, number: int, *more: str) -> Records:
    """A run to which all requests come at once, a tick each second."""
    growing = ["server.max_num_batched_tokens=100000000"] if policy in GROWING else []
    changes = [
        "decode.engine=none", "output={records: none, figures: false}",
        "clock={kind: fixed, step_s: 1}",
        f"workload={{lengths: {name}, num_requests: {number}, request_rate: inf}}",
        f"server={{policy: {policy}, max_model_len: {LIMITS[name]}, max_num_seqs: 100000,"
        f" kv_cache_memory_bytes: {cells * CELL_BYTES}}}",
    ]  # fmt: skip
    base = {"model": "llama-3-8b", "gpu": "a100-sxm-80gb", "workload": {}, "server": {}}
    return simulate(load_experiment(base, [*changes, *growing, *more])).records


def queued(records: Records) -> int:
    """Ticks, or rows of them, until nobody waits any more."""
    return int(np.nonzero(records.ticks["waiting"] > 0)[0].max()) + 1


def served_while_queued(records: Records, limit: int) -> Lengths:
    """What requests got as long as others waited: those that run on after it have less output.

    The start is in it, when all begin at once, because the pool is as full as later and the same
    requests' late tokens are in it too.
    """
    end_s = float(records.ticks["t_s"][queued(records) - 1]) + 1
    finished_s = records.requests["finished_s"][records.requests["status"] == "completed"]
    prompt, output = asked(records).cut_at(limit)
    later = (finished_s - end_s).clip(min=0).astype(np.int64)
    some = output > later
    return Lengths(prompt[some], (output - later)[some])


def test_every_shipped_workload_has_a_limit_here() -> None:
    shipped = {name for name in workload_names() if not name.endswith("-family")}
    assert shipped == set(LIMITS)


@pytest.mark.parametrize("policy", ["contiguous", "divided"])
@pytest.mark.parametrize("name", LIMITS)
def test_slots_agree_with_simulations(name: str, policy: str) -> None:
    cells = 4 * LIMITS[name] + 100
    records = saturated(name, policy, cells, 60)
    last = queued(records) - 1
    running = float(records.ticks["running"][last // 3 : last].mean())
    found = expected_of(name, sample(name), cells, LIMITS[name])
    assert found.concurrency[policy] == pytest.approx(running, rel=0.02)


@pytest.mark.parametrize("policy", GROWING)
@pytest.mark.parametrize("name", LIMITS)
def test_growing_policies_agree_for_the_requests_that_were_served(name: str, policy: str) -> None:
    """Chance is left out by taking the very requests that ran, so 1 % is asked for, not 2 or 4.

    What remains are cells that the head of the queue cannot use.
    """
    limit = LIMITS[name]
    cells = int(AT_ONCE * sample(name).cut_at(limit).mean_context())
    records = saturated(name, policy, cells, 4000)
    lengths = served_while_queued(records, limit)
    running = records.ticks["running"][: queued(records)]
    assert lengths.output.sum() == running.sum()
    found = expected_of(name, lengths, cells, limit, max_num_seqs=100_000).concurrency
    assert running.mean() == pytest.approx(found[GROWING[policy]], rel=0.01)
    assert running.mean() < found[GROWING[policy]]


@pytest.mark.bench
@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize(("policy", "tolerance"), [("token", 0.02), ("paged", 0.04)])
def test_growing_policies_agree_for_the_workload(name: str, policy: str, tolerance: float) -> None:
    """Requests of other seeds than the formula's, so many that chance is a quarter of 2 %.

    The first tenth is left out, since all begin at once with their prompts alone: by then each has
    been replaced ten times, and those of the longest lives have ended.  So is the end, when nobody
    waits and the longest are left.  Standard errors: of the simulation from the means of twenty
    batches, of the formula from its requests.
    """
    law, limit = sample(name, 256), LIMITS[name]
    cells = int(AT_ONCE * sample(name).cut_at(limit).mean_context())
    number = BLOCK * (128 if name == "deepseek-r1" else 64)
    records = saturated(name, policy, cells, number, "seed=1")
    running, error = steady(records)
    found = expected_of(name, law, cells, limit, max_num_seqs=100_000).concurrency
    expected, error = found[GROWING[policy]], float(np.hypot(error, formula_error(law, limit)))
    print(
        f"| {name} ({limit:,}) | {policy} | {number:,} | {running:.1f} / {expected:.1f} |"
        f" {100 * (running / expected - 1):+.2f} % | {100 * error:.2f} % |"
    )
    assert error < 0.005
    assert running == pytest.approx(expected, rel=tolerance)


def steady(records: Records) -> tuple[float, float]:
    """Mean running requests of the steady part, and its relative standard error."""
    end = queued(records) - 1
    part = slice(end // 10, end)
    running = records.ticks["running"][part]
    ticks = records.ticks.get("rows", np.ones(len(records.ticks["running"])))[part]
    mean = float(np.average(running, weights=ticks))
    batches = [
        np.average(levels, weights=weights)
        for levels, weights in zip(
            np.array_split(running, BATCHES), np.array_split(ticks, BATCHES), strict=True
        )
    ]
    return mean, float(np.std(batches, ddof=1)) / BATCHES**0.5 / mean


def formula_error(lengths: Lengths, limit: int) -> float:
    """The relative standard error of `live`, a ratio of means over independent requests."""
    served = lengths.cut_at(limit)
    p, o = served.prompt.astype(float), served.output.astype(float)
    live = served.mean_context()
    return float(np.sqrt(((o * (p + (o - 1) / 2 - live)) ** 2).sum()) / o.sum() / live)


def test_the_sample_has_the_means_of_the_workload() -> None:
    """ShareGPT: 161.3 / 338.0 tokens, 459.19 live tokens."""
    lengths = sample("sharegpt")
    assert lengths.prompt.mean() == pytest.approx(161.31, rel=0.02)
    assert lengths.output.mean() == pytest.approx(337.99, rel=0.01)
    assert lengths.mean_context() == pytest.approx(459.19, rel=0.01)


def test_too_long_requests_are_served_as_each_scheduler_does_and_said() -> None:
    """Rejected beside slots; cut at the limit where requests grow, where prompts leave room."""
    lengths = Lengths(np.array([100, 900, 1000]), np.array([101, 201, 5]))
    found = expected_of("three", lengths, 10_000, 1000)
    assert found.too_long_share == pytest.approx(2 / 3)
    assert found.written["contiguous"] == pytest.approx(150 / 1000)
    live = (101 * 150 + 100 * (900 + 99 / 2)) / 201
    assert found.live_tokens == pytest.approx(live)
    assert found.concurrency["token"] == pytest.approx(10_000 / live)
    said = "67 % are longer than 1,000 tokens: rejected where slots are reserved, cut there"
    assert any(said in line for line in expected_lines(found))


@pytest.mark.parametrize(
    ("rule", "slots", "live"),
    [
        ("reject", 150, 150),
        ("truncate", (101 * 150 + 100 * 949.5) / 201, (101 * 150 + 100 * 949.5) / 201),
    ],
)
def test_a_stated_rule_is_every_policys(rule: TooLong, slots: float, live: float) -> None:
    """`workload.too_long`; the mean written cells of a slot, and of a request that grows."""
    lengths = Lengths(np.array([100, 900, 1000]), np.array([101, 201, 5]))
    found = expected_of("three", lengths, 10_000, 1000, too_long=rule)
    assert found.written["contiguous"] == pytest.approx(slots / 1000)
    assert found.concurrency["token"] == pytest.approx(10_000 / live)
    said = {"reject": "1,000 tokens: rejected", "truncate": "1,000 tokens: cut there"}[rule]
    assert any(line.endswith(said) for line in expected_lines(found))


def test_too_long_is_an_error_where_it_is_stated_and_happens() -> None:
    lengths = Lengths(np.array([100, 900]), np.array([101, 201]))
    said = "50 % of two have more than 'server.max_model_len' 1,000 tokens"
    with pytest.raises(InputError, match=said):
        expected_of("two", lengths, 10_000, 1000, too_long="error")
    assert expected_of("two", lengths, 10_000, 1101, too_long="error").too_long_share == 0
    with pytest.raises(InputError, match=r"^100 % of two have more than"):
        expected_of("two", lengths, 10_000, 200, too_long="error")


def test_every_request_runs_its_output_and_holds_its_tokens() -> None:
    """The closed form's numerator and denominator, exactly, with preemptions and cut outputs."""
    changes = [
        "decode.engine=none", "output.records=none", "clock={kind: fixed, step_s: 1}",
        "workload={lengths: deepseek-r1, num_requests: 60, request_rate: inf}",
        "server={policy: token, max_model_len: 1500, max_num_seqs: 1000,"
        f" max_num_batched_tokens: 1000000, kv_cache_memory_bytes: {8000 * CELL_BYTES}}}",
    ]  # fmt: skip
    base = {"model": "llama-3-8b", "gpu": "a100-sxm-80gb", "workload": {}, "server": {}}
    records = simulate(load_experiment(base, changes)).records
    rows, served = records.requests, asked(records).cut_at(1500)
    assert rows["preemptions"].sum() > 0
    assert (rows["truncated_tokens"] > 0).any()
    assert records.ticks["running"].sum() == served.output.sum()
    written = records.ticks["written"].sum() / served.output.sum()
    assert written == pytest.approx(served.mean_context(), rel=1e-12)


def test_a_limit_below_every_request_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'--max-model-len' must be >= \d+, the shortest"):
        expected_of("mooncake-conversation", sample("mooncake-conversation"), 10_000, 100)
    with pytest.raises(ConfigError, match="must be >= 101, the shortest prompt and one token of"):
        expected_of("one", Lengths(np.array([100]), np.array([5])), 999, 100, too_long="truncate")
