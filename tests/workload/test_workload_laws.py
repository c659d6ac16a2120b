"""Families have the moments and the shapes of their textbooks."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from scipy import stats

from wastesim.config.distributions import Distribution
from wastesim.errors import InputError
from wastesim.workload.facts import spearman
from wastesim.workload.laws import Law, law_of

from .workload_helpers import lengths, workload

N = 100_000


def law(base: Path | None = None, **spec: object) -> Law:
    model = TypeAdapter(Distribution).validate_python(spec)
    return law_of(model, base or Path())


def drawn(number: int = N, **spec: object) -> np.ndarray:
    made = workload(lengths={"prompt": spec, "output": 1}, num_requests=number)
    return lengths(made.requests())[0]


FAMILIES = [
    ({"kind": "lognormal", "mu": 3.9, "sigma": 1.2}, stats.lognorm(1.2, scale=math.exp(3.9))),
    ({"kind": "gamma", "shape": 1.34, "scale": 863.3}, stats.gamma(1.34, scale=863.3)),
    ({"kind": "gamma", "shape": 0.5, "mean": 400.0}, stats.gamma(0.5, scale=800)),
    ({"kind": "weibull", "shape": 1.167, "scale": 356.1}, stats.weibull_min(1.167, scale=356.1)),
    (
        {"kind": "weibull", "shape": 2.0, "mean": 500.0},
        stats.weibull_min(2, scale=500 / math.gamma(1.5)),
    ),
    ({"kind": "negative_binomial", "r": 0.932, "p": 0.000455}, stats.nbinom(0.932, 0.000455)),
    ({"kind": "negative_binomial", "r": 13.7, "mean": 1067.0}, stats.nbinom(13.7, 13.7 / 1080.7)),
    ({"kind": "zipf", "exponent": 1.2, "max": 5000}, stats.zipfian(1.2, 5000)),
]
IDS = [f"{spec['kind']}-{index}" for index, (spec, _) in enumerate(FAMILIES)]


@pytest.mark.parametrize(("spec", "exact"), FAMILIES, ids=IDS)
def test_quantiles_are_those_of_the_family(spec: dict[str, object], exact: object) -> None:
    u = np.array([0.001, 0.1, 0.5, 0.9, 0.999, 1 - 1e-9])
    assert law(**spec).quantile(u) == pytest.approx(exact.ppf(u), rel=1e-6)


@pytest.mark.parametrize(("spec", "exact"), FAMILIES, ids=IDS)
def test_chances_are_those_of_rounded_samples(spec: dict[str, object], exact: object) -> None:
    k = np.array([1.0, 3.0, 50.0, 2000.0])
    assert law(**spec).cdf(k) == pytest.approx(exact.cdf(k + 0.5), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(("spec", "exact"), FAMILIES, ids=IDS)
def test_samples_have_the_family_s_mean(spec: dict[str, object], exact: object) -> None:
    values = drawn(**spec)
    assert values.mean() == pytest.approx(exact.mean(), abs=5 * exact.std() / N**0.5 + 0.1)


def test_zipf_samples_stay_on_their_range() -> None:
    values = drawn(kind="zipf", exponent=0.0, min=5, max=9)
    assert np.bincount(values, minlength=10)[5:] / N == pytest.approx([0.2] * 5, abs=0.01)


def test_a_mixture_has_the_shares_of_its_parts() -> None:
    parts = [
        {"weight": 3.0, "of": {"kind": "uniform", "low": 10, "high": 19}},
        {"weight": 1.0, "of": {"kind": "lognormal", "mu": 8.0, "sigma": 0.2}},
    ]
    values = drawn(kind="mixture", parts=parts)
    assert (values < 20).mean() == pytest.approx(0.75, abs=0.01)
    assert np.median(values[values > 20]) == pytest.approx(math.exp(8), rel=0.01)


def test_a_mixture_of_one_part_is_that_part() -> None:
    for spec, _ in FAMILIES:
        u = np.linspace(0.01, 0.99, 50)
        mixed = law(kind="mixture", parts=[{"weight": 2.0, "of": spec}])
        assert mixed.quantile(u) == pytest.approx(np.rint(law(**spec).quantile(u)), abs=1)


def test_a_mixture_counts_what_lies_outside_its_bounds() -> None:
    parts = [{"weight": 1.0, "of": 5}, {"weight": 1.0, "of": 500}]
    spec = {"kind": "mixture", "parts": parts, "max": 100, "outside": "clip"}
    made = workload(lengths={"prompt": spec, "output": 1}, num_requests=1000)
    values = lengths(made.requests())[0]
    assert set(values) == {5, 100}
    assert made.counts == {"prompt_clipped": int((values == 100).sum())}


@settings(deadline=None, max_examples=100)
@given(
    family=st.sampled_from([spec for spec, _ in FAMILIES]),
    other=st.sampled_from([spec for spec, _ in FAMILIES]),
    weight=st.floats(0.01, 100),
    u=st.lists(st.floats(1e-6, 1 - 1e-6), min_size=1, max_size=20),
)
def test_quantile_and_chance_are_inverses(
    family: dict, other: dict, weight: float, u: list[float]
) -> None:
    parts = [{"weight": weight, "of": family}, {"weight": 1.0, "of": other}]
    for made in (law(**family), law(kind="mixture", parts=parts)):
        k = np.maximum(np.rint(made.quantile(np.array(u))), 0.0)
        assert (made.cdf(k) >= np.array(u) - 1e-9).all()
        below = np.maximum(k - 1, 0.0)
        assert (made.cdf(below)[k > 1] <= np.array(u)[k > 1] + 1e-9).all()


def quantile_file(folder: Path, text: str) -> Path:
    path = folder / "q.csv"
    path.write_text(text)
    return path


def test_a_quantile_file_is_interpolated(tmp_path: Path) -> None:
    quantile_file(tmp_path, "permille,prompt,output\n0,10,1\n500,20,1\n1000,40,9\n")
    prompt = law(tmp_path, kind="quantiles", file="q.csv", column="prompt")
    assert prompt.quantile(np.array([0.0, 0.25, 0.5, 0.75, 1.0])).tolist() == [10, 15, 20, 30, 40]
    assert prompt.cdf(np.array([9.0, 19.5, 40.0])).tolist() == [0, 0.5, 1]
    output = law(tmp_path, kind="quantiles", file="q.csv", column="output")
    assert output.cdf(np.array([0.0, 1.0]))[1] >= 0.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: must have a column 'permille'"),
        ("permille,p\n0,1\n", ":1: must have a column 'prompt'"),
        ("permille,prompt\n0,1\n999,5\n", "'permille' must rise from 0 to 1000"),
        ("permille,prompt\n0,1\n500,x\n1000,3\n", ":3: 'permille' and 'prompt' must be numbers"),
        ("permille,prompt\n0,1\n500,9\n1000,3\n", "must be at least 1 and never fall"),
        ("permille,prompt\n0,0\n1000,3\n", "must be at least 1 and never fall"),
        ("permille,prompt\n0,1\n1000\n", ":3: 'permille' and 'prompt' must be numbers"),
    ],
)
def test_a_broken_quantile_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    quantile_file(tmp_path, text)
    with pytest.raises(InputError) as caught:
        law(tmp_path, kind="quantiles", file="q.csv", column="prompt")
    assert message in str(caught.value)


@pytest.mark.parametrize("target", [-0.9, -0.11, 0.0, 0.21, 0.8, 1.0])
def test_ranks_are_tied_as_strongly_as_asked(target: float) -> None:
    spec = {
        "prompt": {"kind": "lognormal", "mu": 6.0, "sigma": 1.5},
        "output": {"kind": "gamma", "shape": 1.2, "mean": 300.0},
        "spearman": target,
    }
    made = workload(lengths=spec, num_requests=N)
    assert spearman(*lengths(made.requests())) == pytest.approx(target, abs=0.01)


def test_tying_ranks_leaves_the_marginals_alone() -> None:
    side = {"kind": "weibull", "shape": 1.2, "scale": 300.0}
    free = workload(lengths={"prompt": side, "output": side}, num_requests=N)
    tied = workload(lengths={"prompt": side, "output": side, "spearman": 0.8}, num_requests=N)
    for one, two in zip(lengths(free.requests()), lengths(tied.requests()), strict=True):
        assert stats.ks_2samp(one, two).statistic < 0.012


def test_pairs_beyond_the_total_are_drawn_again_and_counted() -> None:
    spec = {"prompt": {"kind": "uniform", "low": 1, "high": 100}, "output": 50, "max_total": 100}
    made = workload(lengths=spec, num_requests=20_000)
    prompt, output = lengths(made.requests())
    assert (prompt + output).max() == 100
    assert made.counts["total_redrawn"] == pytest.approx(20_000, rel=0.05)


def test_a_mix_of_workloads_has_their_shares_and_their_counts() -> None:
    parts = [
        {"weight": 3, "of": {"prompt": 5, "output": 7}},
        {
            "weight": 1,
            "of": {
                "prompt": {"kind": "lognormal", "mu": 9.0, "sigma": 1.0, "max": 9000,
                           "outside": "clip"},
                "output": 9,
            },
        },
    ]  # fmt: skip
    made = workload(lengths={"kind": "mixture", "parts": parts}, num_requests=N)
    prompt, output = lengths(made.requests())
    assert (output == 7).mean() == pytest.approx(0.75, abs=0.01)
    assert ((prompt == 5) == (output == 7)).all()
    assert made.counts["prompt_clipped"] == pytest.approx((prompt == 9000).sum(), abs=10)


def test_a_mix_may_name_shipped_workloads() -> None:
    parts = [{"weight": 1, "of": "sharegpt"}, {"weight": 1, "of": {"prompt": 9999, "output": 1}}]
    made = workload(lengths={"kind": "mixture", "parts": parts}, num_requests=1000)
    assert "50 % ShareGPT" in made.describe()
    prompt, _ = lengths(made.requests())
    assert (prompt == 9999).mean() == pytest.approx(0.5, abs=0.05)


def test_a_negative_binomial_too_long_for_a_table_is_inverted_all_the_same() -> None:
    exact = stats.nbinom(0.5, 0.5 / 1_000_000.5)
    u = np.array([0.1, 0.5, 0.99])
    drawn_at = law(kind="negative_binomial", r=0.5, mean=1_000_000.0).quantile(u)
    assert drawn_at == pytest.approx(exact.ppf(u), rel=1e-9)
