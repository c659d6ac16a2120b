"""What `workload:` may say about where requests come from and when."""

import math
from pathlib import Path

import pytest

from wastesim.config.arrivals import WorkloadSpec
from wastesim.config.validation import validate
from wastesim.config.yaml_reader import parse_yaml
from wastesim.errors import ConfigError


def read(text: str) -> WorkloadSpec:
    return validate(WorkloadSpec, parse_yaml(text, "w.yaml", Path()))


@pytest.mark.parametrize("text", ["inf", ".inf", "Infinity"])
def test_an_infinite_rate_can_be_written_in_three_ways(text: str) -> None:
    assert read(f"{{lengths: x, num_requests: 3, request_rate: {text}}}").rate == math.inf


def test_without_a_rate_everything_arrives_at_once() -> None:
    assert read("{lengths: x, num_requests: 3}").rate == math.inf


def test_a_trace_keeps_its_own_arrivals_unless_a_rate_replaces_them() -> None:
    assert read("{trace: x.csv}").replays_arrivals
    assert not read("{trace: x.csv, request_rate: 5}").replays_arrivals


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{num_requests: 3}", "must have exactly one of 'lengths' (drawn) and 'trace' (replayed)"),
        ("{lengths: x, trace: y, num_requests: 3}", "must have exactly one of"),
        ("{lengths: x}", "'num_requests' is required, unless a 'trace' is replayed"),
        ("{lengths: x, num_requests: 0}", "'num_requests' must be >= 1 (got 0)"),
        ("{lengths: x, num_requests: 3, request_rate: 0}", "'request_rate' must be > 0 (got 0)"),
        ("{lengths: x, num_requests: 3, request_rate: ten}", "'request_rate' must be a number of"),
        ("{lengths: x, num_requests: 3, burstiness: -1}", "'burstiness' must be > 0"),
        ("{lengths: x, num_requests: 3, burstiness: .nan}", "'burstiness' must be"),
        ("{trace: x, time_unit: min}", "'time_unit' must be 's', 'ms', 'us', 'ns'"),
        ("{trace: x, columns: {promt: a}}", "did you mean 'prompt'?"),
    ],
)
def test_a_mistake_in_a_workload_names_the_key_and_what_it_must_be(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert message in str(caught.value)
