"""`decode:` of an experiment: what the NumPy transformer executes and how it stores K and V."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from wastesim.config.base import Frozen
from wastesim.config.quantities import Count

CacheDType = Literal[
    "float32", "float16", "bfloat16", "fp8_e4m3", "int8", "int4_sym", "int4_asym", "q8_0", "q4_0"
]
GROUPED = ("int4_sym", "int4_asym")
GROUP_SIZE = 32


def _even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even: two numbers share a byte")
    return value


class CacheFormat(Frozen):
    """How keys and values are stored; a bare name means all defaults."""

    dtype: CacheDType = "float32"
    #: Numbers that share a scale, of `int4_sym` and `int4_asym` (32, or the head where smaller).
    group_size: Annotated[int, Field(ge=2), AfterValidator(_even)] | None = None
    #: Rotate each vector by a Hadamard matrix before storing it and back after reading.
    hadamard: bool = False
    #: This many newest tokens are read in float32.
    recent_tokens: Annotated[int, Field(ge=0)] = 0
    recent_of: Literal["keys", "both"] = "both"

    @model_validator(mode="after")
    def _groups_belong_to_int4(self) -> CacheFormat:
        if self.group_size is not None and self.dtype not in GROUPED:
            raise ValueError(
                f"'group_size' belongs to {' and '.join(GROUPED)} (got dtype '{self.dtype}')"
            )
        return self

    @property
    def plain(self) -> bool:
        """Whether numbers are stored as they are computed."""
        return self.dtype == "float32" and not self.hadamard

    @property
    def label(self) -> str:
        """In words: `int4_asym, groups of 32, newest 128 keys in float32`."""
        words: list[str] = [self.dtype]
        if self.dtype in GROUPED:
            words.append(f"groups of {self.group_size or GROUP_SIZE}")
        if self.hadamard:
            words.append("Hadamard")
        if self.recent_tokens:
            kept = "keys" if self.recent_of == "keys" else "keys and values"
            words.append(f"newest {self.recent_tokens:,} {kept} in float32")
        return ", ".join(words)


def _named(value: Any) -> Any:
    return {"dtype": value} if isinstance(value, str) else value


#: `int8`, or `{dtype: int4_asym, group_size: 64, hadamard: true, recent_tokens: 128}`.
CacheFormatChoice = Annotated[
    CacheFormat, BeforeValidator(_named), WithJsonSchema({"type": ["string", "object"]})
]


class Decode(Frozen):
    """The real decode; `none` accounts only."""

    engine: Literal["numpy", "none"] = "numpy"
    #: `tiny`, `small`, `smollm2`, or the path of a Llama-like GGUF file.
    model: str = "tiny"
    kv_cache_dtype: CacheFormatChoice = CacheFormat()
    #: Compare every finished request with an uncached forward pass.
    verify: bool = False
    #: Ticks between two counts of written cells and resident pages.
    count_every: Count = 64

    @model_validator(mode="after")
    def _verify_needs_a_decode(self) -> Decode:
        if self.verify and self.engine == "none":
            raise ValueError(
                "'verify' compares decoded tokens, and nothing is decoded: set 'engine' to numpy"
                " or leave '--verify' out (got none)"
            )
        return self

    @model_validator(mode="after")
    def _verify_needs_full_precision(self) -> Decode:
        if self.verify and not self.kv_cache_dtype.plain:
            raise ValueError(
                "'verify' compares with full precision: 'kv_cache_dtype' must be float32"
                f" (got {self.kv_cache_dtype.dtype})"
            )
        return self
