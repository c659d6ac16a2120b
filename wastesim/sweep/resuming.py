"""Whether a folder's sweep is the one that is asked to go on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wastesim.config import Experiment, dump_yaml
from wastesim.config.validation import short
from wastesim.config.yaml_reader import parse_yaml
from wastesim.errors import ConfigError, OutputError

#: What may change: names, pictures, and how often and how closely it is looked.
FREE = ("name", "output", "sweep.replications", "sweep.show", "sweep.cell_reports",
        "search.replications", "search.most_replications", "search.most_probes",
        "search.tolerance")  # fmt: skip
MOST_TOLD = 3


def refuse_another(experiment: Experiment, folder: Path) -> None:
    """OutputError when the folder's runs are of another experiment; says what differs."""
    path = folder / "resolved.yaml"
    if not path.exists():  # killed as it began
        return
    try:
        there = parse_yaml(path.read_text(encoding="utf-8"), str(path), folder).tree
    except (ConfigError, OSError, ValueError) as error:
        raise OutputError(
            f"{folder}: its resolved.yaml cannot be read, so that nobody knows what it is of:"
            f" {error}; name another folder"
        ) from None
    here = parse_yaml(dump_yaml(experiment.to_tree()), "", Path()).tree
    told = differences(there, here)
    if told:
        more = len(told) - MOST_TOLD
        rest = f", and {more:,} more" if more > 0 else ""
        raise OutputError(
            f"{folder}: holds the runs of another experiment, '--resume' cannot go on with it:"
            f" {', '.join(told[:MOST_TOLD])}{rest}; name another folder"
        )


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """`seed is 0 there and 1 here`, for each key that decides what is run."""
    one, other = _leaves(there), _leaves(here)
    return [
        f"{key} is {_said(one, key)} there and {_said(other, key)} here"
        for key in dict.fromkeys([*one, *other])
        if one.get(key) != other.get(key) and not _is_free(key)
    ]


def _is_free(key: str) -> bool:
    return any(key == free or key.startswith(f"{free}.") for free in FREE)


def _said(leaves: Mapping[str, Any], key: str) -> str:
    return short(leaves[key]) if key in leaves else "not given"


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in tree.items():
        inner = isinstance(value, Mapping) and value
        found |= _leaves(value, f"{prefix}{key}.") if inner else {f"{prefix}{key}": value}
    return found
