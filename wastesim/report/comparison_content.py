"""Everything that the report of a comparison says, gathered once; the pages only set it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from wastesim.records import SHARES
from wastesim.report.comparison_answer import headline, speed, state
from wastesim.report.comparison_causes import cause
from wastesim.report.comparison_parts import Part
from wastesim.report.definitions import SHARE_MEANINGS
from wastesim.report.resolved import compared, named
from wastesim.report.text import DASH, bytes_, count, number, percent, seconds

#: Columns of the table; the shares are in percent.
HEADS = (
    *SHARES,
    "running",
    "peak",
    "tokens/s",
    "TTFT p50",
    "TTFT p99",
    "end-to-end p99",
    "preempted",
    "recomputed",
    "copied",
)


class Line(NamedTuple):
    """One variant's row of the table."""

    name: str
    cause: str
    values: list[str]
    changes: str


@dataclass(frozen=True)
class Content:
    """A comparison's report, before it is set."""

    name: str
    setting: str
    state: str
    headline: str
    notes: list[str]
    lines: list[Line]
    heads: Sequence[str]
    meanings: dict[str, str]
    explanations: list[str]
    command: str
    resolved: str
    provenance: list[tuple[str, str]]


def gather(
    parts: Sequence[Part], missing: Sequence[str], resolved: str, provenance: dict[str, Any]
) -> Content:
    """Everything the report says of these variants."""
    changes = compared(resolved)
    return Content(
        name=named(resolved) or "comparison",
        setting=_setting(parts),
        state=state(parts, missing),
        headline=headline(parts),
        notes=[note for note in (speed(parts), *_requests(parts, changes)) if note],
        lines=[_line(part, changes) for part in parts],
        heads=HEADS,
        meanings=SHARE_MEANINGS,
        explanations=_common(parts),
        command=str(provenance.get("command") or ""),
        resolved=resolved.rstrip("\n"),
        provenance=_provenance(provenance),
    )


def _setting(parts: Sequence[Part]) -> str:
    """What all variants have in common of model, card, limits and clock."""
    facts = [part.records.facts for part in parts]
    said = [
        _same([f.model for f in facts]),
        _same([f.gpu for f in facts]),
        _same([f"max_model_len {count(f.max_model_len)}" for f in facts]),
        _same([f"max_num_seqs {count(f.max_num_seqs)}" for f in facts]),
        _same([f"{count(f.capacity_cells)} cells" for f in facts]),
        _same([f"{f.clock} clock" for f in facts]),
        _same(["accounted only, decode off" if not f.executed_model else "decoded" for f in facts]),
    ]
    return ", ".join(word for word in said if word)


def _same(words: Sequence[str]) -> str:
    return words[0] if len(set(words)) == 1 else ""


def _requests(parts: Sequence[Part], changes: dict[str, dict[str, Any]]) -> list[str]:
    """Whether all variants were given the same requests, and what of the run counts."""
    other = [name for name, changed in changes.items() if "workload" in changed]
    same = (
        f"Not the same requests: {', '.join(other)} change the workload."
        if other
        else "Every variant was given the same requests, drawn from the same seed."
    )
    windows = {str(part.records.facts.window.get("from_s")): part for part in parts}
    window = next(iter(windows.values())).records.facts.window if len(windows) == 1 else {}
    if not window:
        return [same]
    until = "the end" if window["until_s"] is None else f"{window['until_s']:,.6g} s"
    return [
        same,
        f"Warm-up is left out: only {window['from_s']:,.6g} s to {until} of simulated time counts.",
    ]


def _line(part: Part, changes: dict[str, dict[str, Any]]) -> Line:
    return Line(part.name, cause(part), _values(part), _flat(changes.get(part.name, {})))


def _values(part: Part) -> list[str]:
    summary = part.summary
    latency, scheduling = summary["latency"], summary["scheduling"]
    return [
        *(_bare_percent(part.shares[name]) for name in SHARES),
        DASH if part.running is None else f"{part.running:.2f}",
        count(summary["concurrency"]["peak"]),
        number(summary["throughput"]["output_tokens_per_s"]),
        *(seconds(latency["ttft_s"][key]) for key in ("p50", "p99")),
        seconds(latency["e2el_s"]["p99"]),
        count(scheduling["preemptions"]),
        count(scheduling["recomputed_tokens"]),
        bytes_(scheduling["copied_bytes"]) if scheduling["copied_bytes"] else "0",
    ]


def _bare_percent(share: float | None) -> str:
    """`19.6`: the sign stands above the table."""
    return percent(share).removesuffix(" %")


def _flat(changes: dict[str, Any], prefix: str = "") -> str:
    """`server.policy: paged, server.watermark: 0.01`."""
    said = []
    for key, value in changes.items():
        if isinstance(value, dict):
            said.append(_flat(value, f"{prefix}{key}."))
        else:
            said.append(f"{prefix}{key}: {value}")
    return ", ".join(said)


def _common(parts: Sequence[Part]) -> list[str]:
    """Explanations that hold for all variants once, the others with their variant."""
    every = [part.records.facts.explanations for part in parts]
    shared = [line for line in every[0] if all(line in lines for lines in every)] if every else []
    own = [
        f"{part.name}: {line}"
        for part, lines in zip(parts, every, strict=True)
        for line in lines
        if line not in shared
    ]
    workload = parts[0].records.facts.workload if parts else {}
    return [*shared, *([workload["description"]] if workload.get("description") else []), *own]


def _provenance(provenance: dict[str, Any]) -> list[tuple[str, str]]:
    rows = []
    for key, value in provenance.items():
        if key != "command":
            if isinstance(value, dict):
                value = ", ".join(f"{name} {what}" for name, what in value.items())
            rows.append((key.replace("_", " "), DASH if value is None else str(value)))
    return rows
