"""How a written name finds its row.

Case, `_`, spaces and an organisation before a slash do not matter; nor does the placing of
dashes (`gpt2`) or an ending such as `-instruct`, as long as exactly one row is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

_ENDINGS = ("-hf", "-instruct", "-chat", "-it", "-base")


class Row(NamedTuple):
    """One line of a data file: column names to the cells that are not empty."""

    name: str
    aliases: tuple[str, ...]
    cells: Mapping[str, str]


def normalise(name: str) -> str:
    """`llama-3-8b` for `meta-llama/Meta_Llama 3-8B`: lower case, dashes, no organisation."""
    tail = name.strip().rsplit("/", 1)[-1].lower()
    return re.sub(r"[\s_]+", "-", tail).removeprefix("meta-")


def lookup(name: str, rows: Sequence[Row]) -> Row | None:
    """The one row that `name` means, or None when no row or more than one fits.

    Exact names win over aliases, and these over names that agree only without dashes and
    endings, so an exact name is never ambiguous.
    """
    key = normalise(name)
    for spelled in (_names_of, _spellings_of):
        wanted = {key} if spelled is _names_of else {_squeeze(key)}
        found = [row for row in rows if wanted & spelled(row)]
        if len(found) == 1:
            return found[0]
    return None


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Up to three of the `known` names, nearest first; those that begin alike come first."""
    names, key = sorted(known), normalise(name)
    alike = [item for item in names if key and item.startswith(key)]
    close = get_close_matches(key, names, n=3, cutoff=0.5)
    return list(dict.fromkeys([*alike, *close]))[:3]


def unknown(name: str, kind: str, known: Sequence[str]) -> str:
    """`must be a model of the catalog, did you mean 'llama-3-8b'?`"""
    near = " or ".join(f"'{item}'" for item in nearest(name, known))
    if near:
        return f"must be a {kind} of the catalog, did you mean {near}?"
    return f"must be a {kind} of the catalog: {', '.join(known)}"


def _names_of(row: Row) -> set[str]:
    return {row.name, *row.aliases}


def _spellings_of(row: Row) -> set[str]:
    return {_squeeze(item) for item in _names_of(row)}


def _squeeze(key: str) -> str:
    for ending in _ENDINGS:
        key = key.removesuffix(ending)
    return key.replace("-", "")
