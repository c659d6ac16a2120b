"""From a file and command-line overrides to a checked `Experiment`.

Names of models, GPUs and workloads are known to rooms above this one: they hand in checks that
look at the plain tree, so that every mistake is still reported in one go.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wastesim.config.experiment import Experiment
from wastesim.config.validation import describe, validate
from wastesim.config.yaml_reader import Document, KeyPath, parse_value, read_yaml
from wastesim.errors import ConfigError, Problem

#: Looks at a plain tree and yields what is wrong with it: (key path, message).
Check = Callable[[Mapping[str, Any]], Iterable[tuple[KeyPath, str]]]

#: Keys whose text may be a path; relative ones are relative to where they were written.
PATH_KEYS: tuple[KeyPath, ...] = (
    ("workload", "lengths"),
    ("workload", "lengths", "file"),
    ("workload", "lengths", "table"),
    ("workload", "trace"),
    ("clock", "file"),
)
_PATH_ENDINGS = (".csv", ".json", ".jsonl", ".yaml", ".yml", ".gz", ".parquet", ".txt")


@dataclass(frozen=True)
class Override:
    """One `--set a.b=c`."""

    path: tuple[str, ...]
    value: Any

    @classmethod
    def parse(cls, text: str) -> Override:
        """Read `a.b=c`; ConfigError when it has no key or no `=`."""
        key, equals, value = text.partition("=")
        parts = tuple(part.strip() for part in key.split("."))
        if not equals or not all(parts):
            problem = f"must look like server.max_model_len=4096 (got {text!r})"
            raise ConfigError([Problem("--set", problem)])
        return cls(parts, parse_value(value))


def load_document(
    source: str | Path | Mapping[str, Any], overrides: Sequence[Override] = ()
) -> Document:
    """The plain tree of an experiment, overrides applied and paths made absolute."""
    if isinstance(source, Mapping):
        document = Document.from_mapping(source)
    else:
        document = read_yaml(Path(source))
        document.tree.setdefault("name", Path(source).stem)
    document = _with_absolute_paths(document, document.base)
    for override in overrides:
        document = _apply(document, override)
    return document


def check_document(document: Document, checks: Sequence[Check] = ()) -> Experiment:
    """The experiment; ConfigError with every problem that the model or a check finds."""
    problems: list[Problem] = []
    experiment: Experiment | None = None
    try:
        experiment = validate(Experiment, document)
    except ConfigError as error:
        problems.extend(error.problems)
    told = {problem.where for problem in problems}
    for check in checks:
        found = [_problem(document, path, text) for path, text in check(document.tree)]
        problems.extend(problem for problem in found if problem.where not in told)
    if problems or experiment is None:
        raise ConfigError(problems)
    return experiment


def _problem(document: Document, path: KeyPath, text: str) -> Problem:
    """A check's finding; `must be ...` gets the key in front and the value behind."""
    if text.startswith("must"):
        text = describe(path, text, document.value(path))
    return Problem(document.where(path), text)


def _apply(document: Document, override: Override) -> Document:
    """The document with one key replaced; a path in it is relative to the current folder."""
    tree = _replaced(document.tree, override.path, override.value, override.path)
    label = f"--set {'.'.join(override.path)}"
    kept = {p: w for p, w in document.positions.items() if p[: len(override.path)] != override.path}
    changed = replace(document, tree=tree, positions={**kept, override.path: label})
    return _with_absolute_paths(changed, Path.cwd(), below=override.path)


def _replaced(tree: Any, path: tuple[str, ...], value: Any, whole: tuple[str, ...]) -> Any:
    if not path:
        return value
    if tree is not None and not isinstance(tree, Mapping):
        problem = f"'{path[0]}' cannot be set inside {tree!r}, which is not a mapping"
        raise ConfigError([Problem(f"--set {'.'.join(whole)}", problem)])
    inner = dict(tree or {})
    inner[path[0]] = _replaced(inner.get(path[0]), path[1:], value, whole)
    return inner


def _with_absolute_paths(document: Document, base: Path, below: KeyPath = ()) -> Document:
    tree = document.tree
    for path in PATH_KEYS:
        if path[: len(below)] == below:
            tree = _absolute(tree, path, base)
    return replace(document, tree=tree)


def _absolute(tree: Any, path: KeyPath, base: Path) -> Any:
    if not path:
        is_path = isinstance(tree, str) and _looks_like_path(tree)
        return os.path.normpath(base / tree) if is_path else tree
    if not isinstance(tree, Mapping) or path[0] not in tree:
        return tree
    return {**tree, path[0]: _absolute(tree[path[0]], path[1:], base)}


def _looks_like_path(text: str) -> bool:
    return "/" in text or text.lower().endswith(_PATH_ENDINGS)
