"""Columns of numbers as one blob: each in the narrowest type that holds it, gzipped, base64.

The browser unpacks it with `DecompressionStream` and lays typed arrays over it, so columns stand
widest first and every one begins at a multiple of its width.
"""

from __future__ import annotations

import base64
import gzip
from typing import Any, NamedTuple

import numpy as np

from wastesim.records import Array

_UNSIGNED = (("u1", 2**8), ("u2", 2**16), ("u4", 2**32))


class Blob(NamedTuple):
    """`columns` are (name, type, length) in their order in the data."""

    columns: list[tuple[str, str, int]]
    data: str


def encode(columns: dict[str, Array]) -> Blob:
    """Integers become u1, u2 or u4, floats f4 (NaN stays NaN)."""
    typed = {name: _narrowed(values) for name, values in columns.items()}
    order = sorted(typed, key=lambda name: -typed[name].dtype.itemsize)
    raw = b"".join(typed[name].tobytes() for name in order)
    about = [(name, typed[name].dtype.str[1:], len(typed[name])) for name in order]
    return Blob(about, base64.b64encode(gzip.compress(raw, 6, mtime=0)).decode("ascii"))


def decode(blob: Blob) -> dict[str, Array]:
    """What `encode` was given, in the types it chose."""
    raw, at, out = gzip.decompress(base64.b64decode(blob.data)), 0, {}
    for name, kind, length in blob.columns:
        out[name] = np.frombuffer(raw, dtype=f"<{kind}", count=length, offset=at)
        at += out[name].nbytes
    return out


def _narrowed(values: Array) -> np.ndarray[Any, Any]:
    if values.dtype.kind == "f":
        return values.astype("<f4")
    most = int(values.max(initial=0))
    if int(values.min(initial=0)) < 0 or most >= 2**32:
        raise ValueError(f"must be between 0 and 2**32 (got {values.min()} to {most})")
    return values.astype("<" + next(kind for kind, limit in _UNSIGNED if most < limit))
