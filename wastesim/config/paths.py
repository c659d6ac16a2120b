"""Which keys of an experiment are paths, and what they are relative to: where they were written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wastesim.config.yaml_reader import Document, KeyPath

#: Keys whose text is a path; inside a workload so is every `file` and `table`, however deep.
PATH_KEYS: tuple[KeyPath, ...] = (("workload", "trace"), ("clock", "file"))
_ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".gz", ".parquet", ".txt")
#: Keys whose text may be a name instead; it is a path when it ends so ("/": has a slash).
#: Names of models have slashes too, `meta-llama/Meta-Llama-3-8B`.
NAME_OR_PATH_KEYS: dict[KeyPath, tuple[str, ...]] = {
    ("workload", "lengths"): ("/", *_ENDINGS),
    ("model",): (".json", ".gguf"),
    ("decode", "model"): (".gguf",),
    ("passage",): ("/", ".md", *_ENDINGS),
}


def with_absolute_paths(document: Document, base: Path, below: KeyPath = ()) -> Document:
    """The document with relative paths in the keys `below` made absolute from `base`."""
    tree = document.tree
    inside = _inside(document.value(("workload",)), ("workload",))
    for path in (*PATH_KEYS, *NAME_OR_PATH_KEYS, *inside):
        text = document.value(path) if path[: len(below)] == below else None
        if isinstance(text, str) and _is_path(path, text):
            tree = replaced(tree, path, os.path.normpath(base / text))
    return replace(document, tree=tree)


def _inside(tree: Any, path: KeyPath) -> Iterator[KeyPath]:
    """Keys of a workload that name files: tables of quantiles, parts of a mixture."""
    items = tree.items() if isinstance(tree, Mapping) else ()
    pairs: Iterable[tuple[str | int, Any]] = enumerate(tree) if isinstance(tree, list) else items
    for key, value in pairs:
        if key in ("file", "table", "of") and isinstance(value, str):
            yield (*path, key)
        else:
            yield from _inside(value, (*path, key))


def replaced(tree: Any, path: KeyPath, value: Any) -> Any:
    """A copy of the tree with `value` at `path`; mappings on the way are made."""
    if not path:
        return value
    if isinstance(tree, list) and isinstance(path[0], int):
        return [
            replaced(item, path[1:], value) if index == path[0] else item
            for index, item in enumerate(tree)
        ]
    inner = dict(tree or {})
    inner[path[0]] = replaced(inner.get(path[0]), path[1:], value)
    return inner


def _is_path(path: KeyPath, text: str) -> bool:
    lengths = NAME_OR_PATH_KEYS["workload", "lengths"]
    endings = lengths if path[-1] == "of" else NAME_OR_PATH_KEYS.get(path)
    return endings is None or text.lower().endswith(endings) or ("/" in endings and "/" in text)
