"""Which column is which: the names that people's traces have.

Names are compared without case, blanks and punctuation.  A name that says its unit fixes it;
for the others the table below says what the tool that writes them means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NoReturn

from wastesim.config.lengths import TraceColumns, TraceReading
from wastesim.workload.traces.opening import refuse

#: Prompt lengths: generic, Azure and APEX, Mooncake, Vidur, splitwise-sim, LLMServingSim, BLIS
#: and the PagedAttention artifact, BurstGPT.
PROMPTS = (
    "prompt_tokens", "ContextTokens", "input_length", "num_prefill_tokens", "prompt_size",
    "input_toks", "input_tokens", "Request tokens",
)  # fmt: skip
#: Output lengths, in the same order.
OUTPUTS = (
    "output_tokens", "GeneratedTokens", "output_length", "num_decode_tokens", "token_size",
    "output_toks", "completion_tokens", "Response tokens",
)  # fmt: skip
#: Arrivals and their unit; None where only the cells or the companions tell.
ARRIVALS: Mapping[str, str | None] = {
    "arrival_time_s": "s", "arrival_time_ms": "ms", "arrival_time_us": "us",
    "arrival_time_ns": "ns", "arrival_s": "s", "arrived_at": "s", "arrival_timestamp": "s",
    "timestamp_s": "s", "timestamp_ms": "ms", "timestamp_us": "us", "timestamp_ns": "ns",
    "StartTimeOffset": "ns", "timestamp": None, "arrival_time": None,
}  # fmt: skip
#: The unit of a plain `timestamp` beside the prompt column of a known tool.
_TEXTS = ("conversations", "messages", "prompt", "text", "completion")
_BESIDE = {"inputlength": "ms", "requesttokens": "s"}


@dataclass(frozen=True)
class Columns:
    """Names as the file has them; `unit` is None when only the cells can tell."""

    prompt: str
    output: str
    arrival: str | None
    unit: str | None
    hashes: str | None = None


def choose(seen: Sequence[str], where: str, reading: TraceReading) -> Columns:
    """The columns of a file with the names `seen`; InputError that says what to do otherwise."""
    mapped = reading.columns or TraceColumns()
    prompt = _pick(seen, where, "prompt", mapped.prompt, PROMPTS)
    output = _pick(seen, where, "output", mapped.output, OUTPUTS)
    if prompt is None:
        _missing(seen, where, "prompt", PROMPTS)
    if output is None:
        _missing(seen, where, "output", OUTPUTS)
    arrival = _pick(seen, where, "arrival", mapped.arrival, tuple(ARRIVALS))
    unit = reading.time_unit or (arrival and _unit(arrival, prompt)) or None
    hashes = next((name for name in seen if plain(name) == "hashids"), None)
    return Columns(prompt, output, arrival, unit, hashes)


def plain(name: str) -> str:
    """A name without case, blanks and punctuation."""
    return "".join(char for char in name.lower() if char.isalnum())


def _unit(arrival: str, prompt: str) -> str | None:
    units = {plain(name): unit for name, unit in ARRIVALS.items()}
    return units.get(plain(arrival)) or _BESIDE.get(plain(prompt))


def _pick(
    seen: Sequence[str], where: str, role: str, mapped: str | None, known: Sequence[str]
) -> str | None:
    wanted = {plain(name) for name in known} if mapped is None else {plain(mapped)}
    found = [name for name in seen if plain(name) in wanted]
    if mapped is not None and not found:
        refuse(where, f"has no column '{mapped}'{_near(mapped, seen)}; columns: {_list(seen)}")
    if len(found) > 1:
        refuse(where, f"has more than one column for the {role}: {_list(found)}; {_map(role)}")
    return found[0] if found else None


def _missing(seen: Sequence[str], where: str, role: str, known: Sequence[str]) -> NoReturn:
    if any(plain(name) in _TEXTS for name in seen):
        hint = (
            "it has texts, whose lengths need a tokenizer: count the tokens of prompts and"
            " outputs first and give them as prompt_tokens and output_tokens"
        )
    elif any(name.strip().lstrip("+-").replace(".", "", 1).isdigit() for name in seen):
        hint = "the first line seems to be data: put a line of names above it"
    else:
        hint = f"known names are {', '.join(known)}; rename a column or {_map(role)}"
    refuse(where, f"has no column for the {role} length; columns: {_list(seen)}; {hint}")


def _map(role: str) -> str:
    return f"say which with 'columns: {{{role}: NAME}}'"


def _near(name: str, seen: Sequence[str]) -> str:
    near = get_close_matches(name, seen, n=1)
    return f", did you mean '{near[0]}'?" if near else ""


def _list(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(repr(name[:40]) for name in names[:most])
    return f"{shown}, and {len(names) - most} more" if len(names) > most else shown or "none"
