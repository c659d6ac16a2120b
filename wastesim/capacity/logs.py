"""Start-up lines of engines: which numbers stand where, and nothing else.

Both generations of vLLM's wording, SGLang, llama.cpp, TensorRT-LLM and lmdeploy.  A number keeps
its printed digits (`Printed`); sizes are binary whatever their label says, as these engines mean
them.  When a fact is printed more than once, the last one counts: servers start over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wastesim.capacity.printed import Printed, amount
from wastesim.errors import InputError, Problem

_N = r"([0-9][0-9,_]*(?:\.[0-9]+)?)"
_SIZE = r"([0-9][0-9,_]*(?:\.[0-9]+)?\s*[KMGT]?i?B(?:ytes)?)"
#: (engine, fact, pattern); facts ending in `_bytes` are sizes, the others plain numbers.
_PATTERNS: tuple[tuple[str, str, str], ...] = (
    ("vllm", "num_blocks", rf"# (?:GPU|CUDA|HPU|neuron|xpu) blocks: {_N}"),
    ("vllm", "cpu_blocks", rf"# CPU blocks: {_N}"),
    ("vllm", "tokens", rf"KV cache size: {_N} tokens"),
    ("vllm", "max_model_len", rf"concurrency for {_N} tokens per request"),
    ("vllm", "concurrency", rf"tokens per request: {_N}x"),
    ("vllm", "kv_bytes", rf"Available KV cache memory: {_SIZE}"),
    ("vllm", "kv_bytes", rf"reserved for KV Cache is {_SIZE}"),
    ("vllm", "kv_bytes", rf"available KV cache memory \({_SIZE}\)"),
    ("vllm", "needed_bytes", rf"\(?{_SIZE}\)? ?KV cache is needed"),
    ("vllm", "max_model_len", rf"max seq len \({_N}\)"),
    ("vllm", "tokens", rf"stored in (?:the )?KV cache \({_N}\)"),
    ("vllm", "estimated_max_len", rf"estimated maximum model length is {_N}"),
    ("vllm", "weights_bytes", rf"(?:model weights|Model loading|weights) (?:take|took) {_SIZE}"),
    ("vllm", "non_torch_bytes", rf"non_torch_memory takes {_SIZE}"),
    ("vllm", "activation_bytes", rf"activation peak memory takes {_SIZE}"),
    ("vllm", "total_bytes", rf"total_gpu_memory \({_SIZE}\)"),
    ("vllm", "utilization", rf"gpu_memory_utilization \({_N}\)"),
    ("vllm", "usable_bytes", rf"gpu_memory_utilization \([0-9.]+\) = {_SIZE}"),
    ("vllm", "block_size", rf"block_size[=:]\s*{_N}"),
    ("sglang", "tokens", rf"#tokens: {_N}"),
    ("sglang", "tokens", rf"max_total_num_tokens={_N}"),
    ("sglang", "keys_bytes", rf"K size: {_SIZE}"),
    ("sglang", "values_bytes", rf"V size: {_SIZE}"),
    ("sglang", "max_model_len", rf"context_len={_N}"),
    ("llama.cpp", "n_ctx", rf"n_ctx\s*=\s*{_N}"),
    ("llama.cpp", "n_parallel", rf"n_seq_max\s*=\s*{_N}"),
    ("llama.cpp", "tokens", rf"\(\s*{_N} cells"),
    ("llama.cpp", "layers", rf"cells,\s*{_N} layers"),
    ("llama.cpp", "kv_bytes", rf"(?:KV self size\s*=|llama_kv_cache\w*:\s*size =)\s*{_SIZE}"),
    ("llama.cpp", "keys_bytes", rf"K \([\w]+\):\s*{_SIZE}"),
    ("llama.cpp", "values_bytes", rf"V \([\w]+\):\s*{_SIZE}"),
    ("llama.cpp", "state_bytes", rf"llama_memory_recurrent:\s*size =\s*{_SIZE}"),
    ("tensorrt-llm", "tokens", rf"paged KV cache \({_N}\)"),
    ("tensorrt-llm", "tokens", rf"Max(?:imum)? tokens in paged KV cache:? {_N}"),
    ("tensorrt-llm", "kv_bytes", rf"Allocated {_SIZE} for max tokens"),
    ("tensorrt-llm", "kv_bytes", rf"Allocate {_SIZE} for k/v cache"),
    ("lmdeploy", "block_bytes", rf"block_size = {_SIZE}"),
    ("lmdeploy", "num_blocks", rf"max_block_count = {_N}"),
)
_COMPILED = tuple((e, f, re.compile(p, re.IGNORECASE)) for e, f, p in _PATTERNS)
_BUFFERS = re.compile(rf"KV buffer size =\s*{_SIZE}", re.IGNORECASE)
_TYPES = re.compile(r"\b([KV]) \((\w+)\):", re.IGNORECASE)
_MOST_BYTES = 2**26
#: What sizes are divided by; a swap space (`cpu_blocks`) may well be empty.
_NEVER_ZERO = ("tokens", "num_blocks", "n_ctx", "max_model_len", "block_bytes")


@dataclass
class LogFacts:
    """What a log says: numbers by name, types of K and V, and a buffer per device."""

    engine: str = ""
    numbers: dict[str, Printed] = field(default_factory=dict)
    lines: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    device_bytes: list[Printed] = field(default_factory=list)

    def value(self, name: str) -> float | None:
        """A fact's value, None when it is not printed."""
        found = self.numbers.get(name)
        return None if found is None else found.value


def read_log(path: Path) -> LogFacts:
    """Read a file; InputError when it cannot be read or has none of these lines."""
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES).decode("utf-8-sig", errors="replace")
    except OSError as error:
        raise InputError([Problem(str(path), f"cannot be read ({error.strerror})")]) from None
    facts = parse_log(text)
    if not facts.numbers:
        wanted = "'GPU KV cache size: 16,000 tokens', '# GPU blocks: 1952', '#tokens: 367404'"
        also = "'KV self size = 4352.00 MiB' or 'Allocated 64.75 GiB for max tokens in paged KV"
        problem = f"has no start-up line of an engine, such as {wanted}, {also} cache (132608)'"
        raise InputError([Problem(str(path), problem)])
    _refuse_nothing(facts, path)
    return facts


def _refuse_nothing(facts: LogFacts, path: Path) -> None:
    """InputError for a log of a server without a cache: everything is a share of what is none."""
    none = [name for name in _NEVER_ZERO if facts.value(name) == 0]
    if none:
        problem = (
            f"says 0 {none[0]} ('{facts.lines[none[0]]}'): this server had no cache to compute"
            " with; give the log of one that started"
        )
        raise InputError([Problem(str(path), problem)])


def parse_log(text: str) -> LogFacts:
    """The facts in some lines of text."""
    facts = LogFacts()
    votes: dict[str, int] = {}
    for line in text.splitlines():
        for engine, name, pattern in _COMPILED:
            match = pattern.search(line)
            if match is not None:
                facts.numbers[name] = _number(name, match[1])
                facts.lines[name] = line.strip()
                votes[engine] = votes.get(engine, 0) + 1
        facts.device_bytes += [amount(found) for found in _BUFFERS.findall(line)]
        facts.types |= {side.upper(): kind.lower() for side, kind in _TYPES.findall(line)}
    if votes:
        facts.engine = max(votes, key=lambda engine: votes[engine])
    _settle(facts.numbers)
    return facts


def _settle(numbers: dict[str, Printed]) -> None:
    """K and V together are the cache, where only the parts are printed."""
    keys, values = numbers.get("keys_bytes"), numbers.get("values_bytes")
    if "kv_bytes" not in numbers and keys is not None and values is not None:
        both = Printed(keys.value + values.value, keys.half + values.half, "K + V")
        numbers["kv_bytes"] = both


def _number(name: str, text: str) -> Printed:
    return amount(text) if name.endswith("_bytes") else Printed.read(text)


def summary_of(facts: LogFacts) -> Mapping[str, float]:
    """Names and values, for printing."""
    return {name: found.value for name, found in sorted(facts.numbers.items())}
