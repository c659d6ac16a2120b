"""`compare:` of an experiment: variants, each a few keys laid over the experiment.

A mapping of names to keys (nested or dotted), or a list of policies as shorthand::

    compare:
      orca_max: {server.policy: orca_max}
      paged: {server: {policy: paged, watermark: 0.01}}

    compare: [orca_max, paged]

All variants see the same requests: seed and random streams are the experiment's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator

from wastesim.config.paths import replaced, with_absolute_paths
from wastesim.config.validation import texts_of
from wastesim.config.yaml_reader import Document, KeyPath

KEY = "compare"
#: What belongs to the comparison as a whole.
SHARED = ("name", "study", "seed", "output", "extends", KEY)
_LONGEST_NAME = 60


def _read(value: Any) -> Any:
    """The mapping that a list of policies stands for; ValueError for what cannot be compared."""
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        twice = next((name for name in value if value.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"must name each policy once ('{twice}' is there twice)")
        value = {name: {"server": {"policy": name}} for name in value}
    if not isinstance(value, Mapping) or not value:
        raise ValueError("must be a mapping of names to changed keys, or a list of policies")
    for name, changes in value.items():
        _check_variant(str(name), changes)
    return {name: nested(changes) for name, changes in value.items()}


def _check_variant(name: str, changes: Any) -> None:
    printable = name.isprintable() and not any(char in "/\\" for char in name)
    if not printable or name.strip(" .") != name or not 0 < len(name) <= _LONGEST_NAME:
        raise ValueError(f"must name variants so that a folder can be named so (got {name!r})")
    if not isinstance(changes, Mapping):
        raise ValueError(f"'{KEY}.{name}' must be a mapping of changed keys (got {changes!r})")
    shared = next((key for key in nested(changes) if key in SHARED), None)
    if shared is not None:
        raise ValueError(f"'{KEY}.{name}.{shared}' cannot differ between variants; leave it out")


#: Variants in the order in which they run and are printed.
Variants = Annotated[
    dict[str, dict[str, Any]],
    BeforeValidator(_read, json_schema_input_type=dict[str, dict[str, Any]] | list[str]),
]


def nested(changes: Mapping[str, Any]) -> dict[str, Any]:
    """`{"server.policy": "paged"}` as `{"server": {"policy": "paged"}}`."""
    tree: dict[str, Any] = {}
    for key, value in changes.items():
        for part in reversed(str(key).split(".")):
            value = {part: value}
        tree = laid_over(tree, value)
    return tree


def laid_over(base: Any, own: Any) -> Any:
    """`own` over `base`, key by key; what is of another kind has nothing to inherit.

    A policy written out is one thing: it replaces the other policy.
    """
    if not (isinstance(base, Mapping) and isinstance(own, Mapping)) or _one_thing(base, own):
        return own
    both = {key: laid_over(base[key], own[key]) for key in own if key in base}
    return {**base, **own, **both}


def _one_thing(base: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    other_kind = "kind" in own and own["kind"] != base.get("kind")
    return other_kind or "claim" in own or "path" in own


def with_absolute_variants(document: Document) -> Document:
    """The document with relative paths in variants made absolute, as all others are."""
    tree, variants = document.tree, document.value((KEY,))
    for name, changes in variants.items() if isinstance(variants, Mapping) else ():
        plain = nested(changes) if isinstance(changes, Mapping) else {}
        found = with_absolute_paths(Document(plain, "", document.base), document.base).tree
        if found != plain:
            tree = replaced(tree, (KEY, name), found)
    return replace(document, tree=tree)


def variant_tree(tree: Mapping[str, Any], name: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The experiment that a variant is: the whole one with its changes, comparing nothing."""
    whole: dict[str, Any] = laid_over(tree, changes)
    kept = {
        key: value for key, value in whole.items() if key not in (KEY, "study", "sweep", "search")
    }
    return {**kept, "name": f"{tree.get('name', 'experiment')}, {name}"[-100:].strip(" .,")}


def variant_problems(
    tree: Mapping[str, Any], model: type[BaseModel], checks: Any
) -> Iterator[tuple[KeyPath, str]]:
    """What is wrong with variants and not with the experiment itself; each key once per variant."""
    try:
        variants = _read(tree[KEY]) if KEY in tree else {}
    except ValueError:
        return  # told where `compare` itself is checked
    alone = texts_of({key: value for key, value in tree.items() if key != KEY}, model, checks)
    for name, changes in variants.items():
        for path, text in texts_of(variant_tree(tree, name, changes), model, checks).items():
            if alone.get(path) != text:
                yield _place(tree[KEY], name, path), f"in variant '{name}', {text}"


def _place(written: Any, name: str, path: KeyPath) -> KeyPath:
    """Where a variant's key stands, as far as it is written there at all."""
    if not isinstance(written, Mapping):
        return (KEY, list(written).index(name))
    for length in range(len(path), 0, -1):
        dotted = ".".join(map(str, path[:length]))
        if dotted in written[name]:
            return (KEY, name, dotted, *path[length:])
    return (KEY, name, *path)
