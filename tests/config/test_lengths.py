"""What `lengths:` may say, and what is said about mistakes in it."""

from pathlib import Path

import pytest

from wastesim.config.arrivals import WorkloadSpec
from wastesim.config.distributions import Fixed, Lognormal, Uniform
from wastesim.config.lengths import Joint, Marginals, Resample
from wastesim.config.validation import validate
from wastesim.config.yaml_reader import parse_yaml
from wastesim.errors import ConfigError


def read(lengths: str) -> WorkloadSpec:
    text = f"num_requests: 5\nlengths: {lengths}\n"
    return validate(WorkloadSpec, parse_yaml(text, "w.yaml", Path()))


def problems(lengths: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(lengths)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sharegpt", "sharegpt"),
        ("../traces/x.csv", "../traces/x.csv"),
        (
            "{prompt: {kind: fixed, value: 3}, output: {kind: uniform, low: 1, high: 9}}",
            Marginals(prompt=Fixed(value=3), output=Uniform(low=1, high=9)),
        ),
        (
            "{prompt: 2k, output: {kind: lognormal, median: 100, sigma: 1, max: 2Ki}}",
            Marginals(
                prompt=Fixed(value=2000), output=Lognormal(median=100.0, sigma=1.0, max=2048)
            ),
        ),
        ("{kind: joint, table: t.csv, max_total: 2048}", Joint(table="t.csv", max_total=2048)),
        ("{kind: resample, file: t.csv}", Resample(file="t.csv")),
        (
            "{prompt: 3, output: {kind: lognormal, mean: 9, sigma: 1, outside: clip, max: 20}}",
            Marginals(
                prompt=Fixed(value=3),
                output=Lognormal(mean=9.0, sigma=1.0, outside="clip", max=20),
            ),
        ),
    ],
)
def test_lengths_read_as_what_they_describe(text: str, expected: object) -> None:
    assert read(text).lengths == expected


def test_what_was_read_is_written_back_so_that_it_reads_the_same() -> None:
    spec = read("{prompt: 7, output: {kind: lognormal, median: 100, sigma: 1, max: 2Ki}}")
    assert WorkloadSpec.model_validate(spec.to_tree()) == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{prompt: 0, output: 5}", "'lengths.prompt' must be >= 1 (got 0)"),
        ("{prompt: 1.5, output: 5}", "'lengths.prompt' must be a whole number (got 1.5)"),
        ("{prompt: 5}", "'lengths.output' is required"),
        (
            "{prompt: 5, output: {kind: uniform, low: 9, high: 2}}",
            "'lengths.output': 'high' must be >= 'low' (got low 9, high 2)",
        ),
        (
            "{prompt: 5, output: {kind: lognormal, sigma: 1}}",
            "must have exactly one of 'mu', 'mean' and 'median' (got none)",
        ),
        (
            "{prompt: 5, output: {kind: lognormal, sigma: 1, mu: 2, mean: 3}}",
            "must have exactly one of 'mu', 'mean' and 'median' (got mu and mean)",
        ),
        (
            "{prompt: 5, output: {kind: lognormal, sigma: 0, mu: 2}}",
            "'lengths.output.sigma' must be > 0",
        ),
        (
            "{prompt: 5, output: {kind: lognormal, sigma: 1, mu: 2, min: 9, max: 3}}",
            "'max' must be >= 'min' (got min 9, max 3)",
        ),
        (
            "{prompt: 5, output: {kind: gamma, shape: 1}}",
            "must have exactly one of 'scale' and 'mean' (got none)",
        ),
        (
            "{prompt: 5, output: {kind: weibull, shape: 1, scale: 2, mean: 3}}",
            "must have exactly one of 'scale' and 'mean' (got scale and mean)",
        ),
        (
            "{prompt: 5, output: {kind: negative_binomial, r: 1, p: 1}}",
            "'lengths.output.p' must be < 1",
        ),
        (
            "{prompt: 5, output: {kind: zipf, exponent: 1}}",
            "'lengths.output.max' is required",
        ),
        (
            "{prompt: 5, output: {kind: zipf, exponent: 1, min: 9, max: 3}}",
            "'max' must be >= 'min' (got min 9, max 3)",
        ),
        (
            "{prompt: 5, output: {kind: mixture, parts: []}}",
            "'lengths.output.parts' must",
        ),
        (
            "{prompt: 5, output: {kind: mixture, parts: [{weight: 0, of: 3}]}}",
            "'lengths.output.parts[0].weight' must be > 0",
        ),
        (
            "{prompt: 5, output: {kind: mixture, parts: [{weight: 1, of: {kind: gamma, shape: 1,"
            " mean: 5, max: 9}}]}}",
            "'min' and 'max' belong to the mixture itself, not to its parts",
        ),
        ("{prompt: 5, output: 5, spearman: 2}", "'lengths.spearman' must be <= 1"),
        ("{kind: mixture, parts: [{weight: 1}]}", "'lengths.parts[0].of' is required"),
        ("{prompt: 5, output: {kind: lognorml, sigma: 1}}", "did you mean 'lognormal'?"),
        ("{prompt: 5, output: {value: 1}}", "'lengths.output.kind' is required"),
        ("{prompt: 5, output: 5, promt: 3}", "'lengths.promt' is not a known key"),
        ("{kind: jont, table: t.csv}", "did you mean 'joint'?"),
    ],
)
def test_a_mistake_in_lengths_names_the_key_and_what_it_must_be(text: str, message: str) -> None:
    told = problems(text)
    assert len(told) == 1
    assert message in told[0]
    assert told[0].startswith("w.yaml:2:")
