"""Closed forms of concurrency against saturated simulations of every shipped workload.

Growing policies take minutes each, so the default run has two workloads and `-m bench` all.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from wastesim import load_experiment, simulate
from wastesim.capacity.expected import draw_lengths, expected_lines, expected_of
from wastesim.config.workload import TooLong
from wastesim.errors import ConfigError, InputError
from wastesim.report.lengths import Lengths, asked
from wastesim.workload import workload_names

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
QUICK = ("azure-code", "sharegpt")
CELL_BYTES = 131_072


@cache
def sample(name: str) -> Lengths:
    return draw_lengths(name, 16)


def saturated(name: str, policy: str, cells: int, number: int) -> tuple[float, Lengths]:
    """Mean running requests while others wait, the first third left out; and the lengths."""
    growing = ["server.max_num_batched_tokens=100000000"] if policy in ("token", "paged") else []
    changes = [
        "decode.engine=none", "output.records=none", "clock={kind: fixed, step_s: 1}",
        f"workload={{lengths: {name}, num_requests: {number}, request_rate: inf}}",
        f"server={{policy: {policy}, max_model_len: {LIMITS[name]}, max_num_seqs: 100000,"
        f" kv_cache_memory_bytes: {cells * CELL_BYTES}}}",
    ]  # fmt: skip
    base = {"model": "llama-3-8b", "gpu": "a100-sxm-80gb", "workload": {}, "server": {}}
    records = simulate(load_experiment(base, [*changes, *growing])).records
    last = int(np.nonzero(records.ticks["waiting"] > 0)[0].max())
    return float(records.ticks["running"][last // 3 : last].mean()), asked(records)


def test_every_shipped_workload_has_a_limit_here() -> None:
    shipped = {name for name in workload_names() if not name.endswith("-family")}
    assert shipped == set(LIMITS)


@pytest.mark.parametrize("policy", ["contiguous", "divided"])
@pytest.mark.parametrize("name", LIMITS)
def test_slots_agree_with_simulations(name: str, policy: str) -> None:
    cells = 4 * LIMITS[name] + 100
    running, _ = saturated(name, policy, cells, 60)
    found = expected_of(name, sample(name), cells, LIMITS[name])
    assert found.concurrency[policy] == pytest.approx(running, rel=0.02)


def agrees(name: str, policy: str, tolerance: float) -> None:
    cells = int(300 * sample(name).cut_at(LIMITS[name]).mean_context())
    running, lengths = saturated(name, policy, cells, 4000)
    found = expected_of(name, lengths, cells, LIMITS[name], max_num_seqs=100_000)
    key = "paged (16)" if policy == "paged" else policy
    assert found.concurrency[key] == pytest.approx(running, rel=tolerance)


@pytest.mark.parametrize("name", QUICK)
def test_blocks_agree_with_simulations(name: str) -> None:
    agrees(name, "paged", 0.04)


@pytest.mark.bench
@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize(("policy", "tolerance"), [("token", 0.02), ("paged", 0.04)])
def test_growing_policies_agree_with_simulations(name: str, policy: str, tolerance: float) -> None:
    agrees(name, policy, tolerance)


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
