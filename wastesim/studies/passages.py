"""What a study of the laboratory reads: a shipped passage, a text file, or drawn tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wastesim.config.quality import Laboratory
from wastesim.decode.geometry import DecodeModel
from wastesim.errors import InputError

_FOLDER = Path(__file__).resolve().parents[1]


def reads_text(model: DecodeModel) -> bool:
    """Whether a model has a tokenizer; a drawn one has none, and is given drawn tokens."""
    return model.source is not None


def passage_read(study: Laboratory, model: DecodeModel) -> str | None:
    """The passage whose tokens a study is measured on; None when they are drawn."""
    return study.passage if reads_text(model) else None


def passage_text(name: str) -> str:
    """The passage of that name, or in that file; InputError when there is none."""
    shipped = _passages() / f"{name}.txt"
    path = shipped if shipped.is_file() else Path(name)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        known = ", ".join(sorted(path.stem for path in _passages().glob("*.txt")))
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InputError(
            f"passage '{name}': cannot be read ({reason}); give a text file or one of {known}"
        ) from None


def passage_tokens(model: DecodeModel, name: str, least: int, seed: int = 0) -> list[int]:
    """Token ids of a passage; drawn ones for a drawn model, which has no tokenizer."""
    if not reads_text(model):
        drawn = np.random.default_rng(seed).integers(model.vocab, size=max(least, 768))
        return [int(token) for token in drawn]
    from wastesim.decode.tokenizer import tokenizer_of

    tokens = tokenizer_of(model).encode(passage_text(name))
    if len(tokens) < least:
        raise InputError(f"passage '{name}': has {len(tokens):,} tokens, {least:,} are needed")
    return tokens


def _passages() -> Path:
    installed = _FOLDER / "_workloads"
    return (installed if installed.is_dir() else _FOLDER.parent / "workloads") / "passages"
