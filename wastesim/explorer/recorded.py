"""Recorded runs as the page reads them: facts in JSON, columns in a blob per run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wastesim.explorer.encode import Blob, encode
from wastesim.explorer.growth import Growth, growth, steps_at
from wastesim.explorer.spans import Boxes, boxes
from wastesim.explorer.stretch import Drawn, Stretch, inside, stretch
from wastesim.records import SHARES, Array, Records
from wastesim.report.comparison_parts import Part
from wastesim.report.figures.thin import bin_edges, means
from wastesim.report.text import count, percent, plural

#: Points of the shares' curves on one page, over all its runs.
MOST_POINTS = 16_384
_LEVELS = (*SHARES, "running", "waiting")
_TOKENS = ("request_id", "prompt_tokens", "output_tokens", "stored_tokens", "reserved_cells",
           "preemptions")  # fmt: skip
_TIMES = ("arrival_s", "admitted_s", "first_token_s", "finished_s")


def recorded(parts: Sequence[Part]) -> tuple[dict[str, Any], list[Blob]]:
    """What the page knows of the runs, and their blobs in the same order."""
    told = [part for part in parts if len(part.records.ticks["t_s"])]
    drawn = [Drawn(part.name, part.records, boxes(part.records)) for part in told]
    if not drawn:
        return {"from_s": 0, "to_s": 0, "notes": [], "runs": []}, []
    shown = stretch(drawn)
    points = max(256, min(4096, MOST_POINTS // len(drawn)))
    runs, blobs = [], []
    for part, (_, records, found) in zip(told, drawn, strict=True):
        columns, step_s = _columns(records, found, shown, points)
        blob = encode(columns)
        runs.append(
            {
                **_facts(part, found, step_s),
                "holes": part.name in shown.holes,
                "columns": blob.columns,
            }
        )
        blobs.append(blob)
    limits = {
        "from_s": shown.from_s,
        "to_s": shown.to_s,
        "notes": [*_notes(shown), *_cut_short(told)],
    }
    return {**limits, "runs": runs}, blobs


def _facts(part: Part, found: Boxes, step_s: float | None) -> dict[str, Any]:
    facts, summary = part.records.facts, part.summary
    return {
        "name": part.name,
        "policy": facts.policy,
        "model": facts.model,
        "gpu": facts.gpu,
        "capacity": facts.capacity_cells,
        "bytes_per_token": facts.bytes_per_token,
        "ceiling": facts.ceiling,
        "ceiling_reason": facts.ceiling_reason,
        "requests": part.records.totals.requests.submitted,
        "told_apart": bool(found.rule),
        "step_s": step_s,
        "mean": summary["memory"]["shares_of_pool"]["time"],
        "running": summary["concurrency"]["mean"],
        "at_finish": summary["memory"]["written_over_reserved"]["at_finish"],
        "tokens_per_s": summary["throughput"]["output_tokens_per_s"],
    }


def _columns(
    records: Records, found: Boxes, shown: Stretch, points: int
) -> tuple[dict[str, Array], float | None]:
    """Boxes and requests of the stretch, shares of the whole run; bin width where averaged."""
    kept = inside(found, shown.from_s, shown.to_s)
    grown = growth(records, found.held, found.request, found.offset)
    rows, request = np.unique(found.request[kept], return_inverse=True)
    ticks = records.ticks
    edges = bin_edges(ticks["t_s"], ticks["dt_s"], points)
    averaged = len(edges) != len(ticks["t_s"]) + 1
    step_s = float(edges[1] - edges[0]) if averaged else None
    return {
        **_box_columns(found, grown, kept, request.reshape(-1), shown.from_s),
        **{f"request.{name}": records.requests[name][rows] for name in (*_TOKENS, *_TIMES)},
        "tick.edge_s": edges,
        "tick.step": steps_at(records, edges),
        **{f"tick.{name}": _level(ticks, name, edges, averaged) for name in _LEVELS},
    }, step_s


def _box_columns(
    found: Boxes, grown: Growth, kept: Array, request: Array, from_s: float
) -> dict[str, Array]:
    """Times count from the begin of the stretch, where four bytes tell them apart best."""
    held = found.held
    times = {"from": held.from_s, "to": held.to_s}
    return {
        "box.start": held.start[kept],
        "box.size": (held.stop - held.start)[kept],
        "box.first": _whole(held.first_written[kept]),
        "box.last": _whole(held.last_written[kept]),
        "box.claimed": _whole(found.claimed[kept]),
        "box.request": request,
        "box.grows": grown.grows[kept],
        "box.full": grown.full[kept],
        **{f"box.{name}_s": at[kept] - from_s for name, at in times.items()},
    }


def _whole(cells: Array) -> Array:
    whole: Array = np.rint(cells).astype(np.int64)
    return whole


def _level(ticks: dict[str, Array], name: str, edges: Array, averaged: bool) -> Array:
    if not averaged:
        return ticks[name]
    return means(ticks["t_s"], ticks["dt_s"], ticks[name], edges)


def _notes(shown: Stretch) -> list[str]:
    """What was left out or averaged, in words."""
    if not shown.partial:
        return shown.notes
    where = f"The map shows {shown.from_s:,.4g} s to {shown.to_s:,.4g} s; the curve below"
    return [f"{where} it, and every number of the run, are of all of it.", *shown.notes]


def _cut_short(parts: Sequence[Part]) -> list[str]:
    """Runs whose maps show written cells less than exactly."""
    cut = [part.name for part in parts if part.records.requests["preemptions"].any()]
    if not cut:
        return []
    return [
        f"{', '.join(cut)}: where requests were preempted, the map shows about how far they had"
        " come; the numbers above it are exact."
    ]


def headline(parts: Sequence[Part]) -> str:
    """What the page is filled with, in one sentence."""
    if not parts:
        return ""
    first = parts[0].records
    what = f"{first.facts.model} on {first.facts.gpu}"
    asked = plural(first.totals.requests.submitted, "request")
    if len(parts) > 1:
        return f"{_name(parts[0])}: {len(parts)} variants on {asked}, {what}"
    finish = parts[0].summary["memory"]["written_over_reserved"]["at_finish"]
    lost = "" if finish is None else f"; {percent(1 - finish)} of what they reserved stayed empty"
    return f"{first.facts.name}: {asked}, {what}, {count(first.facts.capacity_cells)} cells{lost}"


def _name(part: Part) -> str:
    """The comparison's name: its runs add the variant's to it."""
    return part.records.facts.name.removesuffix(part.name).rstrip(", ") or "comparison"
