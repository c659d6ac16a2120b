"""What is wrong with the files and names that an experiment's `workload:` refers to.

Looks at the plain tree of an experiment, before or beside its validation, so that all mistakes
are reported in one go; nothing is read but whether files exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from wastesim.config.yaml_reader import KeyPath
from wastesim.workload.library import unknown, workload_file

Finding = tuple[KeyPath, str]


def check_workload(tree: Mapping[str, Any], base: Path | None = None) -> Iterator[Finding]:
    """(key path, message) of every name or file of `workload:` that does not exist."""
    workload = tree.get("workload")
    if isinstance(workload, Mapping):
        yield from _check_lengths(workload.get("lengths"), base or Path())
        yield from _check_file(("workload", "trace"), workload.get("trace"), base or Path())


def _check_lengths(lengths: Any, base: Path) -> Iterator[Finding]:
    path: KeyPath = ("workload", "lengths")
    if isinstance(lengths, Mapping):
        for key in ("file", "table"):
            yield from _check_file((*path, key), lengths.get(key), base)
    elif isinstance(lengths, str):
        file = workload_file(lengths, base) or base / lengths
        if not file.is_file():
            yield path, f"'workload.lengths' {unknown(lengths)}"


def _check_file(path: KeyPath, text: Any, base: Path) -> Iterator[Finding]:
    if not isinstance(text, str) or (base / text).is_file():
        return
    name = ".".join(str(part) for part in path)
    kind = "a folder" if (base / text).is_dir() else "no such file"
    yield path, f"'{name}' must be a file that exists (got {text!r}, {kind})"
