"""The two things an experiment computes memory and time for: a model's geometry and a GPU.

Both are used for the rows of the catalog and for mappings written inline in an experiment::

    model: {layers: 32, hidden: 4096, q_heads: 32, kv_heads: 8, head_dim: 128, params: 8.03e9}
    gpu: {memory: 80 GiB, bandwidth: 3.3 TB/s, flops: 1000 TFLOP/s}

Short keys (`memory`) need a unit: a bare number there is refused.  Long names carry their unit
(`memory_bytes`) and take plain numbers too.  Messages begin with `must`: the loader puts the
place and the key before them and the value behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Field, field_validator, model_validator
from pydantic_core.core_schema import ValidationInfo

from wastesim.config.base import Frozen
from wastesim.config.quantities import Bandwidth, FlopRate, Size, Tokens

#: Bytes per element of a stored weight, key or value; int8 is the payload, without scales.
DTYPE_BYTES: Mapping[str, int] = {"float32": 4, "float16": 2, "bfloat16": 2, "fp8": 1, "int8": 1}
#: Other names of the same types, as servers write them.
DTYPE_ALIASES: Mapping[str, str] = {
    "auto": "float16",
    "fp32": "float32",
    "fp16": "float16",
    "half": "float16",
    "bf16": "bfloat16",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
}


def canonical_dtype(name: str) -> str:
    """`float16` for `fp16`, `half` or `auto`; ValueError naming the valid types otherwise.

    `auto` is 16 bits whatever the weights are stored in: a server runs in 16 bits and stores
    keys and values as it runs, so weights of 8 bits do not halve the cache.
    """
    key = DTYPE_ALIASES.get(name.lower(), name.lower())
    if key not in DTYPE_BYTES:
        raise ValueError(f"must be one of {', '.join((*DTYPE_BYTES, *DTYPE_ALIASES))}")
    return key


def _whole(value: Any) -> Any:
    """8.03e9 is a count when it is whole; text, fractions and booleans are left to pydantic."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _dtype(value: Any) -> Any:
    return canonical_dtype(value) if isinstance(value, str) else value


Count = Annotated[int, BeforeValidator(_whole), Field(ge=1)]
DType = Annotated[str, BeforeValidator(_dtype)]


def _with_units(data: Any, units: Mapping[str, str]) -> Any:
    """`memory_bytes: 5` becomes `memory_bytes: 5 B`, since the long name says the unit."""
    if not isinstance(data, Mapping):
        return data
    plain = {key: unit for key, unit in units.items() if type(data.get(key)) in (int, float)}
    return {**data, **{key: f"{data[key]!r} {unit}" for key, unit in plain.items()}}


class Gpu(Frozen):
    """One GPU: memory in exact bytes, ideal bandwidth and ideal dense 16-bit arithmetic.

    `memory_bytes` is what the driver reports, not the number in the name of the card.
    """

    name: str = "inline"
    memory_bytes: Annotated[Size, Field(gt=0)] = Field(
        validation_alias=AliasChoices("memory", "memory_bytes")
    )
    bandwidth_bytes_per_s: Bandwidth = Field(
        validation_alias=AliasChoices("bandwidth", "bandwidth_bytes_per_s")
    )
    flops_per_s: FlopRate = Field(validation_alias=AliasChoices("flops", "flops_per_s"))
    fp8_flops_per_s: FlopRate | None = Field(
        default=None, validation_alias=AliasChoices("fp8_flops", "fp8_flops_per_s")
    )
    source: str = ""
    note: str = ""

    @model_validator(mode="before")
    @classmethod
    def _long_names_carry_units(cls, data: Any) -> Any:
        units = {"memory_bytes": "B", "bandwidth_bytes_per_s": "B/s"}
        return _with_units(data, units | {"flops_per_s": "FLOP/s", "fp8_flops_per_s": "FLOP/s"})


class ModelGeometry(Frozen):
    """What memory and arithmetic depend on: heads, layers and counts of a transformer.

    `head_dim` is always stated: many models do not have `hidden / q_heads`.
    `window_layers` of the `layers` attend to the last `window` tokens only.
    `latent_dim` is the width of a latent (MLA) cache, its position part included;
    `latent_rope_dim` is that part.
    """

    name: str = "inline"
    layers: Count
    hidden: Count = Field(validation_alias=AliasChoices("hidden", "hidden_size"))
    q_heads: Count
    kv_heads: Count
    head_dim: Count
    v_head_dim: Count | None = None
    vocab: Count | None = None
    tied_embeddings: bool | None = None
    ffn: Count | None = None
    max_model_len: Tokens | None = None
    params: Count
    active_params: Count | None = None
    weights_bytes: Annotated[Size, Field(gt=0)] | None = Field(
        default=None, validation_alias=AliasChoices("weights", "weights_bytes")
    )
    weights_dtype: DType = "float16"
    window_layers: Annotated[int, Field(ge=0)] = 0
    window: Tokens | None = Field(default=None, validate_default=True)
    latent_dim: Count | None = None
    latent_rope_dim: Annotated[int, Field(ge=0)] = 0
    source: str = ""
    note: str = ""

    @model_validator(mode="before")
    @classmethod
    def _long_names_carry_units(cls, data: Any) -> Any:
        return _with_units(data, {"weights_bytes": "B"})

    @field_validator("kv_heads")
    @classmethod
    def _kv_heads_divide_q_heads(cls, value: int, info: ValidationInfo) -> int:
        q_heads = info.data.get("q_heads")
        if q_heads is not None and q_heads % value:
            raise ValueError(f"must divide q_heads, which is {q_heads}")
        return value

    @field_validator("active_params")
    @classmethod
    def _active_within_params(cls, value: int | None, info: ValidationInfo) -> int | None:
        return _at_most(value, "params", info)

    @field_validator("window_layers")
    @classmethod
    def _window_layers_within_layers(cls, value: int, info: ValidationInfo) -> int | None:
        return _at_most(value, "layers", info)

    @field_validator("window")
    @classmethod
    def _window_for_window_layers(cls, value: int | None, info: ValidationInfo) -> int | None:
        layers = info.data.get("window_layers")
        if layers and value is None:
            raise ValueError(f"must be a number of tokens, because window_layers is {layers}")
        if layers == 0 and value is not None:
            raise ValueError("must be left out, because window_layers is 0")
        return value

    @field_validator("latent_rope_dim")
    @classmethod
    def _rope_within_latent(cls, value: int, info: ValidationInfo) -> int | None:
        if value and info.data.get("latent_dim", 0) is None:
            raise ValueError("must be left out, because there is no latent_dim")
        return _at_most(value, "latent_dim", info)


def _at_most(value: int | None, other: str, info: ValidationInfo) -> int | None:
    """The value, or ValueError when it is above the field `other`."""
    limit = info.data.get(other)
    if value is not None and limit is not None and value > limit:
        raise ValueError(f"must be <= {other}, which is {limit:,}")
    return value
