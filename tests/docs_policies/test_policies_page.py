"""docs/policies.md: its tables are the code's, and its example runs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from wastesim import load_experiment, simulate
from wastesim.config.clients import Clients
from wastesim.config.policy import PRESETS, VALID, ClaimKind
from wastesim.config.server import Server
from wastesim.engine import run
from wastesim.errors import ConfigError
from wastesim.testing import policy_machine, prove_by_decode

PAGE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text(encoding="utf-8")


def table(section: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its head."""
    text = PAGE.split(f"## {section}\n", 1)[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_table_of_valid_pairs_is_the_codes() -> None:
    rows = table("Which go together")
    assert {names(place)[0]: tuple(names(claims)) for place, claims in rows} == VALID


def test_the_table_of_presets_is_the_codes() -> None:
    rows = {names(row[0])[0]: (names(row[1])[0], names(row[2])[0]) for row in table("Presets")}
    assert rows == {name: (preset.claim, preset.place) for name, preset in PRESETS.items()}


def test_every_claim_and_place_is_described() -> None:
    assert [names(row[0])[0] for row in table("How much: the claim")] == list(get_args(ClaimKind))
    places = [name for row in table("Where: the place") for name in names(row[0])]
    assert sorted(places) == sorted(VALID)


def test_the_options_of_vllm_have_the_defaults_that_the_page_says() -> None:
    text = PAGE.split("Options of `vllm` alone", 1)[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", text, re.MULTILINE)
    defaults = {name: str(Server.model_fields[name].default).lower() for name, _ in rows}
    assert {name: float(said) if said.isdigit() else said for name, said in rows} == {
        name: float(value) if value[0].isdigit() else value for name, value in defaults.items()
    }
    assert len(rows) == 5


def test_every_option_of_clients_is_described() -> None:
    described = {
        name.split(":")[0] for row in table("Who asks: `clients`") for name in names(row[0])
    }
    assert described == set(Clients.model_fields)


@pytest.fixture(scope="module")
def example() -> Iterator[Any]:
    """The page's policy as the module that an experiment would name."""
    module = ModuleType("docs_policies_example")
    code = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    sys.modules[module.__name__] = module
    for block in code:
        exec(block, module.__dict__)
    yield module
    del sys.modules[module.__name__]


def test_the_example_is_about_thirty_lines() -> None:
    lines = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0].split("class ")[1].splitlines()
    assert len([line for line in lines if line.strip()]) <= 30


def test_the_example_passes_its_own_tests(example: Any) -> None:
    machine = policy_machine(lambda: example.Halves(example.Pool(101, 64, 16, 4)))
    run_state_machine_as_test(machine, settings=settings(max_examples=30, deadline=None))
    assert example.TestHalves
    example.test_halves_by_decoding()


def test_the_example_runs_in_an_experiment(example: Any) -> None:
    result = prove_by_decode("docs_policies_example:Halves", cells=101, max_model_len=48)
    assert result.records.facts.policy == "Halves"
    assert result.records.ticks["running"].max() == 2


def test_an_experiment_names_it_with_options_in_a_mapping(example: Any) -> None:
    tree = {"model": "llama-3-8b", "gpu": "a100-sxm-40gb",
            "workload": {"lengths": "sharegpt", "num_requests": 5},
            "server": {"max_model_len": 2048, "policy": "docs_policies_example:Halves"},
            "decode": {"engine": "none"}}  # fmt: skip
    assert simulate(load_experiment(tree)).summary["requests"]["completed"] == 5


def halves(scheduler: str | None, name: str = "Halves") -> Any:
    return load_experiment({
        "model": "llama-3-8b", "gpu": "a100-sxm-40gb",
        "workload": {"lengths": "sharegpt", "num_requests": 40},
        "server": {"max_model_len": 2048, "policy": f"docs_policies_example:{name}",
                   "scheduler": scheduler},
        "decode": {"engine": "none"},
    })  # fmt: skip


@pytest.mark.parametrize("scheduler", ["orca", "static", "vllm", None])
def test_it_runs_under_the_scheduler_that_is_asked_for(example: Any, scheduler: str | None) -> None:
    leapt, ticked = (run(halves(scheduler), leap=leap) for leap in (True, False))
    assert leapt.facts.scheduler == (scheduler or "vllm")
    for name, column in ticked.requests.items():
        np.testing.assert_array_equal(column, leapt.requests[name], name)


@pytest.mark.parametrize("scheduler", ["orca", "static"])
def test_one_that_grows_is_refused_where_nobody_is_preempted(example: Any, scheduler: str) -> None:
    def grow(self: Any, request_id: int, tokens: int) -> None:
        return None

    example.Sprawling = type("Sprawling", (example.Halves,), {"grows": True, "grow": grow})
    with pytest.raises(ConfigError, match=f"'Sprawling' lets requests grow.*got {scheduler}"):
        run(halves(scheduler, "Sprawling"))
    assert run(halves("vllm", "Sprawling")).facts.scheduler == "vllm"
