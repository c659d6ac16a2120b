"""What `import wastesim` gives, and what it must not cost."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest

import wastesim
from wastesim.errors import ConfigError
from wastesim.sweep.plan import plan

HEAVY = ("numpy", "scipy", "pandas", "matplotlib", "simpy", "pydantic", "ruamel", "jinja2", "rich")


def test_the_public_names_are_these() -> None:
    assert sorted(wastesim.__all__) == [
        "Experiment", "Result", "__version__", "load_experiment", "simulate",
    ]  # fmt: skip


def test_the_public_names_are_those_that_completion_offers() -> None:
    assert dir(wastesim) == sorted(wastesim.__all__)


@pytest.mark.parametrize("name", wastesim.__all__)
def test_every_public_name_exists_and_is_documented(name: str) -> None:
    assert getattr(wastesim, name).__doc__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'wastesim' has no attribute 'simulat'"):
        wastesim.simulat  # noqa: B018


def test_the_version_is_that_of_the_package() -> None:
    assert version("wastesim") == wastesim.__version__


@pytest.mark.parametrize("module", ["wastesim", "wastesim.__main__"])
def test_importing_wastesim_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_reading_an_experiment_needs_neither_numpy_nor_simpy() -> None:
    code = "import sys, wastesim.config; print([n for n in ('numpy', 'simpy') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


TOY: dict[str, Any] = {
    "model": "llama-3-8b",
    "gpu": "a100-sxm-40gb",
    "workload": {"lengths": "sharegpt", "num_requests": 3},
    "server": {"max_model_len": 2048},
    "decode": {"engine": "none"},
}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sweep", {"grid": {"server.max_num_seqs": [1, 2]}}),
        ("search", {"key": "server.max_num_seqs", "find": "largest", "between": [1, 8],
                    "where": {"metric": "goodput", "at_least": 0.5}}),
    ],
)  # fmt: skip
def test_many_runs_are_not_simulated_as_one(key: str, value: Any) -> None:
    statistics = {"goodput": {"ttft_s": 1}}
    with pytest.raises(ConfigError, match=f"'{key}' asks for many runs, .* or leave '{key}' out"):
        wastesim.simulate({**TOY, "statistics": statistics, key: value})


def test_a_planned_run_is_simulated() -> None:
    sweep = {"grid": {"server.max_num_seqs": [1, 2]}}
    experiment = wastesim.load_experiment({**TOY, "sweep": sweep})
    tree = dict(plan(experiment).tasks[1].tree)
    assert wastesim.simulate(tree).experiment.server.max_num_seqs == 2


@pytest.mark.parametrize("source", [None, 5, ["experiment.yaml"]])
def test_what_is_no_experiment_is_told(source: Any) -> None:
    said = "must be the path of a YAML file, a mapping or an Experiment"
    for verb in (wastesim.simulate, wastesim.load_experiment):
        with pytest.raises(ConfigError, match=said):
            verb(source)


def test_overrides_that_are_no_list_of_texts_are_told_once() -> None:
    with pytest.raises(ConfigError, match=r"must be a list of texts, such as \['seed=1'\]"):
        wastesim.load_experiment(TOY, "seed=1")
    with pytest.raises(ConfigError, match=r"^--set: must be text \(got 5\)$"):
        wastesim.load_experiment(TOY, [5])  # type: ignore[list-item]


def test_numbers_of_numpy_are_numbers() -> None:
    server = {"max_model_len": np.int64(64), "gpu_memory_utilization": np.float32(0.5),
              "refuse_impossible": np.bool_(False), "kv_groups": np.array([8, 16]),
              "policy": "paged"}  # fmt: skip
    found = wastesim.load_experiment({**TOY, "server": server}).server
    assert (found.max_model_len, found.gpu_memory_utilization) == (64, 0.5)
    assert (found.refuse_impossible, found.kv_groups) == (False, (8, 16))
    with pytest.raises(ConfigError, match="must be a whole number"):
        wastesim.load_experiment({**TOY, "server": {"max_model_len": np.float64(6.5)}})
