"""Types in which weights, keys and values are stored, and the bytes they take.

::

    float32 float16 bfloat16 fp8 int8 int4   the payload alone
    q8_0 q5_1 q5_0 q4_1 q4_0 iq4_nl          ggml's blocks of 32 elements, scales included
    int8_head fp8_head int4_head             with a float32 scale per token and head
    int8_g32 int4_g32 int4_g64_zp            groups with a 16-bit scale (and a 16-bit zero point)
    q8_0/q4_0                                one type for K and one for V
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator


class Format(NamedTuple):
    """How elements are stored: `elements` of them take `bytes`.

    Every stored vector of a head takes `per_head` bytes more, for a scale of its own.
    """

    elements: int
    bytes: int
    per_head: int = 0


#: Plain types; int8, int4 and fp8 are the payload alone (a scale per tensor is next to nothing).
_PLAIN = {
    "float32": Format(1, 4),
    "float16": Format(1, 2),
    "bfloat16": Format(1, 2),
    "fp8": Format(1, 1),
    "int8": Format(1, 1),
    "int4": Format(2, 1),
}
#: Types with their scales: ggml's blocks of 32, and a float32 scale per token and head.
_SCALED = {
    "q8_0": Format(32, 34),
    "q5_1": Format(32, 24),
    "q5_0": Format(32, 22),
    "q4_1": Format(32, 20),
    "q4_0": Format(32, 18),
    "iq4_nl": Format(32, 18),
    "int8_head": Format(1, 1, 4),
    "fp8_head": Format(1, 1, 4),
    "int4_head": Format(2, 1, 4),
}
FORMATS: Mapping[str, Format] = {**_PLAIN, **_SCALED}
#: `int4_g32_zp`: groups of 32, each with a scale and a zero point of 16 bits.
_GROUPED = re.compile(r"(int8|int4)_g([1-9]\d{0,3})(_zp)?")
#: Other names of the same types, as servers write them.
DTYPE_ALIASES: Mapping[str, str] = {
    "auto": "float16",
    "fp32": "float32",
    "f32": "float32",
    "fp16": "float16",
    "f16": "float16",
    "half": "float16",
    "bf16": "bfloat16",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "int8_per_token_head": "int8_head",
    "fp8_per_token_head": "fp8_head",
}


def canonical_dtype(name: str) -> str:
    """`float16` for `fp16`, `half` or `auto`; `q8_0/q4_0` is one type for K and one for V.

    `auto` is 16 bits whatever the weights are stored in: a server runs in 16 bits and stores
    keys and values as it runs, so weights of 8 bits do not halve the cache.  ValueError naming
    the valid types otherwise.
    """
    sides = [_canonical(side) for side in name.split("/")]
    if len(sides) > 2:
        raise ValueError("must be one type, or one for K and one for V, such as 'q8_0/q4_0'")
    return sides[0] if len(set(sides)) == 1 else "/".join(sides)


def _canonical(name: str) -> str:
    key = DTYPE_ALIASES.get(name.strip().lower(), name.strip().lower())
    if key not in FORMATS and not _GROUPED.fullmatch(key):
        known = ", ".join((*FORMATS, *DTYPE_ALIASES))
        raise ValueError(f"must be one of {known}, or int8_g32, int4_g32_zp and the like")
    return key


def dtype_format(dtype: str) -> Format:
    """The format of one canonical type (not of a pair)."""
    grouped = _GROUPED.fullmatch(dtype)
    if grouped is None:
        return FORMATS[dtype]
    payload, size = _PLAIN[grouped[1]], int(grouped[2])
    scales = 4 if grouped[3] else 2
    return Format(size, -(-size * payload.bytes // payload.elements) + scales)


def _dtype(value: Any) -> Any:
    return canonical_dtype(value) if isinstance(value, str) else value


def _weights_dtype(value: Any) -> Any:
    """Block formats are mixed in real files: their weights are stated in bytes."""
    if not isinstance(value, str):
        return value
    key = DTYPE_ALIASES.get(value.lower(), value.lower())
    if key not in _PLAIN:
        raise ValueError(f"must be one of {', '.join(_PLAIN)}; state 'weights' in bytes otherwise")
    return key


DType = Annotated[str, BeforeValidator(_dtype)]
WeightsDType = Annotated[str, BeforeValidator(_weights_dtype)]
