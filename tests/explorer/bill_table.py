"""The table of cases that Python's bill and the page's must both satisfy: `bill_cases.csv`.

`python tests/explorer/bill_table.py` writes it anew when the catalog has grown; read the
difference before it is committed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

from wastesim.catalog import find_model, model_names
from wastesim.explorer.bill import Asked, bill
from wastesim.explorer.facts import CACHE_DTYPES
from wastesim.units import GIB

TABLE = Path(__file__).with_name("bill_cases.csv")
#: Per model: the chapter's question, a long context, a full card, no room at all, odd numbers.
ASKED = (
    Asked(),
    Asked("fp8", 131_072, 3, 141 * GIB, 0.9, 4 * GIB),
    Asked("q8_0/q4_0", 1, 1, 85_899_345_921, 0.8999, 0),
    Asked("int4_g32_zp", 8192, 1000, GIB, 1.0, 2 * GIB),
    Asked("int8_head", 5003, 17, 640 * GIB, 0.77, 12_345_678_901),
)
CONTEXTS = (1, 127, 4096, 1_048_576)
CARDS = (24 * GIB, 1280 * GIB)


def rows() -> Iterator[dict[str, str]]:
    """Every model with every question, and what comes out."""
    for name, asked in product(model_names(), ASKED):
        yield row(name, asked)


def row(name: str, asked: Asked) -> dict[str, str]:
    """One line of the table: all numbers as text."""
    found = asdict(bill(find_model(name), asked))
    return {"model": name, **_text(asdict(asked)), **_text(found)}


def saved() -> list[dict[str, str]]:
    """The table as it is committed."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def asked_of(line: dict[str, str]) -> Asked:
    """The question of a line."""
    whole = ("context", "requests", "card_bytes", "overhead_bytes")
    numbers: dict[str, Any] = {name: int(line[name]) for name in whole}
    return Asked(dtype=line["dtype"], utilization=float(line["utilization"]), **numbers)


def grid() -> Iterator[tuple[str, Asked]]:
    """More questions than the table has: every model, type, context and two cards."""
    for name, dtype, context, card in product(model_names(), CACHE_DTYPES, CONTEXTS, CARDS):
        yield name, Asked(dtype, context, 7, card, 0.9)


def _text(values: dict[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in values.items()}


if __name__ == "__main__":
    lines = list(rows())
    with TABLE.open("w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, lines[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
