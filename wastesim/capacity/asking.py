"""From options to a question: names looked up, defaults filled in, the impossible refused."""

from __future__ import annotations

import argparse
from dataclasses import replace

from wastesim.capacity.question import Question
from wastesim.catalog.activations import activation_bytes
from wastesim.catalog.budget import DEFAULT_OVERHEAD_BYTES
from wastesim.catalog.engines import Engine, find_engine
from wastesim.catalog.gpus import find_gpu
from wastesim.catalog.models import model_names, resolve_model
from wastesim.config.dtypes import canonical_dtype
from wastesim.config.hardware import ModelGeometry
from wastesim.config.quantities import MOST_BYTES, MOST_TOKENS
from wastesim.errors import ConfigError
from wastesim.units import parse_bytes, parse_tokens

#: Beside weights, cache and activations: CUDA context, libraries, a server measured 0.35 GiB.
_OTHER_BYTES = 350 * 2**20
_AUTO = "auto"


def questions(options: argparse.Namespace) -> list[Question]:
    """One question per model and context, in the order in which they were named."""
    models = [resolve_model(name) for name in _models(options.model)]
    contexts = _contexts(options.context)
    return [question(options, model, context) for model in models for context in contexts]


def question(options: argparse.Namespace, model: ModelGeometry, context: int | None) -> Question:
    """The question about one model; ConfigError naming the option that cannot be."""
    engine = _engine(options)
    context, longest = _lengths(options, model, context)
    _check_ranks(options, model)
    name, card = _card(options)
    return Question(
        model=model,
        card_bytes=card,
        gpu=name,
        engine=engine,
        context=context,
        concurrency=options.concurrency,
        max_model_len=longest,
        share=_share(options, engine),
        overhead_bytes=_overhead(options, model, engine),
        kv_cache_dtype=option_dtype(options.kv_cache_dtype),
        tp=options.tensor_parallel_size,
        pp=options.pipeline_parallel_size,
        dp=options.data_parallel_size,
        max_num_batched_tokens=options.max_num_batched_tokens,
        async_scheduling=options.async_scheduling,
        hybrid=not options.disable_hybrid_kv_cache_manager,
        kv_cache_memory_bytes=option_bytes(
            "--kv-cache-memory-bytes", options.kv_cache_memory_bytes
        ),
    )


def _lengths(
    options: argparse.Namespace, model: ModelGeometry, context: int | None
) -> tuple[int, int]:
    """The length that is asked about, and the longest that is allowed."""
    given = option_tokens("--max-model-len", options.max_model_len)
    longest = given or context or model.max_model_len
    if longest is None:
        raise ConfigError("'--max-model-len' must be given: the model does not state its longest")
    context = context or longest
    if context > longest:
        raise ConfigError(f"'--context' must be <= --max-model-len {longest:,} (got {context:,})")
    return context, longest


def option_dtype(text: str) -> str:
    """A type of the cache; ConfigError naming the option."""
    try:
        return canonical_dtype(text)
    except ValueError as error:
        raise ConfigError(f"'--kv-cache-dtype' {error} (got '{text}')") from None


def option_bytes(name: str, text: str | None) -> int | None:
    """`80 GiB` in bytes; ConfigError naming the option."""
    if text is None:
        return None
    try:
        found = parse_bytes(text)
    except ValueError as error:
        raise ConfigError(f"'{name}' {error} (got '{text}')") from None
    if found > MOST_BYTES:
        raise ConfigError(f"'{name}' must be <= {MOST_BYTES:,} B (got '{text}')")
    return found


def option_tokens(name: str, text: str | None) -> int | None:
    """`8Ki` in tokens, at least 1; ConfigError naming the option."""
    if text is None:
        return None
    try:
        tokens = parse_tokens(text)
    except ValueError as error:
        raise ConfigError(f"'{name}' {error} (got '{text}')") from None
    if tokens < 1:
        raise ConfigError(f"'{name}' must be >= 1 (got {tokens})")
    if tokens > MOST_TOKENS:
        raise ConfigError(f"'{name}' must be <= {MOST_TOKENS:,} (got '{text}')")
    return tokens


def _models(names: list[str | ModelGeometry] | None) -> list[str | ModelGeometry]:
    if not names:
        raise ConfigError("'--model' must be given: a name of the catalog, config.json or GGUF")
    listed: list[str | ModelGeometry] = []
    for name in names:
        parts = name.split(",") if isinstance(name, str) else [name]
        listed += [part.strip() if isinstance(part, str) else part for part in parts if part]
    return list(model_names()) if listed == ["all"] else listed


def _contexts(texts: list[str] | None) -> list[int | None]:
    listed = [part for text in texts or () for part in _split(text)]
    return [option_tokens("--context", part) for part in listed] or [None]


def _split(text: str) -> list[str]:
    """`4096,8192` is two lengths, `131,072` is one."""
    parts = text.split(",")
    grouped = len(parts) > 1 and all(len(part) == 3 for part in parts[1:]) and len(parts[0]) <= 3
    return [text] if grouped else [part for part in parts if part.strip()]


def _engine(options: argparse.Namespace) -> Engine:
    engine = find_engine(options.engine)
    if options.block_size is None:
        return engine
    return replace(engine, block_size=options.block_size)


def _card(options: argparse.Namespace) -> tuple[str, int]:
    if options.gpu is None and options.gpu_memory is None:
        raise ConfigError("'--gpu' or '--gpu-memory' must be given, such as --gpu-memory '80 GiB'")
    gpu = find_gpu(options.gpu) if options.gpu else None
    stated = option_bytes("--gpu-memory", options.gpu_memory)
    if stated is not None and stated < 1:
        raise ConfigError(f"'--gpu-memory' must be more than 0 B (got '{options.gpu_memory}')")
    return (gpu.name if gpu else "card"), stated or (gpu.memory_bytes if gpu else 0)


def _share(options: argparse.Namespace, engine: Engine) -> float:
    share = (
        engine.share
        if options.gpu_memory_utilization is None
        else float(options.gpu_memory_utilization)
    )
    if not 0 < share <= 1:
        raise ConfigError(f"'--gpu-memory-utilization' must be above 0 and <= 1 (got {share:g})")
    return share


def _overhead(options: argparse.Namespace, model: ModelGeometry, engine: Engine) -> int:
    if options.overhead == _AUTO:
        batched = options.max_num_batched_tokens or engine.batched_tokens
        return _OTHER_BYTES + activation_bytes(model, batched, options.tensor_parallel_size)
    found = option_bytes("--overhead", options.overhead)
    return DEFAULT_OVERHEAD_BYTES if found is None else found


def _check_ranks(options: argparse.Namespace, model: ModelGeometry) -> None:
    if options.tensor_parallel_size > model.q_heads:
        raise ConfigError(
            f"'--tensor-parallel-size' must be <= {model.q_heads}, the query heads of {model.name}"
            f" (got {options.tensor_parallel_size})"
        )
    if options.pipeline_parallel_size > model.layers:
        raise ConfigError(
            f"'--pipeline-parallel-size' must be <= {model.layers}, the layers of {model.name}"
            f" (got {options.pipeline_parallel_size})"
        )
