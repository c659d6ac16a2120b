"""Catalog names in a raw experiment, checked before anything is built.

`config` cannot know the catalog (it stands below it), so the loader of the verbs asks here and
turns what comes back into lines with file, line and column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from wastesim.catalog.gguf_model import is_gguf
from wastesim.catalog.gpus import gpu_names, is_gpu
from wastesim.catalog.models import is_model, is_model_file, model_names, read_model_file
from wastesim.catalog.names import unknown
from wastesim.errors import ConfigError

_CHECKS: Mapping[str, tuple[str, Callable[[str], bool], Callable[[], tuple[str, ...]]]] = {
    "model": ("model", is_model, model_names),
    "gpu": ("GPU", is_gpu, gpu_names),
}


def check_names(tree: Mapping[str, object]) -> Iterator[tuple[tuple[str, ...], str]]:
    """`(("model",), "must be a model of the catalog, did you mean ...")` for unknown names.

    Looks at `model` and `gpu` at the top of the tree; mappings and other values are for the
    config models to judge.  A model's file (`config.json`, GGUF) is read.  Never raises.
    """
    for key, (kind, known, names) in _CHECKS.items():
        value = tree.get(key) if isinstance(tree, Mapping) else None
        if not isinstance(value, str):
            continue
        if key == "model" and is_model_file(value):
            yield from _check_model_file(value)
        elif not known(value):
            yield (key,), unknown(value, kind, names())


def _check_model_file(path: str) -> Iterator[tuple[tuple[str, ...], str]]:
    try:
        read_model_file(Path(path))
    except ConfigError as error:
        reasons = "; ".join(str(problem).removeprefix(f"{path}: ") for problem in error.problems)
        what = "GGUF file" if is_gguf(path) else "config.json"
        yield ("model",), f"must be the {what} of a model, but {reasons}"
