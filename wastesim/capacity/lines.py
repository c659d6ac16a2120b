"""An answer in words, term by term with its arithmetic, and as a tree of numbers."""

from __future__ import annotations

from typing import Any

from wastesim.capacity.question import COMPARED, Answer
from wastesim.capacity.slot_lines import slot_lines
from wastesim.catalog.activations import explain_activations
from wastesim.catalog.kv import explain_kv, kv_notes
from wastesim.catalog.layers import layer_fixed_bytes, layer_kinds, layer_token_bytes
from wastesim.catalog.weights import weights_bytes, weights_notes
from wastesim.config.hardware import KvLayers
from wastesim.units import format_bytes, format_percent

SCHEMA_VERSION = 1


def tree_of(found: Answer) -> dict[str, Any]:
    """What `--json` prints; bytes are per rank, requests over all replicas."""
    q = found.question
    return {
        "schema_version": SCHEMA_VERSION,
        "model": q.model.name,
        "gpu": q.gpu,
        "engine": q.engine.name,
        "kv_cache_dtype": q.kv_cache_dtype,
        "ranks": {"tensor": q.tp, "pipeline": q.pp, "data": q.dp},
        "max_model_len": q.max_model_len,
        "context": q.context,
        "concurrency": q.concurrency,
        "kv": _kv_tree(found),
        "memory": _memory_tree(found),
        "capacity": capacity_tree(found),
        "request": _request_tree(found),
        "dtypes": {dtype: _dtype_tree(found, dtype) for dtype in COMPARED},
        "explanation": lines_of(found),
    }


def capacity_tree(found: Answer) -> dict[str, Any]:
    """Units and requests."""
    fit = found.fit
    return {
        "unit": fit.engine.unit,
        "unit_bytes": fit.unit_bytes,
        "units": fit.units,
        "units_per_request": fit.units_per_request,
        "tokens": fit.tokens,
        "max_concurrency": fit.max_concurrency,
        "full_length_requests": found.full_length_requests,
        "requests_of_context": found.requests_of_context,
        "largest_max_model_len": found.largest_max_model_len,
        "left_over_bytes": fit.left_over_bytes,
        "log_line": found.log_line,
    }


def lines_of(found: Answer) -> list[str]:
    """The whole answer, headline first."""
    return [
        _headline(found),
        "",
        *_kv_lines(found),
        "",
        *found.budget.explain()[1 if len(found.budget.explain()) > 4 else 0 :],
        f"of the overhead, activations take about {_activations(found)}",
        "",
        *_capacity_lines(found),
        "",
        *_asked_lines(found),
        "",
        "requests of that length by type of cache: " + _compared(found),
        *(f"note: {note}" for note in _notes(found)),
    ]


def _headline(found: Answer) -> str:
    q = found.question
    ranks = f", {q.tp * q.pp * q.dp} GPUs (tp {q.tp}, pp {q.pp}, dp {q.dp})"
    return (
        f"{found.full_length_requests:,} requests of {q.max_model_len:,} tokens fit: {q.model.name}"
        f" on {q.gpu} ({format_bytes(q.card_bytes)})"
        f"{ranks if q.tp * q.pp * q.dp > 1 else ''}, as {q.engine.title} counts"
    )


def _kv_lines(found: Answer) -> list[str]:
    q, each = found.question, found.bytes_per_token
    rank = " on each rank" if q.tp * q.pp > 1 else ""
    lines = [
        f"KV cache{rank}: {explain_kv(found.rank, q.kv_cache_dtype, q.tp)}",
        f"  = {each / 1000:,.1f} kB = {each / 1024:,.1f} KiB",
    ]
    if found.growing_bytes_per_token != each or found.fixed_bytes:
        lines.append(
            f"  {found.growing_bytes_per_token:,} B of it grow without end;"
            f" {format_bytes(found.fixed_bytes)} per sequence are fixed"
        )
        lines += [f"  {_kind_line(found, kind)}" for kind in layer_kinds(found.rank)]
    total = weights_bytes(q.model)
    divided = f" / {q.tp * q.pp} ranks = {format_bytes(found.weights_bytes)}"
    lines.append(
        f"weights: {_weights(found)} = {format_bytes(total)} ({total / 1e9:,.2f} GB)"
        f"{divided if q.tp * q.pp > 1 else ''}"
    )
    return lines


def _weights(found: Answer) -> str:
    model = found.question.model
    if model.weights_bytes is not None:
        return "stated"
    return f"{model.params:,} parameters in {model.weights_dtype}"


def _kind_line(found: Answer, kind: KvLayers) -> str:
    q = found.question
    fixed = layer_fixed_bytes(kind, q.kv_cache_dtype, q.tp)
    window = f" of {kind.window:,}" if kind.window else ""
    if kind.kind in ("state", "cross", "shared"):
        return f"{kind.layers} {kind.kind} layers{window}: {fixed:,} B each per sequence"
    each = layer_token_bytes(kind, q.kv_cache_dtype, q.tp)
    return f"{kind.layers} {kind.kind} layers{window}: {each:,} B each per token"


def _activations(found: Answer) -> str:
    q = found.question
    batched = q.max_num_batched_tokens or q.engine.batched_tokens
    return f"{explain_activations(q.model, batched, q.tp)} (an estimate)"


def _capacity_lines(found: Answer) -> list[str]:
    fit, q = found.fit, found.question
    unit, null = fit.engine.unit, fit.engine.null_blocks
    size = f" of {fit.engine.block_size} tokens" if unit == "block" else ""
    units = f"({fit.units:,} - {null} null {unit})" if null else f"{fit.units:,}"
    return [
        f"{format_bytes(fit.available_bytes)} / {fit.unit_bytes:,} B = {fit.units:,} {unit}s{size}"
        f" ({fit.tokens:,} tokens)",
        f"{units} / {fit.units_per_request:,} {unit}s per request of"
        f" {q.max_model_len:,} = {fit.full_length_requests:,} requests"
        + (f", x {q.dp} replicas = {found.full_length_requests:,}" if q.dp > 1 else "")
        + f" ({fit.max_concurrency:.2f}x)",
        f"largest max_model_len for one request: {found.largest_max_model_len:,} tokens",
        *([f"it would print: {found.log_line}"] if found.log_line else []),
        *(slot_lines(found) if fit.engine.name == "llama.cpp" else []),
    ]


def _asked_lines(found: Answer) -> list[str]:
    q, asked = found.question, found.asked_bytes
    noun = "request" if q.concurrency == 1 else "requests"
    lines = [
        f"{q.concurrency:,} {noun} of {q.context:,} tokens: {format_bytes(asked)} of cache,"
        f" {format_percent(found.kv_share)} of weights and cache"
        f" ({format_bytes(asked + found.weights_bytes)}),"
        f" {format_percent(asked / q.card_bytes)} of the card;"
        f" weights {format_percent(found.weights_bytes / q.card_bytes)}",
        f"the cache is larger than the weights beyond {found.tokens_beyond_weights:,.0f} tokens",
    ]
    if not found.fits:
        lines.append(
            f"does not fit: at most {found.requests_of_context:,} do, and"
            f" {format_bytes(found.missing_bytes)} are missing"
        )
    return lines


def _compared(found: Answer) -> str:
    rows = {dtype: _dtype_tree(found, dtype) for dtype in COMPARED}
    return ", ".join(f"{dtype} {row['requests_of_context']:,}" for dtype, row in rows.items())


def _notes(found: Answer) -> list[str]:
    q = found.question
    notes = [*kv_notes(found.rank, q.kv_cache_dtype, q.tp), *weights_notes(q.model)]
    if q.engine.windows == "grouped" and q.hybrid and not q.model.kv_layers:
        notes = [note for note in notes if "as in a unified cache" not in note]
    if found.fit.groups and len(found.fit.groups) > 1:
        groups = ", ".join(f"{g.layers} {g.kind}" for g in found.fit.groups)
        notes.append(f"{len(found.fit.groups)} groups share the blocks (layers: {groups})")
    return notes


def _kv_tree(found: Answer) -> dict[str, Any]:
    return {
        "bytes_per_token": found.bytes_per_token,
        "growing_bytes_per_token": found.growing_bytes_per_token,
        "fixed_bytes_per_request": found.fixed_bytes,
        "kinds": [
            {
                "kind": kind.kind,
                "layers": kind.layers,
                "window": kind.window,
                "bytes_per_token": layer_token_bytes(
                    kind, found.question.kv_cache_dtype, found.question.tp
                ),
            }
            for kind in layer_kinds(found.rank)
        ],
    }


def _memory_tree(found: Answer) -> dict[str, Any]:
    budget = found.budget
    return {
        "card_bytes": budget.card_bytes,
        "usable_bytes": budget.usable_bytes,
        "weights_bytes": budget.weights_bytes,
        "overhead_bytes": budget.overhead_bytes,
        "activation_estimate_bytes": found.activation_bytes(),
        "kv_bytes": budget.kv_bytes,
        "weights_share": budget.weights_bytes / budget.card_bytes,
        "overhead_share": budget.overhead_bytes / budget.card_bytes,
        "kv_share": budget.kv_bytes / budget.card_bytes,
    }


def _request_tree(found: Answer) -> dict[str, Any]:
    return {
        "bytes": found.request_bytes,
        "least_bytes": found.exact_request_bytes,
        "asked_bytes": found.asked_bytes,
        "fits": found.fits,
        "missing_bytes": found.missing_bytes,
        "kv_share_of_weights_and_kv": found.kv_share,
        "tokens_beyond_weights": found.tokens_beyond_weights,
    }


def _dtype_tree(found: Answer, dtype: str) -> dict[str, Any]:
    other = found.with_dtype(dtype)
    return {
        "bytes_per_token": other.bytes_per_token,
        "requests_of_context": other.requests_of_context,
    }
