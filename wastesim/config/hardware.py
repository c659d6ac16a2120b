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
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field, field_validator, model_validator
from pydantic_core.core_schema import ValidationInfo

from wastesim.config.base import Frozen
from wastesim.config.dtypes import DType, WeightsDType, canonical_dtype
from wastesim.config.quantities import (
    MOST_BYTES,
    Bandwidth,
    ByteCount,
    FlopRate,
    Size,
    Tokens,
    as_tuple,
)


def _whole(value: Any) -> Any:
    """8.03e9 is a count when it is whole; text, fractions and booleans are left to pydantic."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


#: Parameters are counted too: some models have more than 10**12.
Count = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=MOST_BYTES)]
__all__ = ["DType", "Gpu", "KvLayers", "ModelGeometry", "canonical_dtype"]

LayerKind = Literal["full", "window", "chunked", "latent", "state", "shared", "cross"]


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


class KvLayers(Frozen):
    """Layers of one kind, and what they store; heads left out are the model's.

    `full` keeps every token, `window` the last `window`, `chunked` those of the current chunk of
    `window`, `cross` the `window` tokens of another input, `latent` one vector of `latent_dim`
    per token, `state` a fixed `state_bytes` per sequence, `shared` nothing (it reads another
    layer's cache).  Head dims are padded to a multiple of `head_dim_multiple`.
    """

    kind: LayerKind = "full"
    layers: Count
    kv_heads: Count | None = None
    head_dim: Count | None = None
    v_head_dim: Count | None = None
    head_dim_multiple: Count = 1
    window: Tokens | None = Field(default=None, validate_default=True)
    latent_dim: Count | None = Field(default=None, validate_default=True)
    state_bytes: ByteCount | None = Field(default=None, validate_default=True)

    @field_validator("window", "latent_dim", "state_bytes")
    @classmethod
    def _goes_with_the_kind(cls, value: int | None, info: ValidationInfo) -> int | None:
        kinds = _WANTED_BY[str(info.field_name)]
        wanted = info.data.get("kind") in kinds
        if wanted and value is None:
            raise ValueError(f"must be given for layers of kind '{info.data.get('kind')}'")
        if value is not None and not wanted:
            raise ValueError(f"must be left out: it goes with kind {' or '.join(kinds)}")
        return value


_WANTED_BY = {
    "window": ("window", "chunked", "cross"),
    "latent_dim": ("latent",),
    "state_bytes": ("state",),
}


class ModelGeometry(Frozen):
    """What memory and arithmetic depend on: heads, layers and counts of a transformer.

    `head_dim` is always stated: many models do not have `hidden / q_heads`.
    `window_layers` of the `layers` attend to the last `window` tokens only.
    `latent_dim` is the width of a latent (MLA) cache, its position part included;
    `latent_rope_dim` is that part.  Where layers differ in more than that, `kv_layers` lists them
    kind by kind; memory follows the list, and the flat fields then serve arithmetic only.
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
    weights_dtype: WeightsDType = "float16"
    window_layers: Annotated[int, Field(ge=0)] = 0
    window: Tokens | None = Field(default=None, validate_default=True)
    window_kind: Literal["window", "chunked"] = "window"
    latent_dim: Count | None = None
    latent_rope_dim: Annotated[int, Field(ge=0)] = 0
    kv_layers: Annotated[tuple[KvLayers, ...], BeforeValidator(as_tuple)] = ()
    source: str = ""
    note: str = ""

    @model_validator(mode="before")
    @classmethod
    def _long_names_carry_units(cls, data: Any) -> Any:
        return _with_units(data, {"weights_bytes": "B"})

    @field_validator("kv_layers")
    @classmethod
    def _kinds_make_up_the_layers(
        cls, value: tuple[KvLayers, ...], info: ValidationInfo
    ) -> tuple[KvLayers, ...]:
        total, layers = sum(kind.layers for kind in value), info.data.get("layers", 0)
        if value and layers and total != layers:
            raise ValueError(f"must have 'layers' that add up to {layers} (they make {total})")
        return value

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
