"""YAML in, plain Python and positions out.

The only module that imports the YAML reader (ruamel, YAML 1.2: `1e6` is a number, `no` is text,
and a duplicate key is an error).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from wastesim.errors import ConfigError, Problem

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True)
class Document:
    """A parsed file: its plain tree, and where each key stands.

    `base` is the folder that relative paths in it are relative to.
    """

    tree: dict[str, Any]
    source: str
    base: Path
    positions: Mapping[KeyPath, str] = field(default_factory=dict)

    def where(self, path: KeyPath) -> str:
        """`file:line:col` of the deepest part of `path` that the file has."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.positions:
                return self.positions[path[:length]]
        return self.source

    def value(self, path: KeyPath) -> Any:
        """What stands at `path`; None where nothing does."""
        found: Any = self.tree
        for part in path:
            try:
                found = found[part]
            except (KeyError, IndexError, TypeError):
                return None
        return found

    @classmethod
    def from_mapping(cls, tree: Mapping[str, Any], source: str = "experiment") -> Document:
        """A document without a file, as the Python API gets it."""
        return cls(_plain(tree), source, Path.cwd())


def read_yaml(path: Path) -> Document:
    """Read one YAML file whose top level is a mapping; ConfigError with file:line:col otherwise."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: must be UTF-8 text ({error.reason})") from error
    return parse_yaml(text, str(path), path.resolve().parent)


def parse_yaml(text: str, source: str, base: Path) -> Document:
    """Parse YAML text; `source` names it in messages."""
    loaded = _load(text, source)
    if not isinstance(loaded, CommentedMap):
        kind = "empty" if loaded is None else type(loaded).__name__
        raise ConfigError(f"{source}: must be a mapping of keys to values (got {kind})")
    positions: dict[KeyPath, str] = {}
    _collect(loaded, (), source, positions)
    return Document(_plain(loaded), source, base, positions)


def parse_value(text: str) -> Any:
    """The value of a `--set key=value` option, read as YAML; text when it is not YAML."""
    try:
        return _plain(YAML(typ="rt").load(text))
    except YAMLError:
        return text


def dump_yaml(tree: Mapping[str, Any]) -> str:
    """Plain YAML text of a tree, keys in the given order."""
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    stream = StringIO()
    writer.dump(dict(tree), stream)
    return stream.getvalue()


def _load(text: str, source: str) -> Any:
    try:
        return YAML(typ="rt").load(text)
    except DuplicateKeyError as error:
        key = str(error.problem).split('"')[1] if '"' in str(error.problem) else "a key"
        problem = f"'{key}' is given twice; keep one of them"
        raise ConfigError([Problem(_mark(error, source), problem)]) from None
    except MarkedYAMLError as error:
        problem = f"is not valid YAML: {error.problem or error.context or error}"
        raise ConfigError([Problem(_mark(error, source), problem)]) from None
    except YAMLError as error:
        raise ConfigError(f"{source}: is not valid YAML: {error}") from None


def _mark(error: MarkedYAMLError, source: str) -> str:
    mark = error.problem_mark or error.context_mark
    return f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source


def _collect(node: Any, path: KeyPath, source: str, out: dict[KeyPath, str]) -> None:
    if isinstance(node, CommentedMap):
        for key, value in node.items():
            line, column = node.lc.key(key)
            out[*path, key] = f"{source}:{line + 1}:{column + 1}"
            _collect(value, (*path, key), source, out)
    elif isinstance(node, CommentedSeq):
        for index, value in enumerate(node):
            line, column = node.lc.item(index)
            out[*path, index] = f"{source}:{line + 1}:{column + 1}"
            _collect(value, (*path, index), source, out)


def _plain(value: Any) -> Any:
    """Ruamel's annotated scalars and containers as the built-in types they stand for."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value
