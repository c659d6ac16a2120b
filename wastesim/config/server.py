"""`server:`, `decode:`, `clock:` and `output:` of an experiment; defaults live here alone."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from wastesim.config.base import Frozen
from wastesim.config.hardware import DType
from wastesim.config.quantities import ByteCount, Count, Seconds, Share, Size, Tokens
from wastesim.units import GIB


class Server(Frozen):
    """The server whose memory is accounted.  Names are vLLM's."""

    policy: Literal["contiguous"] = "contiguous"
    scheduler: Literal["orca"] = "orca"
    max_model_len: Tokens
    gpu_memory_utilization: Share = 0.9
    #: Weights and KV are not all: CUDA context, activations, fragmentation of the framework.
    overhead: Size = 2 * GIB
    #: Replaces the whole computation of the KV budget.
    kv_cache_memory_bytes: ByteCount | None = None
    #: What memory is accounted in; `decode.kv_cache_dtype` is what the NumPy decode stores.
    kv_cache_dtype: DType = "float16"
    max_num_seqs: Count = 256
    #: Tokens of one iteration, prefill and decode together; None is no limit.
    max_num_batched_tokens: Count | None = None


class Decode(Frozen):
    """The real decode; `none` accounts only."""

    engine: Literal["numpy", "none"] = "numpy"
    model: str = "tiny"
    kv_cache_dtype: Literal["float32"] = "float32"
    #: Compare every finished request with an uncached forward pass.
    verify: bool = False
    #: Ticks between two counts of written cells and resident pages.
    count_every: Count = 64


class RooflineClock(Frozen):
    """dt = max(bytes / (bandwidth * eta), FLOP / (peak * eta)) + overhead."""

    kind: Literal["roofline"]
    bandwidth_efficiency: Share = 1.0
    flops_efficiency: Share = 1.0
    overhead_s: Seconds = 0.0


class FixedClock(Frozen):
    """Every tick takes `step_s`, on the grid k * step_s, also when idle."""

    kind: Literal["fixed"]
    step_s: Annotated[Seconds, Field(gt=0)]


class MeasuredClock(Frozen):
    """A tick takes as long as the NumPy decode needs for it on this machine."""

    kind: Literal["measured"]


Clock = Annotated[RooflineClock | FixedClock | MeasuredClock, Field(discriminator="kind")]


class Output(Frozen):
    """What is written beside `summary.json` and `summary.csv`."""

    records: Literal["full", "none"] = "full"
    figures: bool = True


class DecodingRules(Frozen):
    """Rules that span `decode` and `clock`."""

    decode: Decode = Decode()
    clock: Clock = RooflineClock(kind="roofline")

    @field_validator("clock")
    @classmethod
    def _measured_needs_a_decode(cls, clock: Clock, info: ValidationInfo) -> Clock:
        decode = info.data.get("decode")
        if isinstance(clock, MeasuredClock) and decode is not None and decode.engine == "none":
            raise ValueError(
                "'clock.kind' must be roofline or fixed when decode.engine is none: nothing is"
                " decoded whose time could be taken (got 'measured')"
            )
        return clock
