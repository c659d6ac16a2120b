"""What is wrong with the files and names that an experiment's `workload:` refers to.

Looks at the plain tree of an experiment, before or beside its validation, so that all mistakes
are reported in one go; of files only workload files are read, since they are part of the config.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from wastesim.config.validation import dotted
from wastesim.config.yaml_reader import KeyPath
from wastesim.errors import ConfigError
from wastesim.workload.library import read_workload_file, unknown, workload_file

Finding = tuple[KeyPath, str]


def check_workload(tree: Mapping[str, Any], base: Path | None = None) -> Iterator[Finding]:
    """(key path, message) of every name or file of `workload:` that cannot be used."""
    workload, folder = tree.get("workload"), base or Path()
    if isinstance(workload, Mapping):
        yield from _check_lengths(("workload", "lengths"), workload.get("lengths"), folder)
        yield from _check_file(("workload", "trace"), workload.get("trace"), folder)
        yield from _check_inside(("workload", "max_tokens"), workload.get("max_tokens"), folder)


def _check_lengths(path: KeyPath, lengths: Any, base: Path) -> Iterator[Finding]:
    """Lengths that may be a name; a mapping is looked into."""
    if not isinstance(lengths, str):
        yield from _check_inside(path, lengths, base, mixed=True)
        return
    named = workload_file(lengths, base)
    if not (named or base / lengths).is_file():
        yield path, f"'{dotted(path)}' {unknown(lengths)}"
    elif named is not None:
        yield from _check_workload_file(path, named)


def _check_inside(path: KeyPath, spec: Any, base: Path, mixed: bool = False) -> Iterator[Finding]:
    """Files in lengths or distributions; parts of mixed lengths may be names."""
    if not isinstance(spec, Mapping):
        return
    for key in ("file", "table"):
        yield from _check_file((*path, key), spec.get(key), base)
    for key in ("prompt", "output"):
        yield from _check_inside((*path, key), spec.get(key), base)
    parts = spec.get("parts")
    for index, part in enumerate(parts if isinstance(parts, list) else ()):
        of = part.get("of") if isinstance(part, Mapping) else None
        where = (*path, "parts", index, "of")
        yield from _check_lengths(where, of, base) if mixed else _check_inside(where, of, base)


def _check_workload_file(path: KeyPath, file: Path) -> Iterator[Finding]:
    try:
        read_workload_file(file)
    except ConfigError as error:
        for problem in error.problems:
            yield path, f"'{dotted(path)}' must be a workload file that is right: {problem}"


def _check_file(path: KeyPath, text: Any, base: Path) -> Iterator[Finding]:
    if not isinstance(text, str) or (base / text).is_file():
        return
    kind = "a folder" if (base / text).is_dir() else "no such file"
    yield path, f"'{dotted(path)}' must be a file that exists (got {text!r}, {kind})"
