"""From pydantic's errors to one line each: where, which key, what it must be, what it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from wastesim.config.yaml_reader import Document, KeyPath
from wastesim.errors import ConfigError, Problem

Model = TypeVar("Model", bound=BaseModel)


def validate(model: type[Model], document: Document, at: KeyPath = ()) -> Model:
    """The part `at` of a document as a `model`; ConfigError with every problem otherwise."""
    tree = _descend(document.tree, at)
    try:
        return model.model_validate(tree)
    except ValidationError as error:
        raise ConfigError(problems_of(error, document, at, model)) from None


def problems_of(
    error: ValidationError, document: Document, at: KeyPath, model: type[BaseModel]
) -> list[Problem]:
    """One problem per key, in file order."""
    found: dict[KeyPath, Problem] = {}
    for item in error.errors(include_url=False):
        path = _real_path(document.tree, (*at, *item["loc"]), item["type"])
        message = _message(item, path, model)
        found.setdefault(path, Problem(document.where(path), message))
    return sorted(found.values(), key=_file_order)


def describe(path: KeyPath, must: str, got: Any) -> str:
    """`'server.max_model_len' must be >= 1 (got 0)`."""
    return f"'{dotted(path)}' {must} (got {_short(got)})"


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


def _file_order(problem: Problem) -> tuple[str, int, int]:
    parts = problem.where.rsplit(":", 2)
    if len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit():
        return parts[0], int(parts[1]), int(parts[2])
    return problem.where, 0, 0


def _descend(tree: Any, path: KeyPath) -> Any:
    for part in path:
        tree = tree[part]
    return tree


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


def _message(item: Any, path: KeyPath, model: type[BaseModel]) -> str:
    kind, context, got = item["type"], item.get("ctx", {}), item["input"]
    special: dict[str, Callable[[], str]] = {
        "missing": lambda: f"'{dotted(path)}' is required",
        "extra_forbidden": lambda: _unknown_key(path, model),
        "literal_error": lambda: describe(path, _choice(str(context["expected"]), got), got),
        "union_tag_invalid": lambda: describe(
            (*path, "kind"), _choice(str(context["expected_tags"]), context["tag"]), context["tag"]
        ),
        "union_tag_not_found": lambda: f"'{dotted((*path, 'kind'))}' is required",
    }
    if kind in special:
        return special[kind]()
    if kind in _BOUNDS:
        name, pattern = _BOUNDS[kind]
        return describe(path, pattern.format(context[name]), got)
    if kind in ("value_error", "assertion_error"):
        text = str(context.get("error", item["msg"]))
        return describe(path, text, got) if text.startswith("must") else _whole(path, text)
    return describe(path, _SIMPLE.get(kind, f"must be valid: {item['msg']}"), got)


def _whole(path: KeyPath, text: str) -> str:
    """A rule over several keys says which ones itself."""
    return f"'{dotted(path)}': {text}" if path else text


def _choice(expected: str, got: Any) -> str:
    names = [part.strip(" '") for part in expected.replace(" or ", ", ").split(",")]
    return f"must be {expected.replace(' or ', ', ')}{did_you_mean(got, names)}"


def _unknown_key(path: KeyPath, model: type[BaseModel]) -> str:
    siblings = _keys_at(model, path[:-1])
    hint = did_you_mean(path[-1], siblings)
    known = "" if hint or not siblings else f"; known here: {', '.join(siblings)}"
    return f"'{dotted(path)}' is not a known key{hint}{known}"


def _keys_at(model: type[BaseModel], path: KeyPath) -> list[str]:
    """The keys that `model` knows below `path`, over all members of unions on the way."""
    here: list[type[BaseModel]] = [model]
    for part in path:
        fields = [m.model_fields[part].annotation for m in here if part in m.model_fields]
        here = [found for annotation in fields for found in _models_in(annotation)]
    names = [info.alias or name for m in here for name, info in m.model_fields.items()]
    return list(dict.fromkeys(names))


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in getattr(annotation, "__args__", ()) for found in _models_in(part)]


def _short(value: Any, limit: int = 60) -> str:
    text = "nothing" if value is None else repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
