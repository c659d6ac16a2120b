"""How names are matched, and what is said of names that are not known."""

from __future__ import annotations

import pytest

from wastesim.catalog import (
    check_names,
    find_gpu,
    find_model,
    nearest,
    resolve_gpu,
    resolve_model,
)
from wastesim.errors import ConfigError


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Llama 3 8B", "llama-3-8b"),
        ("LLAMA_3_8B", "llama-3-8b"),
        ("llama3-8b", "llama-3-8b"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b"),
        ("meta-llama/Llama-3.1-8B", "llama-3.1-8b"),
        ("meta-llama/Llama-2-7b-chat-hf", "llama-2-7b"),
        ("llama-3.3-70b", "llama-3.3-70b-instruct"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"),
        ("facebook/opt-13b", "opt-13b"),
        ("gpt2", "gpt-2"),
        ("gpt2-xl", "gpt-2-xl"),
        ("CohereForAI/c4ai-command-r-plus", "command-r-plus"),
    ],
)
def test_spellings_of_models(written: str, meant: str) -> None:
    assert find_model(written).name == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("H100_SXM 80GB", "h100-sxm-80gb"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm-80gb"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("RTX 4090", "rtx-4090-24gb"),
    ],
)
def test_spellings_of_gpus(written: str, meant: str) -> None:
    assert find_gpu(written).name == meant


def test_an_unknown_model_names_its_neighbours() -> None:
    with pytest.raises(ConfigError, match=r"did you mean 'llama-3-8b'.*\(got 'lama-3-8b'\)"):
        find_model("lama-3-8b")


def test_a_name_that_fits_two_cards_is_not_guessed() -> None:
    with pytest.raises(ConfigError, match="'h100-pcie-80gb' or 'h100-sxm-80gb'"):
        find_gpu("h100")


def test_a_name_like_nothing_lists_everything() -> None:
    with pytest.raises(
        ConfigError, match=r"must be a GPU of the catalog: a100-sxm-40gb, .*l4-24gb"
    ):
        find_gpu("?!")


def test_nearest_is_pure_and_bounded() -> None:
    known = ["apple", "apply", "ape", "maple", "zebra"]
    assert nearest("appl", known) == ["apple", "apply", "maple"]
    assert nearest("qqq", known) == []
    assert nearest("", known) == []


def test_resolve_takes_names_and_objects() -> None:
    model, gpu = find_model("gpt-2"), find_gpu("l4-24gb")
    assert resolve_model("gpt2") is model
    assert resolve_model(model) is model
    assert resolve_gpu("L4") is gpu
    assert resolve_gpu(gpu) is gpu


def test_check_names_reports_every_unknown_name_with_its_key() -> None:
    found = dict(check_names({"model": "lama-3-8b", "gpu": "h100"}))
    assert found[("model",)].startswith("must be a model of the catalog, did you mean 'llama-3-8b'")
    assert found[("gpu",)].startswith("must be a GPU of the catalog, did you mean")


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"model": "gpt2", "gpu": "L4"},
        {"model": {"layers": 2}, "gpu": 7},
        {"model": None, "server": {"gpu": "nonsense"}},
    ],
)
def test_check_names_leaves_the_rest_to_the_config_models(tree: dict[str, object]) -> None:
    assert list(check_names(tree)) == []
