"""Descriptions: every figure by hand on a small trace, and the public facts on public traces."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from wastesim.workload import describe_trace, read_trace
from wastesim.workload.describe import at_limit, gaps_of
from wastesim.workload.facts import pearson, spearman
from wastesim.workload.families import fit_families

from .workload_helpers import lengths, trace_file, workload


def test_shares_at_a_limit_worked_out_by_hand() -> None:
    # stored when finished: 10 + 4 - 1 = 13 and 20 + 2 - 1 = 21; the third pair is too long
    found = at_limit(np.array([10, 20, 60]), np.array([4, 2, 5]), 64)
    assert (found.fitting, found.too_long, found.too_long_share) == (2, 1, 1 / 3)
    # 4 * (10 + 1.5) + 2 * (20 + 0.5) = 87 over 6 ticks
    assert found.contiguous_step == pytest.approx(87 / 6 / 64)
    assert found.contiguous_at_finish == 34 / 128
    assert found.power_of_two_at_finish == 34 / (16 + 32)
    assert found.paged_at_finish == 34 / (16 + 32)


def test_shares_are_undefined_when_nothing_fits() -> None:
    found = at_limit(np.array([100]), np.array([1]), 64)
    assert found.too_long_share == 1
    assert found.contiguous_step is found.contiguous_at_finish is found.paged_at_finish is None


def test_gaps_worked_out_by_hand() -> None:
    found = gaps_of(np.array([0.0, 0.0, 30.0, 60.0, 130.0]))
    assert found.span_s == 130
    assert found.gap_mean_s == 32.5
    assert found.rate_per_s == pytest.approx(4 / 130)
    assert found.together == 0.25
    assert found.gap_cv == pytest.approx(np.std([0, 30, 30, 70]) / 32.5)
    # whole minutes have 3 and 1 arrivals: variance 1 over mean 2
    assert found.dispersion_60s == 0.5
    assert found.busiest_minute_per_s == 3 / 60


@pytest.mark.parametrize("arrival", [[0.0], [0.0, 0.0]])
def test_figures_of_gaps_that_do_not_exist_are_undefined(arrival: list[float]) -> None:
    found = gaps_of(np.array(arrival))
    assert found.rate_per_s is None
    assert found.gap_cv is None
    assert found.dispersion_60s is None


@settings(deadline=None)
@given(
    pairs=st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=2, max_size=60),
)
def test_correlations_are_scipy_s(pairs: list[tuple[int, int]]) -> None:
    x, y = (np.array(column) for column in zip(*pairs, strict=True))
    if x.min() == x.max() or y.min() == y.max():
        assert pearson(x, y) is spearman(x, y) is None
    else:
        assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
        assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "side", "family", "parameters", "distance"),
    [
        ("AzureLLMInferenceTrace_conv.csv", "prompt", "gamma", (1.3375, 863.33), 0.1371),
        ("AzureLLMInferenceTrace_conv.csv", "output", "weibull", (1.3266, 230.48), 0.1778),
        (
            "AzureLLMInferenceTrace_code.csv",
            "prompt",
            "negative_binomial",
            (0.93158, 0.0004547),
            0.0347,
        ),
        ("AzureLLMInferenceTrace_code.csv", "output", "lognormal", (2.7882, 0.84724), 0.1181),
        ("mooncake_conversation_trace.jsonl", "prompt", "lognormal", (8.7367, 1.1991), 0.0666),
        ("mooncake_conversation_trace.jsonl", "output", "weibull", (1.1954, 360.17), 0.1411),
    ],
)
def test_the_best_families_of_public_traces_are_the_known_ones(
    name: str, side: str, family: str, parameters: tuple[float, ...], distance: float
) -> None:
    best = fit_families(getattr(read_trace(trace_file(name), arrivals=False), side))[0]
    assert best.family == family
    assert tuple(best.parameters.values()) == pytest.approx(parameters, rel=2e-4)
    assert best.distance == pytest.approx(distance, abs=2e-4)


@pytest.mark.parametrize(
    "spec",
    [
        {"kind": "lognormal", "mu": 5.0, "sigma": 1.0},
        {"kind": "gamma", "shape": 3.0, "scale": 100.0},
        {"kind": "weibull", "shape": 2.0, "scale": 300.0},
        {"kind": "negative_binomial", "r": 20.0, "p": 0.1},
    ],
)
def test_a_family_is_found_again_in_its_own_samples(spec: dict[str, object]) -> None:
    made = workload(lengths={"prompt": spec, "output": 1}, num_requests=50_000)
    fits = {fit.family: fit for fit in fit_families(lengths(made.requests())[0])}
    found = fits[str(spec["kind"])]
    assert found.distance < 0.01
    assert found.as_config().keys() == spec.keys()
    numbers = {name: value for name, value in spec.items() if name != "kind"}
    assert found.parameters == pytest.approx(numbers, rel=0.05)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(1, 2**31 - 1), min_size=1, max_size=30))
def test_any_lengths_have_fits_or_none_but_never_an_error(values: list[int]) -> None:
    for fit in fit_families(np.array(values)):
        assert 0 <= fit.distance <= 1
        assert all(np.isfinite(value) for value in fit.parameters.values())


def test_a_description_is_plain_numbers_and_text(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("prompt_tokens,output_tokens\n5,5\n6,7\n0,1\n")
    found = describe_trace(read_trace(path, arrivals=None), limits=(8, 16))
    tree = json.loads(json.dumps(found.to_tree(), allow_nan=False))
    assert tree["count"] == 2
    assert tree["rows"] == 3
    assert tree["unusable"] == {"prompt_zero": 1}
    assert tree["arrivals"] is None
    assert tree["prompt"]["quantiles"]["p50"] == 5.5
    assert [limit["too_long"] for limit in tree["limits"]] == [2, 0]


@pytest.mark.parametrize(
    ("name", "limit", "kept", "step"),
    [
        ("AzureLLMInferenceTrace_conv.csv", 4096, 0.916761, 0.278451),
        ("AzureLLMInferenceTrace_conv.csv", 8192, 0.999948, 0.149702),
        ("AzureLLMInferenceTrace_conv.csv", 16_384, 1.0, 0.074858),
        ("sharegpt_opt_lengths.csv", 2048, 0.946632, 0.224214),
        ("sharegpt_opt_lengths.csv", 8192, 0.999216, 0.082119),
    ],
)
def test_the_closed_form_waste_of_public_traces(
    name: str, limit: int, kept: float, step: float
) -> None:
    found = describe_trace(read_trace(trace_file(name), arrivals=None), limits=(limit,)).limits[0]
    assert 1 - found.too_long_share == pytest.approx(kept, abs=1e-6)
    assert found.contiguous_step == pytest.approx(step, abs=1e-6)


def test_arrivals_of_public_traces() -> None:
    found = {
        name: describe_trace(read_trace(trace_file(name), arrivals=None)).arrivals
        for name in ("AzureLLMInferenceTrace_conv.csv", "AzureLLMInferenceTrace_code.csv")
    }
    conv, code = found.values()
    assert (round(conv.gap_mean_s, 4), round(conv.gap_cv, 3)) == (0.1808, 1.094)
    assert conv.dispersion_60s == pytest.approx(16.128, abs=1e-3)
    assert (round(code.gap_mean_s, 4), round(code.gap_cv, 2)) == (0.3897, 13.15)
    assert code.dispersion_60s == pytest.approx(163.965, abs=1e-3)
