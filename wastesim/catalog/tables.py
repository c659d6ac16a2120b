"""The data files: one line per model or GPU, with the source of every fact.

Cells that could not be confirmed are empty, and what depends on them says so.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

from wastesim.catalog.names import Row


@cache
def read_table(file: str) -> tuple[Row, ...]:
    """The rows of `data/<file>`, in file order."""
    text = files("wastesim.catalog").joinpath("data", file).read_text(encoding="utf-8")
    return tuple(_row(line) for line in csv.DictReader(text.splitlines()))


def sources(cells: dict[str, str], *facts: str) -> str:
    """The row's source, then `fact: source` for the facts that have one of their own."""
    own = [f"{fact}: {cells.pop(f'{fact}_source')}" for fact in facts if f"{fact}_source" in cells]
    return "; ".join([cells["source"], *own])


def _row(line: dict[str, str]) -> Row:
    cells = {key: cell for key, cell in line.items() if cell}
    aliases = cells.pop("aliases", "")
    return Row(cells["name"], tuple(aliases.split(";")) if aliases else (), cells)
