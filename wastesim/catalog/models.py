"""Models by name: geometry and counts from `data/models.csv`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from wastesim.catalog.gguf_model import is_gguf, read_gguf
from wastesim.catalog.hf_config import is_hf_config, read_hf_config
from wastesim.catalog.names import Row, lookup, unknown
from wastesim.catalog.tables import read_table, sources
from wastesim.config.hardware import ModelGeometry
from wastesim.errors import ConfigError

_FILE = "models.csv"
_TEXT = ("name", "weights_dtype", "window_kind", "source", "note")


def model_names() -> tuple[str, ...]:
    """All names of the catalog, in the order of the file."""
    return tuple(row.name for row in read_table(_FILE))


def is_model(name: str) -> bool:
    """Whether `find_model` would find it."""
    return lookup(name, read_table(_FILE)) is not None


def find_model(name: str) -> ModelGeometry:
    """The model called `name`, in any accepted spelling; ConfigError with the nearest names."""
    row = lookup(name, read_table(_FILE))
    if row is None:
        raise ConfigError(f"'model' {unknown(name, 'model', model_names())} (got '{name}')")
    return _geometry(row.name)


def resolve_model(value: str | ModelGeometry) -> ModelGeometry:
    """A geometry as it is, or what a name, a `config.json` or a GGUF file stands for."""
    if not isinstance(value, str):
        return value
    return read_model_file(Path(value)) if is_model_file(value) else find_model(value)


def is_model_file(value: str) -> bool:
    """Whether a model's name is the path of a file that describes one."""
    return is_hf_config(value) or is_gguf(value)


def read_model_file(path: Path) -> ModelGeometry:
    """The model of a `config.json` or a GGUF file; ConfigError with all that is wrong in it."""
    return read_gguf(path) if is_gguf(str(path)) else read_hf_config(path)


@cache
def _geometry(name: str) -> ModelGeometry:
    row = next(row for row in read_table(_FILE) if row.name == name)
    return ModelGeometry.model_validate(_values(row))


def _values(row: Row) -> dict[str, Any]:
    cells: dict[str, Any] = dict(row.cells)
    cells["source"] = sources(cells, "params", "vocab", "tied")
    tied = cells.pop("tied_embeddings", None)
    numbers = {key: int(cell) for key, cell in cells.items() if key not in _TEXT}
    return {**cells, **numbers, "tied_embeddings": None if tied is None else tied == "true"}
