"""vLLM's start-up numbers, entry by entry: blocks, groups, tokens, concurrency, the log line.

WASTESIM_CONCURRENCY_CASES names another file of the same form.  A few entries are carried in
tests/golden, so that a clone alone checks them.  The geometry comes from the catalog where an
entry's name begins with one of its models, else from the entry's own pages.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from wastesim.catalog import find_model
from wastesim.catalog.groups import Group, blocks_per_request, kv_groups, layer_buckets
from wastesim.catalog.models import is_model
from wastesim.catalog.pool import BlockPool, block_pool, in_flight_tokens

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "oracles" / "concurrency.json"
GOLDEN = ROOT / "tests" / "golden" / "concurrency.json"
KINDS = {
    "full": "FullAttentionSpec",
    "latent": "MLAAttentionSpec",
    "window": "SlidingWindowSpec",
    "chunked": "ChunkedLocalAttentionSpec",
    "state": "MambaSpec",
}


def entries() -> list[Any]:
    given = os.environ.get("WASTESIM_CONCURRENCY_CASES")
    files = [Path(given)] if given else [path for path in (SHARED, GOLDEN) if path.exists()]
    found: dict[str, Any] = {}
    for path in files:
        for entry in json.loads(path.read_text(encoding="utf-8"))["entries"]:
            found.setdefault(entry["name"], entry)
    return [pytest.param(entry, id=name) for name, entry in found.items()]


def words(entry: dict[str, Any]) -> list[str]:
    return str(entry["name"]).split("_")


def cache_dtype(entry: dict[str, Any]) -> str:
    """`llama3-8b_fp8kv_40GiB`: the type of the cache is part of the name."""
    marks = {"fp8": "fp8", "fp32": "float32", "float32": "float32", "int8": "int8"}
    later = "_".join(words(entry)[1:])
    return next((dtype for mark, dtype in marks.items() if mark in later), "auto")


def ranks(entry: dict[str, Any]) -> int:
    found = re.search(r"tp(\d+)", "_".join(words(entry)[1:]))
    return int(found[1]) if found else 1


def known_model(entry: dict[str, Any]) -> str | None:
    """A catalog model whose geometry makes the entry's pages; names may mean another variant."""
    name = words(entry)[0]
    if not is_model(name):
        return None
    model = find_model(name)
    return name if model.layers == entry["num_layers"] else None


def buckets(entry: dict[str, Any]) -> list[Group]:
    name = known_model(entry)
    if name is not None:
        model = find_model(name)
        return layer_buckets(model, entry["block_size"], cache_dtype(entry), ranks(entry))
    return [bucket_of(group, entry) for group in entry["groups"]]


def bucket_of(group: dict[str, Any], entry: dict[str, Any]) -> Group:
    kind: Any = {name: ours for ours, name in KINDS.items()}[group["kind"]]
    window = span(group, entry) if kind in ("window", "chunked") else None
    return Group(kind, group["layers"], group["block_size"], group["page_size_bytes"], window)


def span(group: dict[str, Any], entry: dict[str, Any]) -> int:
    """The window of a model that is not in the catalog: a usual one that makes its blocks."""
    kind: Any = "window" if group["kind"] == KINDS["window"] else "chunked"
    usual = [2**power for power in range(5, 20)] + [2047, 2048, 4095, 262_144]
    for window in usual:
        made = Group(kind, 1, group["block_size"], 1, window)
        blocks = blocks_per_request(made, entry["max_model_len"], entry["max_in_flight_tokens"])
        if blocks == group["blocks_per_request"]:
            return window
    raise LookupError(group)


def pool(entry: dict[str, Any]) -> BlockPool:
    return block_pool(
        kv_groups(buckets(entry), hybrid=entry["hybrid_kv_cache_manager"]),
        max_model_len=entry["max_model_len"],
        in_flight_tokens=in_flight_tokens(
            entry["max_num_batched_tokens"], async_scheduling=entry["async_scheduling"]
        ),
        available_bytes=entry["available_bytes"],
        num_gpu_blocks_override=entry["num_gpu_blocks_override"],
    )


def group_rows(found: BlockPool) -> list[tuple[Any, ...]]:
    return [
        (
            KINDS[group.kind],
            group.layers,
            group.block_size,
            group.page_bytes,
            blocks_per_request(group, found.max_model_len, found.in_flight_tokens),
        )
        for group in found.groups
    ]


def wanted_rows(entry: dict[str, Any]) -> list[tuple[Any, ...]]:
    keys = ("kind", "layers", "block_size", "page_size_bytes", "blocks_per_request")
    return [tuple(group[key] for key in keys) for group in entry["groups"]]


@pytest.mark.parametrize("entry", entries())
def test_an_entry_is_reproduced(entry: dict[str, Any]) -> None:
    found = pool(entry)
    assert sorted(group_rows(found)) == sorted(wanted_rows(entry))
    assert found.in_flight_tokens == entry["max_in_flight_tokens"]
    assert found.num_blocks == entry["num_gpu_blocks"]
    assert found.bytes_per_block == entry["bytes_per_block"]
    assert found.blocks_per_request == entry["blocks_per_request_total"]
    assert found.tokens == entry["kv_cache_size_tokens"]
    assert found.max_concurrency == entry["max_concurrency"]
    assert [found.log_line()] == entry["log_line"]
    assert found.tokens_v0_11 == entry["kv_cache_size_tokens_v0_11_2_formula"]
    assert found.full_length_requests == entry["guaranteed_full_length_requests"]


@pytest.mark.parametrize("entry", entries())
def test_the_pages_of_an_entry_say_the_same_without_a_catalog(entry: dict[str, Any]) -> None:
    """Groups cut from the entry's own layers, whatever the model is called."""
    own = [bucket_of(group, entry) for group in entry["groups"]]
    found = block_pool(
        kv_groups(own, hybrid=entry["hybrid_kv_cache_manager"]),
        max_model_len=entry["max_model_len"],
        in_flight_tokens=entry["max_in_flight_tokens"],
        available_bytes=entry["available_bytes"],
        num_gpu_blocks_override=entry["num_gpu_blocks_override"],
    )
    assert found.num_blocks == entry["num_gpu_blocks"]
    assert found.bytes_per_block == entry["bytes_per_block"]
    assert found.blocks_per_request == entry["blocks_per_request_total"]
    assert [found.log_line()] == entry["log_line"]


def test_the_file_that_is_asked_for_is_there() -> None:
    assert entries(), "no entries: is the file of WASTESIM_CONCURRENCY_CASES empty?"
