"""`extends: other.yaml`: an experiment that says only what is different from another.

Mappings are merged key by key, the extending file wins, and everything else (lists included) is
replaced as a whole.  So is a mapping whose `kind` is another one: a fixed clock has nothing to
inherit from a roofline.  A key without a value takes away what was inherited.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wastesim.config.paths import with_absolute_paths
from wastesim.config.yaml_reader import Document, KeyPath, read_yaml
from wastesim.errors import ConfigError, Problem

KEY = "extends"


def extended(document: Document, chain: tuple[Path, ...] = ()) -> Document:
    """The document merged over the ones it extends, each with its own paths made absolute.

    Keys keep their place in the file they stand in.  `chain` are the files that led here.
    """
    own = with_absolute_paths(document, document.base)
    if KEY not in own.tree:
        return own
    path = _extended_file(own, chain)
    base = extended(read_yaml(path, _shown(own, path)), (*chain, path.resolve()))
    return _merged(base, own)


def _extended_file(own: Document, chain: tuple[Path, ...]) -> Path:
    text = own.value((KEY,))
    if not isinstance(text, str) or not text:
        raise _error(own, f"must be the path of a YAML file (got {text!r})")
    path = Path(os.path.normpath(own.base / text))
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "no such file"
        raise _error(own, f"must be a file that exists (got {text!r}, {kind})")
    if path.resolve() in chain:
        names = " -> ".join(file.name for file in (*chain, path))
        raise _error(own, f"must not lead back to where it began ({names})")
    return path


def _error(own: Document, must: str) -> ConfigError:
    return ConfigError([Problem(own.where((KEY,)), f"'{KEY}' {must}")])


def _shown(own: Document, path: Path) -> str:
    """The file as seen from the current folder, in the manner the first one was named."""
    shown = os.path.normpath(os.path.join(os.path.dirname(own.source), own.tree[KEY]))
    return shown if Path(shown).resolve() == path.resolve() else str(path)


def _merged(base: Document, own: Document) -> Document:
    hidden: set[KeyPath] = {(KEY,)}
    tree = _over(base.tree, own.tree, (), hidden)
    del tree[KEY]
    inherited = {
        path: where
        for path, where in base.positions.items()
        if path not in own.positions and not any(path[: len(top)] == top for top in hidden)
    }
    positions = {path: where for path, where in own.positions.items() if path != (KEY,)}
    return replace(own, tree=tree, positions={**positions, **inherited})


def _over(base: Any, own: Any, path: KeyPath, hidden: set[KeyPath]) -> Any:
    """`own` over `base`; paths where nothing of `base` is left are added to `hidden`."""
    if not (isinstance(base, Mapping) and isinstance(own, Mapping)) or _other_kind(base, own):
        hidden.add(path)
        return own
    both = {key: _over(base[key], own[key], (*path, key), hidden) for key in own if key in base}
    return {**base, **own, **both}


def _other_kind(base: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    return "kind" in own and own["kind"] != base.get("kind")
