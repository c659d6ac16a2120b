"""What serving engines make of the same bytes: conventions as values, and presets of them.

An engine turns available bytes into units (blocks, tokens, slots), and says how many units one
request of `max_model_len` takes.  The values are each engine's own defaults; every one of them
can be replaced (`dataclasses.replace`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from wastesim.catalog.budget import ShareOf
from wastesim.catalog.names import nearest
from wastesim.errors import ConfigError

Unit = Literal["block", "token", "slot"]
#: grouped: vLLM's hybrid manager; full: every layer keeps every token; capped: a window keeps its
#: length; ratio: two pools, the windows' being a fixed share of the other.
Windows = Literal["grouped", "full", "capped", "ratio"]


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine's way of counting.

    `share` is the default share of the card's total, or of what weights and overhead leave free.
    `null_blocks` are never used.  A request needs room for `lookahead_tokens` beyond its length.
    `window_ratio` belongs to windows kept as `ratio`.  `says` is what the engine calls its pool.
    """

    name: str
    title: str
    unit: Unit
    block_size: int = 1
    null_blocks: int = 0
    lookahead_tokens: int = 0
    windows: Windows = "full"
    share_of: ShareOf = "total"
    share: float = 0.9
    batched_tokens: int = 2048
    async_scheduling: bool = False
    window_ratio: float = 1.0
    pad_tokens: int = 1
    says: str = ""


ENGINES: Mapping[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine(
            "vllm",
            "vLLM 0.33",
            "block",
            block_size=16,
            null_blocks=1,
            windows="grouped",
            batched_tokens=8192,
            says="GPU KV cache size",
        ),
        Engine(
            "vllm-0.11",
            "vLLM 0.11",
            "block",
            block_size=16,
            null_blocks=1,
            windows="grouped",
            batched_tokens=8192,
            says="GPU KV cache size",
        ),
        Engine(
            "sglang",
            "SGLang",
            "token",
            windows="ratio",
            window_ratio=0.8,
            says="max_total_num_tokens",
        ),
        Engine(
            "llama.cpp",
            "llama.cpp",
            "slot",
            windows="capped",
            share=1.0,
            pad_tokens=256,
            says="n_ctx",
        ),
        Engine(
            "tensorrt-llm",
            "TensorRT-LLM",
            "block",
            block_size=32,
            share_of="free",
            says="max tokens in paged KV cache",
        ),
        Engine(
            "static",
            "a server of contiguous buffers",
            "slot",
            share=1.0,
            says="buffers",
        ),
    )
}
_ALIASES = {
    "vllm-0.33": "vllm",
    "vllm-0.33.0": "vllm",
    "vllm-0.11.0": "vllm-0.11",
    "vllm-0.11.2": "vllm-0.11",
    "vllm0.11": "vllm-0.11",
    "llamacpp": "llama.cpp",
    "llama-cpp": "llama.cpp",
    "trt-llm": "tensorrt-llm",
    "trtllm": "tensorrt-llm",
    "contiguous": "static",
}


def engine_names() -> tuple[str, ...]:
    """Names of the presets."""
    return tuple(ENGINES)


def find_engine(name: str) -> Engine:
    """The preset of that name; ConfigError with the nearest names."""
    key = name.strip().lower().replace("_", "-").replace(" ", "-")
    key = _ALIASES.get(key, key)
    if key in ENGINES:
        return ENGINES[key]
    near = " or ".join(f"'{item}'" for item in nearest(key, ENGINES))
    hint = f", did you mean {near}?" if near else ""
    known = ", ".join(ENGINES)
    raise ConfigError(f"'engine' must be one of {known}{hint} (got '{name}')")
