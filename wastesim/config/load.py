"""From a file and command-line overrides to a checked `Experiment`.

Names of models, GPUs and workloads are known to rooms above this one: they hand in checks that
look at the plain tree, so that every mistake is still reported in one go.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from wastesim.config.experiment import Experiment
from wastesim.config.extends import KEY as EXTENDS
from wastesim.config.extends import extended
from wastesim.config.paths import replaced, with_absolute_paths
from wastesim.config.validation import Check, describe, dotted, in_file_order, problems_of
from wastesim.config.yaml_reader import Document, KeyPath, parse_value, read_yaml
from wastesim.errors import ConfigError, Problem


@dataclass(frozen=True)
class Override:
    """One `--set a.b=c`."""

    path: tuple[str, ...]
    value: Any

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"--set {dotted(self.path)}"

    @classmethod
    def parse(cls, text: str) -> Override:
        """Read `a.b=c`; ConfigError when it has no key or no `=`."""
        if not isinstance(text, str):
            raise ConfigError([Problem("--set", f"must be text (got {text!r})")])
        key, equals, value = text.partition("=")
        parts = tuple(part.strip() for part in key.split("."))
        if not equals or not all(parts):
            problem = f"must look like server.max_model_len=4096 (got {text!r})"
            raise ConfigError([Problem("--set", problem)])
        return cls(parts, parse_value(value))

    @classmethod
    def parse_all(cls, texts: Iterable[str]) -> tuple[list[Override], list[Problem]]:
        """What can be read of several, and the problems with the others."""
        if isinstance(texts, str):  # it would be read letter by letter
            problem = f"overrides must be a list of texts, such as [{texts!r}] (got a text)"
            raise ConfigError(problem)
        overrides: list[Override] = []
        problems: list[Problem] = []
        for text in texts:
            try:
                overrides.append(cls.parse(text))
            except ConfigError as error:
                problems.extend(error.problems)
        return overrides, problems


def load_document(
    source: str | Path | Mapping[str, Any], overrides: Sequence[Override] = ()
) -> Document:
    """The plain tree of an experiment: what it extends, overrides, and absolute paths."""
    if isinstance(source, Mapping):
        document = extended(Document.from_mapping(source))
    elif not isinstance(source, str | os.PathLike):
        raise ConfigError(
            "an experiment must be the path of a YAML file, a mapping or an Experiment"
            f" (got {source!r})"
        )
    else:
        path = Path(source)
        document = extended(read_yaml(path), (path.resolve(),))
        document.tree.setdefault("name", path.stem)
    for override in overrides:
        document = _apply(document, override)
    return document


def check_document(
    document: Document, checks: Sequence[Check] = (), problems: Iterable[Problem] = ()
) -> Experiment:
    """The experiment; ConfigError with every problem that the model or a check finds.

    `problems` are those found on the way here, in options that could not be read.
    """
    found: dict[KeyPath, Problem] = {}
    experiment: Experiment | None = None
    try:
        experiment = Experiment.model_validate(document.tree)
    except ValidationError as error:
        found = problems_of(error, document, (), Experiment, [EXTENDS])
    for check in checks:
        for path, text in check(document.tree):
            found.setdefault(path, _problem(document, path, text))
    everything = [*in_file_order(found.values(), document), *document.problems, *problems]
    if everything or experiment is None:
        raise ConfigError(everything)
    return experiment


def _problem(document: Document, path: KeyPath, text: str) -> Problem:
    """A check's finding; `must be ...` gets the key in front and the value behind."""
    if text.startswith("must"):
        text = describe(path, text, document.value(path))
    return Problem(document.where(path), text)


def _apply(document: Document, override: Override) -> Document:
    """The document with one key replaced; a path in it is relative to the current folder."""
    blocked = _blocked(document, override.path)
    if blocked:
        return replace(document, problems=(*document.problems, Problem(override.label, blocked)))
    tree = replaced(document.tree, override.path, override.value)
    kept = {p: w for p, w in document.positions.items() if p[: len(override.path)] != override.path}
    whole: KeyPath = override.path
    made = [p for p in _above(whole) if document.value(p) is None]
    positions = {**kept, **dict.fromkeys([*made, whole], override.label)}
    changed = replace(document, tree=tree, positions=positions)
    return with_absolute_paths(changed, Path.cwd(), below=override.path)


def _blocked(document: Document, path: KeyPath) -> str:
    """Why nothing can be set at `path`: something on the way to it is not a mapping."""
    for above in _above(path):
        value = document.value(above)
        if value is not None and not isinstance(value, Mapping):
            return (
                f"'{dotted(path)}' cannot be set, because '{dotted(above)}' is {value!r} and not a"
                " mapping; set the whole of it"
            )
    return ""


def _above(path: KeyPath) -> list[KeyPath]:
    return [path[:length] for length in range(1, len(path))]
