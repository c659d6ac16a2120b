"""Field types for quantities with units, and for the numbers that servers use.

A bare number where a unit is needed is refused: nobody can tell which unit was meant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer

from wastesim.units import parse_bandwidth, parse_bytes, parse_flops, parse_seconds, parse_tokens

#: Beyond these nothing is meant seriously, and sums no longer fit in 64 bits.
MOST_BYTES, MOST_THINGS = 10**18, 10**12
#: Lengths are kept in 32 bits, as `workload.pairs` has them.
MOST_TOKENS = 2**31 - 1


def _with_unit(parse: Callable[[str], float], example: str) -> BeforeValidator:
    def read(value: Any) -> Any:
        if isinstance(value, str):
            return parse(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            raise ValueError(f"must carry a unit, such as '{example}'; a bare number is unclear")
        raise ValueError(f"must be a quantity such as '{example}'")

    return BeforeValidator(read, json_schema_input_type=str)


def _number_or(parse: Callable[[str], float]) -> BeforeValidator:
    """Text is parsed with units, numbers pass: for keys whose name already has the unit."""
    return BeforeValidator(
        lambda value: parse(value) if isinstance(value, str) else value,
        json_schema_input_type=float | str,
    )


def _whole_or(parse: Callable[[str], int]) -> BeforeValidator:
    return BeforeValidator(
        lambda value: parse(value) if isinstance(value, str) else whole(value),
        json_schema_input_type=int | str,
    )


def whole(value: Any) -> Any:
    """`1e6` is a float in YAML but plainly a whole number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _rate(value: Any) -> Any:
    if isinstance(value, str):
        if value.strip().lower() in ("inf", "infinity", "+inf"):
            return math.inf
        raise ValueError("must be a number of requests per second, or inf (all at once)")
    if isinstance(value, float) and math.isnan(value):
        raise ValueError("must be a number of requests per second, or inf (all at once)")
    return value


def _rate_out(value: float) -> float | str:
    return "inf" if math.isinf(value) else value


def _unit_out(unit: str) -> PlainSerializer:
    return PlainSerializer(lambda value: f"{value!r} {unit}" if value is not None else None)


def as_tuple(value: Any) -> Any:
    """A list as what does not change; all else is for the model to refuse."""
    return tuple(value) if isinstance(value, list) else value


#: Bytes of a quantity such as `80 GiB`; a bare number is refused.
Size = Annotated[int, _with_unit(parse_bytes, "80 GiB"), Field(ge=0, le=MOST_BYTES), _unit_out("B")]
#: Bytes per second of `3.3 TB/s`.
Bandwidth = Annotated[float, _with_unit(parse_bandwidth, "3.3 TB/s"), Field(gt=0), _unit_out("B/s")]
#: Floating-point operations per second of `1000 TFLOP/s`.
FlopRate = Annotated[
    float, _with_unit(parse_flops, "312 TFLOP/s"), Field(gt=0), _unit_out("FLOP/s")
]
#: For keys named `..._bytes`: a whole number, or text with a unit.
ByteCount = Annotated[int, _whole_or(parse_bytes), Field(ge=0, le=MOST_BYTES)]
#: For keys named `..._s`: a number of seconds, or text such as `20 ms`.
Seconds = Annotated[float, _number_or(parse_seconds), Field(ge=0, allow_inf_nan=False)]
#: A whole number of tokens, at least one; `8Ki` and `8k` are read too.
Tokens = Annotated[int, _whole_or(parse_tokens), Field(ge=1, le=MOST_TOKENS)]
#: A number of things, at least one.
Count = Annotated[int, BeforeValidator(whole), Field(ge=1, le=MOST_THINGS)]
#: How often something is repeated: more than anyone waits for is a slip of the pen.
Repeats = Annotated[Count, Field(le=10_000)]
#: Requests per second; `inf` means all at once.
RequestRate = Annotated[
    float,
    BeforeValidator(_rate, json_schema_input_type=float | Literal["inf"]),
    Field(gt=0),
    PlainSerializer(_rate_out, when_used="json"),
]
#: A share of something, above 0 and at most 1.
Share = Annotated[float, Field(gt=0, le=1)]
