"""Narrow floats in plain integer arithmetic, for machines without them.

A float32 is taken apart by shifts and rounded to nearest, ties to even, as hardware does.  One
function serves float16, bfloat16 and fp8 e4m3: they differ in how many bits go to what.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wastesim.decode.arrays import Floats

Codes: TypeAlias = NDArray[np.uint32]

_INFINITY = 0x7F80_0000
_SIGNIFICAND = 23  # bits of a float32 behind the point


@dataclass(frozen=True)
class NarrowFloat:
    """Bits of a narrow float: sign, `exponent`, `significand`."""

    exponent: int
    significand: int
    has_infinity: bool = True

    @property
    def bias(self) -> int:
        """What is added to an exponent to store it."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def highest(self) -> int:
        """Code of infinity, or of the largest number where there is no infinity."""
        top = ((1 << self.exponent) - 1) << self.significand
        return top if self.has_infinity else top + (1 << self.significand) - 2

    @property
    def nan(self) -> int:
        """The lowest code that is not a number."""
        return self.highest + 1


FLOAT16 = NarrowFloat(5, 10)
BFLOAT16 = NarrowFloat(8, 7)
FP8_E4M3 = NarrowFloat(4, 3, has_infinity=False)  # OCP's e4m3: saturates at 448


def narrowed(numbers: Floats, kind: NarrowFloat) -> Codes:
    """The codes of float32 numbers, right-aligned; NaN keeps what fits of its payload."""
    bits = np.ascontiguousarray(numbers, np.float32).view(np.uint32)
    magnitude = bits & np.uint32(0x7FFF_FFFF)
    drop = np.uint32(_SIGNIFICAND - kind.significand)
    rebias = np.uint32((127 - kind.bias) << _SIGNIFICAND)
    code = _rounded(magnitude - rebias, drop)  # wraps below the smallest normal, see next line
    if rebias:
        normal = magnitude >= rebias + np.uint32(1 << _SIGNIFICAND)
        code = np.where(normal, code, _subnormal(magnitude, kind))
    code = np.where(magnitude >= rebias, np.minimum(code, np.uint32(kind.highest)), code)
    code = np.where(magnitude > _INFINITY, _nan(magnitude, kind), code)
    sign = bits >> np.uint32(31) << np.uint32(kind.exponent + kind.significand)
    both: Codes = sign | code
    return both


def _rounded(bits: Codes, drop: np.uint32) -> Codes:
    """`bits >> drop` to nearest, ties to even; a carry goes on into the exponent, rightly."""
    one = np.uint32(1)
    half_less_one = (one << (drop - one)) - one
    rounded: Codes = (bits + half_less_one + (bits >> drop & one)) >> drop
    return rounded


def _subnormal(magnitude: Codes, kind: NarrowFloat) -> Codes:
    """Codes below the smallest normal: the significand with its hidden bit, shifted and rounded."""
    exponent = (magnitude >> np.uint32(_SIGNIFICAND)).astype(np.int64)
    significand = (magnitude & np.uint32(0x7F_FFFF) | np.uint32(0x80_0000)).astype(np.int64)
    shift = np.minimum(127 - kind.bias + 1 + _SIGNIFICAND - kind.significand - exponent, 26)
    shift = np.maximum(shift, 1)
    half_less_one = (np.int64(1) << (shift - 1)) - 1
    code = (significand + half_less_one + (significand >> shift & 1)) >> shift
    narrow: Codes = code.astype(np.uint32)
    return narrow


def _nan(magnitude: Codes, kind: NarrowFloat) -> Codes:
    if not kind.has_infinity:
        return np.full_like(magnitude, kind.nan)
    payload = magnitude >> np.uint32(_SIGNIFICAND - kind.significand)
    payload &= np.uint32(2**kind.significand - 1)
    code: Codes = np.uint32(kind.highest) + np.maximum(payload, np.uint32(1))
    return code


def widened(codes: NDArray[np.unsignedinteger], kind: NarrowFloat) -> Floats:
    """The float32 of each code, exactly."""
    magnitude = codes.astype(np.uint32) & np.uint32(2 ** (kind.exponent + kind.significand) - 1)
    sign = codes.astype(np.uint32) >> np.uint32(kind.exponent + kind.significand) << np.uint32(31)
    up = np.uint32(_SIGNIFICAND - kind.significand)
    rebias = np.uint32((127 - kind.bias) << _SIGNIFICAND)
    normal = (magnitude << up) + rebias
    step = np.float32(2.0 ** (1 - kind.bias - kind.significand)) if rebias else np.float32(0)
    small = (magnitude.astype(np.float32) * step).view(np.uint32)
    is_small = (magnitude >> np.uint32(kind.significand) == 0) if rebias else False
    bits = np.where(is_small, small, normal)
    if kind.has_infinity:
        special = magnitude >= kind.highest
        payload = magnitude << up & np.uint32(0x7F_FFFF)
        bits = np.where(special, np.uint32(_INFINITY) | payload, bits)
    else:
        bits = np.where(magnitude == kind.nan, np.uint32(0x7FC0_0000), bits)
    numbers: Floats = (bits | sign).view(np.float32)
    return numbers


@cache
def table(kind: NarrowFloat) -> Floats:
    """Every code's number, for kinds of at most 16 bits."""
    codes = np.arange(2 ** (1 + kind.exponent + kind.significand), dtype=np.uint32)
    return widened(codes, kind)
