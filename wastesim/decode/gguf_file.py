"""What a GGUF file says of itself: its fields and where its tensors lie.

The header is read here, with every count and offset checked against the file's size before it is
believed, so that a broken file is one clear error.  (`gguf.GGUFReader` takes 5 s for the 98,000
strings of SmolLM2's vocabulary; this takes 0.2 s.)  The package is used to dequantise.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from wastesim.decode.arrays import Bytes, Floats
from wastesim.errors import InputError

MAGIC = b"GGUF"
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q",
            12: "d"}  # fmt: skip
_STRING, _ARRAY = 8, 9
_MOST_DIMENSIONS = 4


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
        kind = gguf.GGMLQuantizationType(tensor.kind)
        raw: Bytes = np.fromfile(
            self.path, np.uint8, tensor.stop - tensor.start, offset=tensor.start
        )
        try:
            numbers = gguf.dequantize(_as_stored(raw, kind), kind)
        except NotImplementedError:
            raise InputError(
                f"{self.path}: tensor '{name}' is {kind.name}, which cannot be dequantised here"
            ) from None
        return numbers.astype(np.float32, copy=False).reshape(tensor.shape)


def read_gguf(path: Path) -> GgufFile:
    """Read the header; InputError when the file is not GGUF, truncated or damaged."""
    try:
        with path.open("rb") as file, _mapped(file.fileno(), path) as data:
            return _Reader(path, data).file()
    except FileNotFoundError:
        raise InputError(f"{path}: does not exist") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


def _mapped(descriptor: int, path: Path) -> mmap.mmap:
    try:
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    except ValueError:  # an empty file cannot be mapped
        raise InputError(f"{path}: is not a GGUF file (it is empty)") from None


class _Reader:
    """Walks over the header from its first byte."""

    def __init__(self, path: Path, data: mmap.mmap) -> None:
        self._path = path
        self._data = data
        self._at = 0

    def file(self) -> GgufFile:
        """The whole header."""
        if self._take(4) != MAGIC:
            raise InputError(f"{self._path}: is not a GGUF file (it does not begin with 'GGUF')")
        version = self._number("I")
        if version not in (2, 3):
            raise self._damaged(f"its version is {version}, 2 and 3 can be read")
        tensors, fields = self._number("Q"), self._number("Q")
        values = dict(self._field() for _ in range(self._believed(fields, 13)))
        placed = [self._tensor() for _ in range(self._believed(tensors, 24))]
        first = self._aligned(int(values.get("general.alignment", 32)))
        return GgufFile(self._path, values, {t.name: self._inside(t, first) for t in placed})

    def _field(self) -> tuple[str, Any]:
        return self._string(), self._value(self._number("I"))

    def _value(self, kind: int) -> Any:
        if kind in _SCALARS:
            return self._number(_SCALARS[kind])
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            return self._array(self._number("I"), self._number("Q"))
        raise self._damaged(f"a field has the unknown type {kind}")

    def _array(self, kind: int, length: int) -> list[Any]:
        if kind in _SCALARS:
            letter = _SCALARS[kind]
            raw = self._take(length * struct.calcsize(f"<{letter}"))
            return list(struct.unpack(f"<{length}{letter}", raw))
        return [self._value(kind) for _ in range(self._believed(length, 8))]

    def _tensor(self) -> Tensor:
        """Its start and stop are still relative to the data."""
        name, dimensions = self._string(), self._number("I")
        if not 1 <= dimensions <= _MOST_DIMENSIONS:
            raise self._damaged(f"tensor '{name}' has {dimensions} dimensions")
        shape = tuple(self._number("Q") for _ in range(dimensions))[::-1]
        kind, start = self._number("I"), self._number("Q")
        if kind not in _sizes():
            raise self._damaged(f"tensor '{name}' has the unknown format {kind}")
        block, block_bytes = _sizes()[kind]
        if shape[-1] % block:
            raise self._damaged(f"tensor '{name}' has rows of {shape[-1]}, no multiple of {block}")
        return Tensor(name, shape, kind, start, start + prod(shape) // block * block_bytes)

    def _inside(self, tensor: Tensor, first: int) -> Tensor:
        start, stop = first + tensor.start, first + tensor.stop
        if stop > len(self._data):
            raise InputError(
                f"{self._path}: is truncated: tensor '{tensor.name}' ends at byte {stop:,},"
                f" the file has {len(self._data):,}; fetch it again"
            )
        return Tensor(tensor.name, tensor.shape, tensor.kind, start, stop)

    def _aligned(self, alignment: int) -> int:
        if alignment < 1:
            raise self._damaged(f"'general.alignment' is {alignment}")
        return -(-self._at // alignment) * alignment

    def _string(self) -> str:
        return self._take(self._number("Q")).decode("utf-8", "replace")

    def _number(self, letter: str) -> Any:
        return struct.unpack(f"<{letter}", self._take(struct.calcsize(f"<{letter}")))[0]

    def _take(self, count: int) -> bytes:
        stop = self._at + count
        if stop > len(self._data):
            raise InputError(
                f"{self._path}: is truncated: its header goes on to byte {stop:,},"
                f" the file has {len(self._data):,}; fetch it again"
            )
        taken = self._data[self._at : stop]
        self._at = stop
        return taken

    def _believed(self, count: int, least_bytes: int) -> int:
        """A count of things that take at least so many bytes each."""
        if count * least_bytes > len(self._data):
            raise self._damaged(f"it claims {count:,} entries in {len(self._data):,} bytes")
        return count

    def _damaged(self, why: str) -> InputError:
        return InputError(f"{self._path}: is damaged or no GGUF that can be read ({why})")


@cache
def _sizes() -> dict[int, tuple[int, int]]:
    """Numbers per block and bytes per block of every format."""
    import gguf

    return {int(kind): size for kind, size in gguf.GGML_QUANT_SIZES.items()}


def _as_stored(raw: Bytes, kind: Any) -> Any:
    """What `gguf.dequantize` wants: typed numbers for the plain formats, bytes for the others."""
    plain = {"F32": np.float32, "F16": np.float16, "F64": np.float64}
    return raw.view(plain[kind.name]) if kind.name in plain else raw
