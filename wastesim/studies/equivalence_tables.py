"""Tables of the equivalence study: how work grows, intensity against balance, memory of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wastesim.catalog import kv_bytes_per_token, resolve_model
from wastesim.catalog.weights import weights_bytes
from wastesim.config.equivalence import Equivalence
from wastesim.decode.batch_run import step_seconds
from wastesim.decode.generating import Generation
from wastesim.decode.geometry import DecodeModel
from wastesim.decode.machine import peak_flop, read_bandwidth
from wastesim.decode.work import Work

MEMORY_DTYPE = "float16"
CONTEXTS = (4096, 32768, 131072)


@dataclass(frozen=True)
class Speeds:
    """Measured on this machine, one thread, best of several."""

    bandwidth_bytes_per_s: float
    peak_flop_per_s: float
    prefill_s: float
    decode_s: dict[int, float]  # by batch

    def machine(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """What a step is held against: no step may be above it, whatever else ran meanwhile."""
        bandwidth = max(self.bandwidth_bytes_per_s, *(row["bytes_per_s"] for row in rows))
        peak = max(self.peak_flop_per_s, *(row["flop_per_s"] for row in rows))
        return {
            "bandwidth_bytes_per_s": bandwidth,
            "peak_flop_per_s": peak,
            "balance_flop_per_byte": peak / bandwidth,
        }


def measure_speeds(model: DecodeModel, text: Sequence[int], study: Equivalence) -> Speeds:
    """Bandwidth, peak, a prefill, and a step of each batch."""
    prefill, decode = float("inf"), {}
    for batch in study.batches:
        prefill_s, decode[batch] = step_seconds(model, text, batch, study.batch_context)
        prefill = min(prefill, prefill_s)
    return Speeds(read_bandwidth(), peak_flop(), prefill, decode)


def intensity_rows(speeds: Speeds, model: DecodeModel, study: Equivalence) -> list[dict[str, Any]]:
    """FLOP per byte of a prefill and of a decode step by batch, and what was reached."""
    context = study.batch_context
    rows = [_row("prefill", 1, _prefill(model, context), speeds.prefill_s, model)]
    for batch, seconds in speeds.decode_s.items():
        rows.append(_row("decode", batch, _decode(model, context + 1, batch), seconds, model))
    return rows


def _row(kind: str, batch: int, work: Work, seconds: float, model: DecodeModel) -> dict[str, Any]:
    flop, moved = work.flop(model), work.bytes(model)
    return {
        "kind": kind,
        "batch": batch,
        "flop": flop,
        "bytes": moved,
        "intensity": flop / moved,
        "seconds": seconds,
        "flop_per_s": flop / seconds,
        "bytes_per_s": moved / seconds,
        "tokens_per_s": work.projected_tokens / seconds,
    }


def _prefill(model: DecodeModel, tokens: int) -> Work:
    layers = model.layers
    seen = tokens * (tokens + 1) // 2
    turned = layers * tokens * (model.q_heads + model.kv_heads)
    return Work(tokens, layers * tokens, layers * seen, layers * tokens, turned, 1, 1)


def _decode(model: DecodeModel, tokens: int, batch: int) -> Work:
    layers = model.layers * batch
    turned = layers * (model.q_heads + model.kv_heads)
    return Work(batch, layers, layers * tokens, layers * tokens, turned, batch, 1)


def growth(runs: Mapping[str, Generation], model: DecodeModel, prompt: int) -> list[dict[str, Any]]:
    """Totals both ways, with how they grow in N tokens of prompt and T new ones."""
    without, with_ = runs["without"].work, runs["with"].work
    rows = (
        ("K/V columns computed", without.columns_computed, with_.columns_computed,
         "T(N+T)", "N+T"),
        ("K/V columns read by attention", without.columns_read, with_.columns_read,
         "(N+T)³", "(N+T)²"),
        ("tokens projected", without.projected_tokens, with_.projected_tokens,
         "T(N+T)", "N+T"),
        ("FLOP", without.flop(model), with_.flop(model), "T(N+T), (N+T)³",
         "N+T, (N+T)²"),
        ("bytes moved", without.bytes(model), with_.bytes(model), "T, T(N+T)",
         "T, T(N+T)"),
    )  # fmt: skip
    names = ("what", "without", "with", "order_without", "order_with")
    return [
        dict(zip(names, row, strict=True), ratio=row[1] / row[2], prompt_tokens=prompt)
        for row in rows
    ]


def memory_rows(models: Sequence[str]) -> list[dict[str, Any]]:
    """KV bytes of real models at some contexts, and where the cache overtakes the weights."""
    return [_memory_row(name) for name in models]


def _memory_row(name: str) -> dict[str, Any]:
    model = resolve_model(name)
    per_token, weights = kv_bytes_per_token(model, MEMORY_DTYPE), weights_bytes(model)
    return {
        "model": model.name or name,
        "bytes_per_token": per_token,
        "weights_bytes": weights,
        "bytes_by_context": {str(tokens): tokens * per_token for tokens in CONTEXTS},
        "overtakes_at_tokens": -(-weights // per_token),
        "max_model_len": model.max_model_len,
    }
