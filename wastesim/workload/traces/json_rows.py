"""Rows of JSON: one object per line, or an array of objects, one at a time.

A broken line of JSON lines costs that line.  Inside an array nothing says where the next object
starts, so a broken array is an error at the object that cannot be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from wastesim.workload.traces.opening import refuse
from wastesim.workload.traces.rows import Row

#: A line number and an object, or the reason why there is none.
Item = tuple[int, Mapping[str, Any] | str]

_DECODER = json.JSONDecoder(parse_float=Decimal)
#: So many rows are looked at to learn the names.
_PEEK = 100
_CHUNK = 1 << 16
#: A document that is no array has to be read as a whole.
_LARGEST_DOCUMENT = 1 << 26


class JsonRows:
    """Objects with one request each."""

    decimal_comma = False

    def __init__(self, stream: IO[str], path: Path) -> None:
        items = _items(stream, path)
        first = list(islice(items, _PEEK))
        self._items = chain(first, items)
        found = [item for _, item in first if isinstance(item, Mapping)]
        if not found:
            refuse(f"{path}:{first[0][0] if first else 1}", "has no row that is a JSON object")
        self.names: Sequence[str] = list(dict.fromkeys(name for item in found for name in item))
        self.where = f"{path}:{first[0][0] if first else 1}"

    def cells(self, wanted: Sequence[str]) -> Iterator[Row]:
        """The values of the wanted keys; None where an object lacks one."""
        for line, item in self._items:
            if isinstance(item, str):
                yield line, item
            else:
                yield line, [item.get(name) for name in wanted]


def _items(stream: IO[str], path: Path) -> Iterator[Item]:
    """Objects of either form, told apart by the first line that is not blank."""
    number, line = 1, stream.readline()
    while line and not line.strip():
        number, line = number + 1, stream.readline()
    if line.lstrip().startswith("["):
        return _array(line, stream, path, number)
    if _is_row(line):
        return _lines(chain([line], stream), number)
    return _document(line, stream, path, number)


def _is_row(line: str) -> bool:
    """Whether a first line is a row by itself, and not (the start of) a larger document."""
    item = _parsed(line)
    return isinstance(item, Mapping) and not any(
        isinstance(value, list) and value and isinstance(value[0], Mapping)
        for key, value in item.items()
        if key not in ("conversations", "messages")
    )


def _parsed(text: str) -> Any:
    """The JSON value of a text; the reason when it is none."""
    try:
        return _DECODER.decode(text.strip())
    except (ValueError, RecursionError):
        return "malformed_json"


def _lines(lines: Iterator[str], number: int) -> Iterator[Item]:
    for line in lines:
        if line.strip():
            yield number, _as_row(_parsed(line))
        number += 1


def _as_row(value: Any) -> Mapping[str, Any] | str:
    if isinstance(value, Mapping):
        return value
    return value if value == "malformed_json" else "not_an_object"


def _document(line: str, stream: IO[str], path: Path, number: int) -> Iterator[Item]:
    """The rows of the one array that an object has, or JSON lines whose first line is broken."""
    text = line + stream.read(_LARGEST_DOCUMENT)
    whole = _parsed(text)
    if isinstance(whole, Mapping):
        for value in whole.values():
            if isinstance(value, list) and value and isinstance(value[0], Mapping):
                return ((number, _as_row(item)) for item in value)
        return iter([(number, whole)])
    if stream.read(1):
        refuse(f"{path}:{number}", "starts with neither a JSON object per line nor an array")
    return _lines(iter(text.splitlines()), number)


def _array(line: str, stream: IO[str], path: Path, number: int) -> Iterator[Item]:
    """The elements of an array that may be larger than memory."""
    text, place = line, line.index("[") + 1
    while True:
        start = _skip(text, place)
        number += text.count("\n", place, start)
        if text.startswith("]", start):
            return
        value, end = _element(text, start)
        if end < 0 or end == len(text):  # a number could go on behind the end of the text
            more = stream.read(max(_CHUNK, len(text)))
            if more:
                text, place = text[start:] + more, 0
                continue
        if end < 0:
            refuse(f"{path}:{number}", "is broken: the element that starts here is no JSON")
        yield number, _as_row(value)
        number += text.count("\n", start, end)
        place = end


def _skip(text: str, place: int) -> int:
    """Where the next element starts."""
    while place < len(text) and text[place] in " \t\r\n,":
        place += 1
    return place


def _element(text: str, start: int) -> tuple[Any, int]:
    """The element at `start` and where it ends; -1 when it cannot be read (yet)."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, -1
