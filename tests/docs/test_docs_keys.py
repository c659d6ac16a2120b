"""The tables of keys in docs/ are those of the models that read experiments."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from wastesim.config import Experiment
from wastesim.config.validation import keys_of
from wastesim.units import parse_bytes

from .docs_blocks import PAGES

_MARK = re.compile(r"^<!-- keys: ([\w.]+) -->$")
_ROW = re.compile(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|.*\|$")


def tables() -> dict[str, dict[str, str]]:
    """model -> key -> the default that is shown."""
    found: dict[str, dict[str, str]] = {}
    for page in PAGES:
        model = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            mark, row = _MARK.match(line), _ROW.match(line)
            if mark:
                model = mark.group(1)
                assert model not in found, f"{page.name}: {model} has two tables"
                found[model] = {}
            elif not line.startswith("|"):
                model = ""
            elif model and row:
                found[model][row.group(1)] = row.group(3).strip("`")
    return found


def reachable(model: type[BaseModel], seen: set[type[BaseModel]]) -> set[type[BaseModel]]:
    """All models that an experiment may be made of."""
    if model not in seen:
        seen.add(model)
        for info in model.model_fields.values():
            for inner in models_in(info.annotation):
                reachable(inner, seen)
    return seen


def models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    parts = (*getattr(annotation, "__args__", ()), getattr(annotation, "__value__", None))
    return [model for part in parts if part is not None for model in models_in(part)]


def named(model: type[BaseModel]) -> str:
    return f"{model.__module__}.{model.__qualname__}"


MODELS = {named(model): model for model in reachable(Experiment, set())}
TABLES = tables()


def test_every_model_has_a_table() -> None:
    missing = sorted(MODELS.keys() - TABLES.keys())
    assert not missing, f"no '<!-- keys: ... -->' table in docs/ for {missing}"


def test_every_table_is_of_a_model_that_experiments_use() -> None:
    stale = sorted(TABLES.keys() - MODELS.keys())
    assert not stale, f"no such part of an experiment any more: {stale}"


@pytest.mark.parametrize("name", TABLES)
def test_keys_and_defaults_are_those_of_the_model(name: str) -> None:
    place, _, cls = name.rpartition(".")
    model: type[BaseModel] = getattr(import_module(place), cls)
    fields = {keys_of(key, info)[0]: info for key, info in model.model_fields.items()}
    assert set(TABLES[name]) == set(fields), f"{name}: keys differ"
    for key, info in fields.items():
        shown = TABLES[name][key]
        assert agrees(shown, info), f"{name}.{key}: the default is {info.default!r} (shown {shown})"


def agrees(shown: str, info: FieldInfo) -> bool:
    """Whether a default is shown as it is."""
    if info.is_required():
        return shown == "required"
    default = info.default
    if info.default_factory is not None or isinstance(default, tuple | dict):
        return shown == "see below"
    if isinstance(default, BaseModel):
        return shown in ("see below", getattr(default, "name", None))
    if default is None or default == "":
        return shown == "–"
    if isinstance(default, bool):
        return shown == str(default).lower()
    if isinstance(default, float):
        return float(shown) == default
    if isinstance(default, int):
        return parse_bytes(shown) == default if " " in shown else int(shown) == default
    return bool(shown == default)
