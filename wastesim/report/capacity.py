"""What a capacity study found, in words: how many requests fit, and where the memory goes."""

from __future__ import annotations

from typing import Any

from wastesim.report.laboratory import Grid, Words
from wastesim.report.text import bytes_, count, number, percent

_EXPLANATIONS = [
    "Bytes are those of one rank; requests are over all replicas.",
    "Requests of one length: whole units of the engine (blocks, tokens or slots), rounded down.",
    "Expected concurrency is the closed form of a full pool; queues, preemption and latency need a"
    " simulation: the same file with `--set study=allocation`.",
]


def words(summary: dict[str, Any]) -> Words:
    """Everything the report of this study says."""
    claim, _, evidence = summary["explanation"][0].partition(": ")
    return Words(
        claim=claim,
        evidence=evidence,
        setting=(
            f"{summary['model']} on {summary['gpu']}, cache in {summary['kv_cache_dtype']},"
            f" at most {count(summary['max_model_len'])} tokens a request"
        ),
        paragraphs=[_at_once(summary["lengths"])] if "lengths" in summary else [],
        grids=[_memory(summary), _dtypes(summary), *_policies(summary)],
        explanations=_EXPLANATIONS,
        arithmetic="\n".join(summary["explanation"]),
    )


def _at_once(lengths: dict[str, Any]) -> str:
    policies = {name: value for name, value in lengths["concurrency"].items() if name != "divided"}
    listed = ", ".join(f"{name} {number(value)}" for name, value in policies.items())
    return (
        f"With the lengths of {lengths['workload']} the expected number at once is: {listed}"
        f" (max_num_seqs allows {count(lengths['max_num_seqs'])})."
    )


def _memory(summary: dict[str, Any]) -> Grid:
    memory = summary["memory"]
    rows = [
        [name, bytes_(memory[f"{key}_bytes"]), percent(memory[f"{key}_share"])]
        for name, key in (("weights", "weights"), ("overhead", "overhead"), ("KV cache", "kv"))
    ]
    return Grid("Where the memory goes", ["part", "bytes", "of the card"], rows)


def _dtypes(summary: dict[str, Any]) -> Grid:
    rows = [
        [dtype, count(row["bytes_per_token"]), count(row["requests_of_context"])]
        for dtype, row in summary["dtypes"].items()
    ]
    columns = ["type", "bytes per token", f"requests of {count(summary['context'])} tokens"]
    return Grid("By type of cache", columns, rows)


def _policies(summary: dict[str, Any]) -> list[Grid]:
    lengths = summary.get("lengths")
    if lengths is None:
        return []
    rows = [
        [policy, number(value), percent(lengths["written"][policy])]
        for policy, value in lengths["concurrency"].items()
    ]
    columns = ["policy", "requests at once", "written of reserved"]
    return [Grid(f"Expected concurrency for {lengths['workload']}", columns, rows)]
