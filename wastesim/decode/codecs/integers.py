"""Caches of integers: groups of numbers share a scale (float16) and perhaps a lowest value.

The bytes of a group are its scale, its lowest value if it has one, then its integers; of 4-bit
ones two share a byte, the first half of the group in the low nibbles.  `q8_0` and `q4_0` are
GGML's blocks to the bit.

=========  ==========================  =============================  ==================
dtype      scale                       integers                       bytes per group g
=========  ==========================  =============================  ==================
int8       highest magnitude / 127     -127..127                      g + 2, g = head_dim
q8_0       the same                    the same                       34, g = 32
int4_sym   highest magnitude / 7       -7..7                          g / 2 + 2
int4_asym  (highest - lowest) / 15     0..15 above the lowest         g / 2 + 4
q4_0       the farthest / -8           -8..7                          18, g = 32
=========  ==========================  =============================  ==================

Letters are those of `arrays`; ``g`` is the group and ``J`` is how many a vector has.
"""

from __future__ import annotations

from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from wastesim.decode.arrays import Bytes, Floats

Halves: TypeAlias = NDArray[np.float16]
_Number = TypeVar("_Number", np.float32, np.uint8)

_LARGEST = np.float32(65504)  # of float16


class Int8:
    """Symmetric eight-bit integers; scales are rounded before they are used, unless GGML's."""

    def __init__(self, dim: int, group: int, *, ggml: bool = False) -> None:
        self._group, self._ggml = group, ggml
        self.row_bytes = dim // group * (group + 2)

    def encode(self, rows: Floats) -> Bytes:
        """``[..., D]`` to ``[..., row_bytes]``."""
        groups = _grouped(rows, self._group)  # [..., J, g]
        exact = np.abs(groups).max(axis=-1, keepdims=True) / np.float32(127)  # [..., J, 1]
        scale = _half(exact)
        divided = _divided(groups, exact if self._ggml else scale.astype(np.float32))
        # GGML rounds halves away from zero; the others to even, as NumPy does.
        whole = _away(divided) if self._ggml else np.rint(divided)
        codes = np.clip(whole, -127, 127).astype(np.int8)
        return _row(rows, _bytes(scale), codes.view(np.uint8))

    def decode(self, stored: Bytes) -> Floats:
        """``[..., row_bytes]`` to ``[..., D]``."""
        groups = _grouped(stored, self._group + 2)
        codes = groups[..., 2:].view(np.int8).astype(np.float32)
        return _flat(codes * _numbers(groups[..., :2]))


class Int4Symmetric:
    """Four bits around zero."""

    def __init__(self, dim: int, group: int) -> None:
        self._group = group
        self.row_bytes = dim // group * (group // 2 + 2)

    def encode(self, rows: Floats) -> Bytes:
        """``[..., D]`` to ``[..., row_bytes]``."""
        groups = _grouped(rows, self._group)
        scale = _half(np.abs(groups).max(axis=-1, keepdims=True) / np.float32(7))
        whole = np.rint(_divided(groups, scale.astype(np.float32)))
        codes = (np.clip(whole, -7, 7) + 8).astype(np.uint8)
        return _row(rows, _bytes(scale), _packed(codes))

    def decode(self, stored: Bytes) -> Floats:
        """``[..., row_bytes]`` to ``[..., D]``."""
        groups = _grouped(stored, self._group // 2 + 2)
        codes = _unpacked(groups[..., 2:]) - np.float32(8)
        return _flat(codes * _numbers(groups[..., :2]))


class Int4Block(Int4Symmetric):
    """GGML's q4_0: the number farthest from zero becomes -8 exactly."""

    def encode(self, rows: Floats) -> Bytes:
        """``[..., D]`` to ``[..., row_bytes]``."""
        groups = _grouped(rows, self._group)
        at = np.abs(groups).argmax(axis=-1, keepdims=True)
        exact = np.take_along_axis(groups, at, axis=-1) / np.float32(-8)
        with np.errstate(divide="ignore", over="ignore"):
            inverse = np.where(exact == 0, np.float32(0), np.float32(1) / exact)
        codes = np.clip(np.trunc(groups * inverse + np.float32(8.5)), 0, 15).astype(np.uint8)
        return _row(rows, _bytes(_half(exact)), _packed(codes))


class Int4Asymmetric:
    """Four bits above the lowest number of the group."""

    def __init__(self, dim: int, group: int) -> None:
        self._group = group
        self.row_bytes = dim // group * (group // 2 + 4)

    def encode(self, rows: Floats) -> Bytes:
        """``[..., D]`` to ``[..., row_bytes]``."""
        groups = _grouped(rows, self._group)
        lowest = _half(groups.min(axis=-1, keepdims=True))
        above = groups - lowest.astype(np.float32)
        scale = _half(np.maximum(above.max(axis=-1, keepdims=True), 0) / np.float32(15))
        whole = np.rint(_divided(above, scale.astype(np.float32)))
        codes = np.clip(whole, 0, 15).astype(np.uint8)
        return _row(rows, _bytes(scale), _bytes(lowest), _packed(codes))

    def decode(self, stored: Bytes) -> Floats:
        """``[..., row_bytes]`` to ``[..., D]``."""
        groups = _grouped(stored, self._group // 2 + 4)
        scale, lowest = _numbers(groups[..., :2]), _numbers(groups[..., 2:4])
        return _flat(_unpacked(groups[..., 4:]) * scale + lowest)


def _grouped(rows: NDArray[_Number], size: int) -> NDArray[_Number]:
    """``[..., J * size]`` as ``[..., J, size]``."""
    return np.ascontiguousarray(rows).reshape(*rows.shape[:-1], -1, size)


def _flat(groups: Floats) -> Floats:
    return groups.reshape(*groups.shape[:-2], -1)


def _half(exact: Floats) -> Halves:
    """Scales as they are stored."""
    return np.clip(exact, -_LARGEST, _LARGEST).astype(np.float16)


def _bytes(halves: Halves) -> Bytes:
    return np.ascontiguousarray(halves).view(np.uint8)  # [..., J, 2]


def _numbers(stored: Bytes) -> Floats:
    return np.ascontiguousarray(stored).view(np.float16).astype(np.float32)  # [..., J, 1]


def _divided(groups: Floats, scale: Floats) -> Floats:
    """Numbers over their scale; a scale of zero means that all are zero, or nearly."""
    return np.divide(groups, scale, out=np.zeros_like(groups), where=scale != 0)


def _away(numbers: Floats) -> Floats:
    """Rounded to whole, halves away from zero."""
    return np.copysign(np.floor(np.abs(numbers) + np.float32(0.5)), numbers)


def _packed(codes: Bytes) -> Bytes:
    """Two codes of 0..15 per byte."""
    half = codes.shape[-1] // 2
    both: Bytes = codes[..., :half] | codes[..., half:] << np.uint8(4)
    return both


def _unpacked(packed: Bytes) -> Floats:
    low, high = packed & np.uint8(15), packed >> np.uint8(4)
    return np.concatenate([low, high], axis=-1, dtype=np.float32)


def _row(rows: Floats, *parts: Bytes) -> Bytes:
    """Groups' parts ``[..., J, n]`` side by side, then group after group."""
    groups = np.concatenate(parts, axis=-1)  # [..., J, bytes of a group]
    return groups.reshape(*rows.shape[:-1], -1)
