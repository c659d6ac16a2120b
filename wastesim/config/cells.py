"""The experiments that a sweep or a search is made of, and what is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from pydantic import BaseModel

from wastesim.config.compare import laid_over, nested
from wastesim.config.designs import sampled
from wastesim.config.paths import NAME_OR_PATH_KEYS, PATH_KEYS, replaced
from wastesim.config.search import KEY as SEARCH
from wastesim.config.search import Search
from wastesim.config.sweep import KEY as SWEEP
from wastesim.config.sweep import Change, Sweep, written_cells
from wastesim.config.validation import texts_of
from wastesim.config.yaml_reader import Document, KeyPath

#: Cells looked at before anything runs; in larger sweeps the others tell when they run.
MOST_CHECKED = 1000
UNKNOWN = "is not a known key"
_WHOLE = "must be a whole number"


def cell_tree(tree: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The experiment that one cell is: the whole one with its values, varying nothing."""
    whole: dict[str, Any] = laid_over(tree, nested(values))
    return {key: value for key, value in whole.items() if key not in (SWEEP, SEARCH)}


def cell_problems(
    tree: Mapping[str, Any], model: type[BaseModel], checks: Any
) -> Iterator[tuple[KeyPath, str]]:
    """What is wrong with cells and not with the experiment itself; each place and text once."""
    checks = [_once(check) for check in checks]
    alone = texts_of(cell_tree(tree, {}), model, checks)
    told: set[tuple[KeyPath, str]] = set()
    for changes in islice(_written(tree, model), MOST_CHECKED):
        values = {change.key: change.value for change in changes}
        for path, text in texts_of(cell_tree(tree, values), model, checks).items():
            place = _place(changes, path)
            if UNKNOWN in text:  # of the key, whatever its values
                place = _key_of(place)
            sampled_ = place[:2] == (SWEEP, "sample")  # as many texts as points: one will do
            once = (place, "" if sampled_ else text)
            if alone.get(path) != text and once not in told:
                told.add(once)
                hint = "; 'whole: true' samples those" if sampled_ and _WHOLE in text else ""
                yield place, f"in a cell, {text}{hint}"


def with_absolute_values(document: Document) -> Document:
    """The document with relative paths among swept values made absolute, as all others are."""
    tree = document.tree
    for design in ("grid", "zip"):
        for path in (*PATH_KEYS, *NAME_OR_PATH_KEYS):
            place = (SWEEP, design, ".".join(map(str, path)))
            values = document.value(place)
            if isinstance(values, list):
                made = [_absolute(path, value, document) for value in values]
                tree = replaced(tree, place, made)
    return replace(document, tree=tree)


def _absolute(path: KeyPath, value: Any, document: Document) -> Any:
    endings = NAME_OR_PATH_KEYS.get(path, ("",))
    if not isinstance(value, str) or not value.lower().endswith(endings):
        return value
    return os.path.normpath(document.base / value)


def _once(check: Any) -> Any:
    """The check, asked once for trees that differ in numbers alone: it looks at names and files."""
    known: dict[str, list[tuple[KeyPath, str]]] = {}

    def asked(tree: Mapping[str, Any]) -> list[tuple[KeyPath, str]]:
        key = repr(without_numbers(tree))
        if key not in known:
            known[key] = list(check(tree))
        return known[key]

    return asked


def without_numbers(tree: Any) -> Any:
    """The tree with nothing for each number: what is left are names and files."""
    if isinstance(tree, Mapping):
        return {key: without_numbers(value) for key, value in tree.items()}
    return None if isinstance(tree, int | float) else tree


def _written(tree: Mapping[str, Any], model: type[BaseModel]) -> Iterator[tuple[Change, ...]]:
    """The changes of every cell, sampled ones too; none where `sweep` itself is wrong."""
    try:
        if SWEEP in tree:
            yield from _of_sweep(Sweep.model_validate(tree[SWEEP]))
        if SEARCH in tree:
            search = Search.model_validate(tree[SEARCH]).of(model)
            where = "among" if search.among is not None else "between"
            for index, value in enumerate(search.written()):
                yield (Change((SEARCH, where, index), search.key, value),)
    except ValueError:  # pydantic's too
        return


def _of_sweep(sweep: Sweep) -> Iterator[tuple[Change, ...]]:
    points = [
        tuple(Change((SWEEP, "sample", "over", key), key, value) for key, value in point.items())
        for point in sampled(sweep.sample)
    ]
    for changes in written_cells(sweep):
        for point in points:
            yield (*changes, *point)


def same_values(tree: Mapping[str, Any], model: type[BaseModel]) -> Iterator[tuple[KeyPath, str]]:
    """Values of a grid that are written in two ways, `2k` and `2000`: the cell is the same."""
    try:
        grid = Sweep.model_validate(tree.get(SWEEP)).grid or {}
    except ValueError:
        return
    for key, values in grid.items():
        if not any(isinstance(value, str) and value[:1].isdigit() for value in values):
            continue
        read = [_read(tree, model, key, value) for value in values]
        for i, value in enumerate(read):
            if value is not None and value in read[:i]:
                first = values[read.index(value)]
                place = (SWEEP, "grid", key, i)
                yield place, f"must name each value once: this is {first} again"


def _read(tree: Mapping[str, Any], model: type[BaseModel], key: str, value: Any) -> Any:
    """What the experiment makes of the value; None where it cannot be used."""
    try:
        found: Any = model.model_validate(cell_tree(tree, {key: value}))
    except ValueError:
        return None
    for part in key.split("."):
        found = getattr(found, part, None)
    return found


def _key_of(place: KeyPath) -> KeyPath:
    if place[:1] == (SEARCH,):
        return (SEARCH, "key")
    return place[:-1] if place[:2] in ((SWEEP, "grid"), (SWEEP, "zip")) else place


def _place(changes: tuple[Change, ...], path: KeyPath) -> KeyPath:
    """Where the value of the changed key stands that `path` is of; else the first one's."""
    dotted = ".".join(map(str, path))
    for change in changes:
        inside = dotted.startswith(f"{change.key}.") or change.key.startswith(f"{dotted}.")
        if dotted == change.key or inside:
            return change.place
    return changes[0].place if changes else path
