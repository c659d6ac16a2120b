"""YAML in, plain Python and positions out.

The only module that imports the YAML reader (ruamel, YAML 1.2: `1e6` is a number, `no` is text,
and a duplicate key is an error).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import date
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq, TaggedScalar
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from wastesim.errors import ConfigError, Problem

KeyPath = tuple[str | int, ...]

#: More values than any experiment has: aliases of aliases can stand for billions.
_MOST_VALUES = 100_000
_PLAIN_TAGS = (None, "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:str")


@dataclass(frozen=True)
class Document:
    """A parsed file: its plain tree, and where each key stands.

    `base` is the folder that relative paths in it are relative to.
    """

    tree: dict[str, Any]
    source: str
    base: Path
    positions: Mapping[KeyPath, str] = field(default_factory=dict)
    #: What went wrong on the way here, to be reported with everything else.
    problems: tuple[Problem, ...] = ()

    def where(self, path: KeyPath) -> str:
        """`file:line:col` of the deepest part of `path` that the file has."""
        for length in range(len(path), -1, -1):
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


def read_yaml(path: Path, source: str | None = None) -> Document:
    """Read one YAML file whose top level is a mapping; ConfigError with file:line:col otherwise.

    `source` is what messages call the file, its path if not given.
    """
    name = source or str(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name}: must be UTF-8 text ({error.reason})") from error
    return parse_yaml(text, name, path.resolve().parent)


def parse_yaml(text: str, source: str, base: Path) -> Document:
    """Parse YAML text; `source` names it in messages."""
    loaded = _load(text, source)
    if not isinstance(loaded, CommentedMap):
        problem = f"must be a mapping of keys to values (got {_kind(loaded)})"
        raise ConfigError([Problem(f"{source}:1:1", problem)])
    try:
        positions = {place.path: place.where for place in _places(loaded, source)}
        return Document(_plain(loaded), source, base, positions)
    except RecursionError:
        raise ConfigError([Problem(f"{source}:1:1", _TOO_DEEP)]) from None


def parse_value(text: str) -> Any:
    """The value of a `--set key=value` option, read as YAML; text when it is not YAML."""
    try:
        loaded = YAML(typ="rt").load(text)
        return text if isinstance(loaded, TaggedScalar) else _plain(loaded)
    except (YAMLError, ValueError, RecursionError):
        return text


def dump_yaml(tree: Mapping[str, Any]) -> str:
    """Plain YAML text of a tree, keys in the given order."""
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    stream = StringIO()
    writer.dump(dict(tree), stream)
    return stream.getvalue()


_TOO_DEEP = "is nested too deeply to be an experiment"


def _load(text: str, source: str) -> Any:
    try:
        return YAML(typ="rt").load(text)
    except DuplicateKeyError as error:
        key = str(error.problem).split('"')[1] if '"' in str(error.problem) else "a key"
        problem = Problem(_mark(error, source), f"'{key}' is given twice; keep one of them")
    except MarkedYAMLError as error:
        reason = error.problem or error.context or "it cannot be parsed"
        problem = Problem(_mark(error, source), f"is not valid YAML: {reason}")
    except ReaderError as error:
        problem = Problem(_offset(text, error, source), "is not text: it has unprintable bytes")
    except YAMLError as error:
        problem = Problem(f"{source}:1:1", f"is not valid YAML: {str(error).splitlines()[0]}")
    except RecursionError:
        problem = Problem(f"{source}:1:1", _TOO_DEEP)
    except ValueError as error:  # a whole number of thousands of digits, a 13th month
        problem = Problem(f"{source}:1:1", f"has a value that cannot be read: {error}")
    raise ConfigError([problem]) from None


def _mark(error: MarkedYAMLError, source: str) -> str:
    mark = error.problem_mark or error.context_mark
    return f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source


def _offset(text: str, error: ReaderError, source: str) -> str:
    before = text[: error.position]
    return f"{source}:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


class _Place(NamedTuple):
    """One key or item of a file: its path, `file:line:col`, and what it holds."""

    path: KeyPath
    where: str
    value: Any
    problem: str = ""


def _places(root: CommentedMap, source: str) -> list[_Place]:
    """Every key and item in file order, the whole file first."""
    top = _Place((), f"{source}:{root.lc.line + 1}:{root.lc.col + 1}", root)
    found = [top, *islice(_below(top, source), _MOST_VALUES)]
    if len(found) > _MOST_VALUES:
        raise ConfigError([Problem(top.where, f"has more than {_MOST_VALUES:,} values")])
    problems = [Problem(place.where, place.problem) for place in found if place.problem]
    if problems:
        raise ConfigError(problems)
    return found


def _below(parent: _Place, source: str) -> Iterator[_Place]:
    for key, value, mark in _children(parent.value):
        where = f"{source}:{mark[0] + 1}:{mark[1] + 1}" if mark else parent.where
        name = key if isinstance(parent.value, CommentedSeq) else str(key)
        place = _Place((*parent.path, name), where, value, _without_meaning(key, value, parent))
        yield place
        yield from _below(place, source)


def _children(node: Any) -> Iterator[tuple[Any, Any, tuple[int, int] | None]]:
    """(key, value, line and column); merged keys (`<<`) stand in another mapping."""
    if isinstance(node, CommentedMap):
        for key, value in node.items():
            own = node.lc.data is not None and key in node.lc.data
            yield key, value, node.lc.key(key) if own else None
    elif isinstance(node, CommentedSeq):
        for index, value in enumerate(node):
            yield index, value, node.lc.item(index)


def _without_meaning(key: Any, value: Any, parent: _Place) -> str:
    """What is wrong with a key that is no text or number, or with a value that carries a tag."""
    if isinstance(parent.value, CommentedMap) and not isinstance(key, str):
        if isinstance(key, bool) or not isinstance(key, int):
            return f"a key must be text (got {'nothing' if key is None else key})"
        if str(key) in parent.value:
            return f"'{key}' is given twice; keep one of them"
    tag = getattr(getattr(value, "tag", None), "value", None)
    if tag not in _PLAIN_TAGS or isinstance(value, bytes | Set):
        untold = "!!set" if isinstance(value, Set) else "!!binary"
        name = str(tag or untold).replace("tag:yaml.org,2002:", "!!")
        return f"'{key}' must be a plain value (got one with the tag {name})"
    return ""


def _kind(value: Any) -> str:
    if value is None:
        return "an empty file"
    return "a list" if isinstance(value, list) else "a single value"


def _plain(value: Any) -> Any:
    """Annotated scalars and containers of ruamel, or numpy's, as built-in types."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    if hasattr(value, "dtype") and hasattr(value, "tolist"):  # numpy, which is not imported here
        built_in = value.tolist()
        return built_in if type(built_in) is type(value) else _plain(built_in)
    return str(value) if isinstance(value, date | TaggedScalar) else value
