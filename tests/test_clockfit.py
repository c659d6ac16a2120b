"""`wastesim clockfit`: factors found again in times that were made with them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from wastesim import load_experiment
from wastesim.catalog import kv_bytes_per_token, resolve_gpu, resolve_model
from wastesim.clockfit import main
from wastesim.engine.build import step_costs
from wastesim.engine.clock_fit import Fit, fit
from wastesim.engine.clock_steps import MeasuredStep
from wastesim.errors import InputError

MODEL, GPU = resolve_model("llama-3-8b"), resolve_gpu("a100-sxm-80gb")
COSTS = step_costs(MODEL, kv_bytes_per_token(MODEL, "float16"))
TRUE = {"bandwidth_efficiency": 0.72, "flops_efficiency": 0.55, "overhead_s": 0.0015}
DECODES = [(b, b * context, 0) for b in (1, 4, 16, 64, 128) for context in (128, 1024, 4096)]
PREFILLS = [(0, 0, tokens) for tokens in (64, 512, 1024, 2048, 4096, 8192)]


def time_s(batch: int, kv: int, prefill: int) -> float:
    """The roofline of docs/metrics.md, written out anew."""
    tokens, weights = batch + prefill, COSTS.weights_read_bytes
    moved = weights + COSTS.kv_bytes_per_token * (kv + tokens)
    contexts = kv + batch + prefill * (prefill + 1) // 2
    flop = COSTS.flop_per_token * tokens + COSTS.attention_flop_per_context * contexts
    memory = moved / (GPU.bandwidth_bytes_per_s * TRUE["bandwidth_efficiency"])
    return max(memory, flop / (GPU.flops_per_s * TRUE["flops_efficiency"])) + TRUE["overhead_s"]


def steps(works: list[tuple[int, int, int]], noise: float = 0.0) -> list[MeasuredStep]:
    luck = np.random.default_rng(7)
    return [
        MeasuredStep(line, *work, step_s=time_s(*work) * float(np.exp(noise * luck.normal())))
        for line, work in enumerate(works, start=2)
    ]


def fitted(works: list[tuple[int, int, int]], noise: float = 0.0) -> Fit:
    return fit(steps(works, noise), COSTS, GPU.bandwidth_bytes_per_s, GPU.flops_per_s)


@pytest.mark.parametrize("name", TRUE)
def test_factors_are_found_again_without_noise(name: str) -> None:
    estimate = getattr(fitted(DECODES + PREFILLS), name)
    assert estimate.value == pytest.approx(TRUE[name], rel=1e-6)


@pytest.mark.parametrize("name", TRUE)
def test_factors_are_found_again_within_their_intervals_under_noise(name: str) -> None:
    found = fitted((DECODES + PREFILLS) * 4, noise=0.03)
    estimate = getattr(found, name)
    assert abs(estimate.value - TRUE[name]) <= 1.5 * estimate.plus_minus
    assert estimate.value == pytest.approx(TRUE[name], rel=0.1)
    assert 0.01 < found.median_relative_error < 0.04
    assert found.r_squared is not None
    assert found.r_squared > 0.98


def test_a_factor_that_no_step_depends_on_is_not_made_up() -> None:
    found = fitted(DECODES[:6])
    assert found.flops_efficiency is None
    assert found.bandwidth_efficiency is not None
    assert any("flops_efficiency: not determined" in line for line in found.lines("x"))


def test_steps_that_are_all_alike_are_remarked_on() -> None:
    found = fitted([(1, kv, 0) for kv in (100, 101, 102, 103)], noise=0.01)
    assert any("cannot be told apart" in remark for remark in found.remarks)


def test_a_server_faster_than_its_card_is_remarked_on() -> None:
    fast = [step._replace(step_s=step.step_s / 9) for step in steps(DECODES)]
    found = fit(fast, COSTS, GPU.bandwidth_bytes_per_s, GPU.flops_per_s)
    assert found.bandwidth_efficiency is not None
    assert found.bandwidth_efficiency.value == pytest.approx(1)
    assert any("as fast as the card's ideal bandwidth" in remark for remark in found.remarks)


def test_two_steps_are_too_few() -> None:
    with pytest.raises(InputError, match=r"at least 3 steps \(got 2\)"):
        fitted(DECODES[:2])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "steps.csv"
    rows = [f"{b},{kv},{p},{1e3 * time_s(b, kv, p)!r}" for b, kv, p in DECODES + PREFILLS]
    path.write_text("\n".join(["batch,kv_tokens,prefill_tokens,step_ms", *rows]))
    return path


NAMES = ["--model", "llama-3-8b", "--gpu", "a100-sxm-80gb"]


def test_what_is_printed_can_be_pasted(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(file), *NAMES]) == 0
    printed = capsys.readouterr().out
    experiment = file.with_name("e.yaml")
    experiment.write_text(
        "model: llama-3-8b\ngpu: a100-sxm-80gb\nserver: {max_model_len: 2048}\n"
        f"workload: {{lengths: sharegpt, num_requests: 5}}\n{printed}"
    )
    clock = load_experiment(experiment).clock
    assert clock.kind == "roofline"
    assert clock.model_dump(exclude={"kind"}) == pytest.approx(TRUE, rel=1e-4)
    assert "R2 = 1.00000" in printed
    assert "21 steps of" in printed


def test_the_fit_as_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(file), *NAMES, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["bandwidth_efficiency"]["value"] == pytest.approx(0.72)
    assert found["steps"] == 21


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "lama-3-8b", "--gpu", "a100-sxm-80gb"], "error: --model: must be a model"),
        (["--model", "llama-3-8b", "--gpu", "a100"], "error: --gpu: must be a GPU"),
        ([*NAMES, "--kv-cache-dtype", "float17"], "error: --kv-cache-dtype: must be one of"),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], said: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(file), *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(said)


def test_a_file_that_cannot_be_read_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["none.csv", *NAMES]) == 2
    assert capsys.readouterr().err.startswith("error: none.csv: cannot be read")
