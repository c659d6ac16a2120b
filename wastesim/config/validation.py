"""From pydantic's errors to one line each: where, which key, what it must be, what it was."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pydantic import AliasChoices, BaseModel, ValidationError
from pydantic.fields import FieldInfo

from wastesim.config.yaml_reader import Document, KeyPath
from wastesim.errors import ConfigError, Problem

Model = TypeVar("Model", bound=BaseModel)
#: Looks at a plain tree and yields what is wrong with it: (key path, message).
Check = Callable[[Mapping[str, Any]], Iterable[tuple[KeyPath, str]]]


def validate(model: type[Model], document: Document, at: KeyPath = ()) -> Model:
    """The part `at` of a document as a `model`; ConfigError with every problem otherwise."""
    tree = document.value(at)
    try:
        return model.model_validate(tree)
    except ValidationError as error:
        found = problems_of(error, document, at, model)
        raise ConfigError(in_file_order(found.values(), document)) from None


def texts_of(
    tree: dict[str, Any], model: type[BaseModel], checks: Iterable[Check]
) -> dict[KeyPath, str]:
    """What the model and the checks find wrong with a plain tree: a message per key."""
    document = Document(tree, "", Path())
    texts: dict[KeyPath, str] = {}
    try:
        model.model_validate(tree)
    except ValidationError as error:
        found = problems_of(error, document, (), model)
        texts = {path: problem.message for path, problem in found.items()}
    for check in checks:
        for path, text in check(tree):
            must = text.startswith("must")
            texts.setdefault(path, describe(path, text, document.value(path)) if must else text)
    return texts


def problems_of(
    error: ValidationError,
    document: Document,
    at: KeyPath,
    model: type[BaseModel],
    more_keys: Sequence[str] = (),
) -> dict[KeyPath, Problem]:
    """One problem per key; `more_keys` may stand at the top of a file beside the model's own."""
    found: dict[KeyPath, Problem] = {}
    for item in error.errors(include_url=False):
        path = _real_path(document.tree, (*at, *item["loc"]), item["type"])
        message, place = _message(item, path, model, more_keys)
        found.setdefault(path, Problem(document.where(place), message))
    return found


def in_file_order(problems: Iterable[Problem], document: Document) -> list[Problem]:
    """As a reader meets them: by file, line and column, then what options carried."""
    sources = list(dict.fromkeys(_split(where)[0] for where in document.positions.values()))

    def place(problem: Problem) -> tuple[int, int, int]:
        source, line, column = _split(problem.where)
        return sources.index(source) if source in sources else -1, line, column

    return sorted(problems, key=place)


def describe(path: KeyPath, must: str, got: Any) -> str:
    """`'server.max_model_len' must be >= 1 (got 0)`."""
    return f"'{dotted(path)}' {must} (got {short(got)})"


def dotted(path: KeyPath) -> str:
    """`server.max_model_len`, `mixture[1].weight`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def did_you_mean(value: object, known: list[str]) -> str:
    """`; did you mean 'server'?` when something is near, else an empty string."""
    near = get_close_matches(str(value).lower(), [name.lower() for name in known], n=1, cutoff=0.6)
    return f"; did you mean '{next(n for n in known if n.lower() == near[0])}'?" if near else ""


def _split(where: str) -> tuple[str, int, int]:
    parts = where.rsplit(":", 2)
    if len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit():
        return parts[0], int(parts[1]), int(parts[2])
    return where, 0, 0


def _real_path(tree: Any, loc: KeyPath, kind: str) -> KeyPath:
    """Drop the names of union members that pydantic puts between keys."""
    path: list[str | int] = []
    for index, part in enumerate(loc):
        inside = isinstance(tree, Mapping) and part in tree
        listed = isinstance(tree, list) and isinstance(part, int) and part < len(tree)
        if inside or listed:
            path.append(part)
            tree = tree[part]
        elif index == len(loc) - 1 and kind == "missing":
            path.append(part)
    return tuple(path)


_SIMPLE = {
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
    "model_attributes_type": "must be a mapping of keys to values",
}
_BOUNDS = {
    "greater_than": ("gt", "must be > {}"),
    "greater_than_equal": ("ge", "must be >= {}"),
    "less_than": ("lt", "must be < {}"),
    "less_than_equal": ("le", "must be <= {}"),
}


def _message(
    item: Any, path: KeyPath, model: type[BaseModel], more_keys: Sequence[str]
) -> tuple[str, KeyPath]:
    """What to say, and the key to point at."""
    kind, context, got = item["type"], item.get("ctx", {}), item["input"]
    inner = (*path, "kind")
    if kind == "missing":
        return f"'{dotted(path)}' is required", path
    if kind == "extra_forbidden":
        siblings = _keys_at(model, path[:-1])
        return _unknown_key(path, [*siblings, *(more_keys if len(path) == 1 else ())]), path
    if kind == "literal_error":
        return describe(path, _choice(str(context["expected"]), got), got), path
    if kind == "union_tag_invalid":
        tag = context["tag"]
        return describe(inner, _choice(str(context["expected_tags"]), tag), tag), inner
    if kind == "union_tag_not_found":
        return f"'{dotted(inner)}' is required", path
    if kind in ("value_error", "assertion_error"):
        return _rule(path, str(context.get("error", item["msg"])), got)
    return describe(path, _must(kind, context, got, item["msg"]), got), path


def _must(kind: str, context: Mapping[str, Any], got: Any, otherwise: str) -> str:
    if kind in _BOUNDS:
        if isinstance(got, float) and math.isnan(got):
            return _SIMPLE["finite_number"]
        name, pattern = _BOUNDS[kind]
        return pattern.format(_bound(context[name]))
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    return otherwise if otherwise.startswith("must") else f"must be valid: {otherwise}"


def _bound(value: float) -> str:
    """A large whole bound is told to its last digit: 2,147,483,647 is not 2.14748e+09."""
    exact = isinstance(value, int) and value >= 10**6
    return f"{value:,}" if exact else f"{value:g}"


def _rule(path: KeyPath, text: str, got: Any) -> tuple[str, KeyPath]:
    """A rule over several keys begins with the one to point at: `'high' must be ...`."""
    if text.startswith("must"):
        return describe(path, text, got), path
    key = tuple(text.split("'")[1].split(".")) if text.startswith("'") else ()
    if not path or key[: len(path)] == path:
        return text, key
    return f"'{dotted(path)}': {text}", (*path, *key)


#: Tags of unions that stand for "a text instead of a mapping": nobody writes them as a kind.
_NOT_KINDS = ("name", "inline")


def _choice(expected: str, got: Any) -> str:
    parts = [part.strip(" '") for part in expected.replace(" or ", ", ").split(",")]
    names = [name for name in parts if name not in _NOT_KINDS]
    hint = did_you_mean(got, names) if len(names) > 1 else ""
    return f"must be {', '.join(repr(name) for name in names)}{hint}"


def _unknown_key(path: KeyPath, siblings: list[str]) -> str:
    hint = did_you_mean(path[-1], siblings)
    known = "" if hint or not siblings else f"; known here: {', '.join(siblings)}"
    return f"'{dotted(path)}' is not a known key{hint}{known}"


def is_whole(model: type[BaseModel], path: KeyPath) -> bool:
    """Whether numbers at `path` must be whole, in whatever member of the unions on the way."""
    fields = _fields_at(model, path[:-1])
    found = [info.annotation for name, info in fields if path[-1] in keys_of(name, info)]
    kinds = {kind for annotation in found for kind in _plain_types(annotation)}
    return int in kinds and float not in kinds


def _plain_types(annotation: Any) -> list[Any]:
    inner = getattr(annotation, "__args__", ())
    return [found for part in inner for found in _plain_types(part)] if inner else [annotation]


def _keys_at(model: type[BaseModel], path: KeyPath) -> list[str]:
    """The keys that `model` knows below `path`, over all members of unions on the way."""
    known = _fields_at(model, path)
    return list(dict.fromkeys(key for name, info in known for key in keys_of(name, info)))


def _fields_at(model: type[BaseModel], path: KeyPath) -> list[tuple[str, FieldInfo]]:
    here: list[type[BaseModel]] = [model]
    for part in path:
        fields = [m.model_fields[part].annotation for m in here if part in m.model_fields]
        here = [found for annotation in fields for found in _models_in(annotation)]
    return [pair for m in here for pair in m.model_fields.items()]


def keys_of(name: str, info: FieldInfo) -> list[str]:
    """All keys that a field may be written as, the usual one first."""
    alias = info.validation_alias
    if isinstance(alias, AliasChoices):
        return [str(choice) for choice in alias.choices]
    return [alias if isinstance(alias, str) else name]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in getattr(annotation, "__args__", ()) for found in _models_in(part)]


def short(value: Any, limit: int = 60) -> str:
    """The value as a reader would write it, cut when it is long."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return f"a mapping of {', '.join(map(str, value))}" if value else "an empty mapping"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
