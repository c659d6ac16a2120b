"""`server:`, `decode:` and `output:` of an experiment; defaults live here alone."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from wastesim.config.base import Frozen
from wastesim.config.clocks import Clock, FixedClock, MeasuredClock, RooflineClock, TableClock
from wastesim.config.decode import Decode
from wastesim.config.hardware import DType
from wastesim.config.policy import PRESETS, PolicyChoice
from wastesim.config.quantities import ByteCount, Count, Share, Size, Tokens, as_tuple
from wastesim.units import GIB

__all__ = [
    "Clock",
    "Decode",
    "DecodingRules",
    "FixedClock",
    "MeasuredClock",
    "Output",
    "RooflineClock",
    "Server",
    "TableClock",
]


#: Schedulers that never take memory back: requests must not outgrow what they got.
NEVER_PREEMPT = ("orca", "static")


def needs_preemption(policy: str, scheduler: str) -> str:
    """Why such a policy cannot run under such a scheduler."""
    return (
        f"policy '{policy}' lets requests grow, which needs a rule for preemption: 'scheduler'"
        f" must be vllm or left out (got {scheduler})"
    )


class Server(Frozen):
    """The server whose memory is accounted.  Names are vLLM's."""

    policy: PolicyChoice = PRESETS["contiguous"]
    #: None: `vllm` for policies whose requests grow, `orca` for all others.
    scheduler: Literal["orca", "vllm", "static"] | None = None
    max_model_len: Tokens
    gpu_memory_utilization: Share = 0.9
    #: Weights and KV are not all: CUDA context, activations, fragmentation of the framework.
    overhead: Size = 2 * GIB
    #: Replaces the whole computation of the KV budget.
    kv_cache_memory_bytes: ByteCount | None = None
    #: Replaces the budget by a number of blocks, one of which is vLLM's null block.
    num_gpu_blocks_override: Annotated[Count, Field(ge=2)] | None = None
    #: What memory is accounted in; `decode.kv_cache_dtype` is what the NumPy decode stores.
    kv_cache_dtype: DType = "float16"
    block_size: Annotated[Count, Field(le=8192)] = 16
    max_num_seqs: Count = 256
    #: Tokens of one iteration, prefill and decode together.  None: no limit with `orca` and
    #: `static`, 2,048 with `vllm`.
    max_num_batched_tokens: Count | None = None
    #: Of `vllm` (see docs/policies.md).
    enable_chunked_prefill: bool = True
    long_prefill_token_threshold: Annotated[int, Field(ge=0)] = 0
    watermark: Annotated[float, Field(ge=0, lt=1)] = 0.0
    scheduler_reserve_full_isl: bool = True
    async_scheduling: bool = False
    #: One entry per KV group: null is full attention, a number is a sliding window.
    kv_groups: Annotated[tuple[Count | None, ...], BeforeValidator(as_tuple)] = (None,)
    #: Whether a request that can never fit is refused at the door.
    refuse_impossible: bool = True

    @model_validator(mode="after")
    def _growing_needs_preemption(self) -> Server:
        if self.policy.grows and self.scheduler in NEVER_PREEMPT:
            raise ValueError(needs_preemption(self.policy.name, self.scheduler))
        return self

    @model_validator(mode="after")
    def _vllm_options_need_vllm(self) -> Server:
        options = {
            "enable_chunked_prefill": True,
            "long_prefill_token_threshold": 0,
            "watermark": 0.0,
            "scheduler_reserve_full_isl": True,
            "async_scheduling": False,
        }
        changed = [name for name, usual in options.items() if getattr(self, name) != usual]
        if changed and self.scheduling != "vllm":
            raise ValueError(
                f"'{changed[0]}' is an option of 'scheduler: vllm' (got {self.scheduling})"
            )
        return self

    @model_validator(mode="after")
    def _groups_need_blocks(self) -> Server:
        windowed = any(window is not None for window in self.kv_groups)
        place = getattr(self.policy, "place", None)
        if (windowed or len(self.kv_groups) != 1) and place not in ("blocks", "pages"):
            raise ValueError("'kv_groups' share one pool of blocks: 'policy' must be paged")
        if self.num_gpu_blocks_override is not None and place not in ("blocks", "pages"):
            raise ValueError("'num_gpu_blocks_override' counts blocks: 'policy' must be paged")
        return self

    @property
    def scheduling(self) -> str:
        """The scheduler in force: of a policy that may grow or not, one that can preempt."""
        return self.scheduler or ("orca" if self.policy.grows is False else "vllm")

    @property
    def token_budget(self) -> int | None:
        """Tokens of one iteration, or None for no limit."""
        default = 2048 if self.scheduling == "vllm" else None
        return self.max_num_batched_tokens or default


class Output(Frozen):
    """What is written beside `summary.json` and `summary.csv`."""

    records: Literal["full", "none"] = "full"
    format: Literal["auto", "csv", "parquet"] = "auto"
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
