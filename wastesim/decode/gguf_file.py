"""A GGUF file whose tensors can be read: the catalog reads its header, `gguf` dequantises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wastesim.catalog.gguf_header import Header, read_header
from wastesim.catalog.gguf_header import Tensor as Listed
from wastesim.decode.arrays import Bytes, Floats
from wastesim.errors import InputError


@dataclass(frozen=True)
class Tensor:
    """One tensor: its shape as NumPy counts (rows first), its format and its bytes."""

    name: str
    shape: tuple[int, ...]
    kind: int  # of gguf.GGMLQuantizationType
    start: int
    stop: int


@dataclass(frozen=True)
class GgufFile:
    """A file whose header was understood and whose tensors are all inside it."""

    path: Path
    fields: Mapping[str, Any]
    tensors: Mapping[str, Tensor]

    def read(self, name: str) -> Floats:
        """A tensor as float32, dequantised."""
        import gguf

        tensor = self.tensors[name]
        raw: Bytes = np.fromfile(
            self.path, np.uint8, tensor.stop - tensor.start, offset=tensor.start
        )
        try:
            kind = gguf.GGMLQuantizationType(tensor.kind)
            numbers = gguf.dequantize(_as_stored(raw, kind), kind)
        except (ValueError, NotImplementedError):
            raise InputError(
                f"{self.path}: tensor '{name}' is {_format(tensor.kind)}, which cannot be"
                " dequantised here"
            ) from None
        return numbers.astype(np.float32, copy=False).reshape(tensor.shape)


def read_gguf(path: Path) -> GgufFile:
    """Read the header; InputError when the file is not GGUF, truncated or damaged."""
    header = read_header(path)
    size = path.stat().st_size
    tensors = {listed.name: _inside(path, size, header, listed) for listed in header.tensors}
    return GgufFile(path, header.metadata, tensors)


def _inside(path: Path, size: int, header: Header, listed: Listed) -> Tensor:
    """Where it lies in the file."""
    start = header.data_start + listed.offset
    stop = start + listed.bytes
    if stop > size:
        raise InputError(
            f"{path}: is truncated: tensor '{listed.name}' ends at byte {stop:,},"
            f" the file has {size:,}; fetch it again"
        )
    return Tensor(listed.name, listed.shape[::-1], listed.type, start, stop)


def _format(kind: int) -> str:
    """A format's name, or its number where the package does not know it."""
    import gguf

    names = {int(known): known.name for known in gguf.GGMLQuantizationType}
    return str(names.get(kind, f"of format {kind}"))


def _as_stored(raw: Bytes, kind: Any) -> Any:
    """What `gguf.dequantize` wants: typed numbers for the plain formats, bytes for the others."""
    plain = {"F32": np.float32, "F16": np.float16, "F64": np.float64}
    return raw.view(plain[kind.name]) if kind.name in plain else raw
