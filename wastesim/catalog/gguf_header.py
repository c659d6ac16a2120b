"""The header of a GGUF file: its metadata, and how many bytes its tensors take.

Only the header is read, with nothing but the standard library, so the first few megabytes of a
file are enough.  Layout (version 2 and 3, little endian): magic, version, number of tensors and of
metadata entries; entries as (key, type, value); tensors as (name, dimensions, type, offset).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from wastesim.errors import ConfigError

#: Type of a tensor -> (elements of a block, bytes of a block).
BLOCKS: Mapping[int, tuple[int, int]] = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    9: (32, 40), 10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
    15: (256, 292), 16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18),
    21: (256, 110), 22: (256, 82), 23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8),
    28: (1, 8), 29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66), 39: (32, 17),
    40: (64, 36), 41: (128, 18),
}  # fmt: skip
_SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
_TEXT, _ARRAY = 8, 9
_LONGEST = 2**26


@dataclass(frozen=True)
class Tensor:
    """A tensor's name, shape (innermost first) and type number."""

    name: str
    shape: tuple[int, ...]
    type: int

    @property
    def elements(self) -> int:
        """Numbers in it."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Bytes in the file: whole blocks."""
        elements, size = BLOCKS[self.type]
        return -(-self.elements // elements) * size


@dataclass(frozen=True)
class Header:
    """Metadata by key (long lists as their length alone), and the tensors."""

    metadata: Mapping[str, Any]
    tensors: tuple[Tensor, ...]


def read_header(path: Path) -> Header:
    """Read the header; ConfigError naming the file when it is not a GGUF file or cut off."""
    try:
        with path.open("rb") as file:
            return _header(file, path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except (struct.error, UnicodeDecodeError, EOFError, OverflowError):
        raise ConfigError(f"{path}: its GGUF header is cut off or damaged") from None


def _header(file: BinaryIO, path: Path) -> Header:
    if file.read(4) != b"GGUF":
        raise ConfigError(f"{path}: is not a GGUF file (it does not begin with 'GGUF')")
    (version,) = _unpack(file, "I")
    if version not in (2, 3):
        raise ConfigError(f"{path}: GGUF version must be 2 or 3, little endian (got {version})")
    tensors, entries = _unpack(file, "QQ")
    metadata = {_text(file): _value(file, *_unpack(file, "I")) for _ in range(entries)}
    return Header(metadata, tuple(_tensor(file, path) for _ in range(tensors)))


def _tensor(file: BinaryIO, path: Path) -> Tensor:
    name = _text(file)
    (dimensions,) = _unpack(file, "I")
    shape = _unpack(file, f"{min(dimensions, 8)}Q")
    kind, _offset = _unpack(file, "IQ")
    if kind not in BLOCKS:
        raise ConfigError(f"{path}: tensor '{name}' has a type that is not known (got {kind})")
    return Tensor(name, shape, kind)


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _TEXT:
        return _text(file)
    if kind != _ARRAY:
        return _unpack(file, _SCALARS.get(kind, "?"))[0]
    inner, length = _unpack(file, "IQ")
    if length > _LONGEST:
        raise OverflowError
    return [_value(file, inner) for _ in range(length)]


def _text(file: BinaryIO) -> str:
    (length,) = _unpack(file, "Q")
    if length > _LONGEST:
        raise OverflowError
    return _exactly(file, length).decode("utf-8", errors="replace")


def _unpack(file: BinaryIO, form: str) -> tuple[Any, ...]:
    return struct.unpack(f"<{form}", _exactly(file, struct.calcsize(f"<{form}")))


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise EOFError
    return data
