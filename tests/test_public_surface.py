"""What `import wastesim` gives, and what it must not cost."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

import wastesim

HEAVY = ("numpy", "scipy", "pandas", "matplotlib", "simpy", "pydantic", "ruamel", "jinja2", "rich")


def test_the_public_names_are_these() -> None:
    assert sorted(wastesim.__all__) == [
        "Experiment", "Result", "__version__", "load_experiment", "simulate",
    ]  # fmt: skip


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
