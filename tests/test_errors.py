"""The exceptions of wastesim: one tree, exit codes, and re-creation from their arguments."""

from __future__ import annotations

import pickle

import pytest

from wastesim import errors
from wastesim.errors import ConfigError, InputError, Problem, WastesimError

TREE = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, WastesimError)]  # noqa: E501  # fmt: skip


@pytest.mark.parametrize("kind", TREE)
def test_simpy_can_create_every_error_again_from_its_arguments(kind: type[WastesimError]) -> None:
    error = kind("what happened, with numbers")
    again = type(error)(*error.args)
    assert str(again) == str(error) == "what happened, with numbers"
    assert again.args == error.args


@pytest.mark.parametrize("kind", TREE)
def test_every_error_survives_the_way_between_processes(kind: type[WastesimError]) -> None:
    error = pickle.loads(pickle.dumps(kind("what happened")))
    assert type(error) is kind
    assert str(error) == "what happened"


def test_mistakes_of_the_user_exit_with_2_and_broken_invariants_with_1() -> None:
    codes = {kind.__name__: kind.exit_code for kind in TREE if not kind.__name__.startswith("_")}
    user = {"ConfigError", "InputError", "OutputError"}
    assert user <= codes.keys()
    assert {name for name, code in codes.items() if code == 2} == user
    assert set(codes.values()) == {1, 2}


@pytest.mark.parametrize("kind", [ConfigError, InputError])
def test_an_error_of_several_problems_has_a_line_for_each(kind: type[ConfigError]) -> None:
    error = kind([Problem("e.yaml:2:1", "'seed' must be >= 0 (got -1)"), Problem("", "no place")])
    assert str(error).splitlines() == ["e.yaml:2:1: 'seed' must be >= 0 (got -1)", "no place"]
    assert pickle.loads(pickle.dumps(error)).problems == error.problems


def test_the_tree_in_the_docstring_names_every_error() -> None:
    public = [kind.__name__ for kind in TREE if not kind.__name__.startswith("_")]
    assert [name for name in public if name not in str(errors.__doc__)] == []
