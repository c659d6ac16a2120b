"""With lengths: how many requests run at once, where that follows from a formula.

Letters as in `report.closed_forms`: a request of prompt p and output o holds t = p .. p + o - 1
written cells, and memory is full all the time (requests queue)::

    contiguous   C // S                                     slots of S = max_model_len
    divided      N                                          slots, each C // N
    token        C / live,   live = sum o (p + (o - 1) / 2) / sum o
    paged        C / (live / written share of whole blocks)

Requests with p + o > max_model_len are served by the rules of each policy's scheduler: rejected
where slots are reserved, cut at the limit where requests grow; `workload.too_long` replaces both.
They are few and weigh much: 0.3 % of deepseek-r1's are beyond 32,768 tokens, and leaving them out
makes `live` 1.8 % smaller.

Fragmentation, preemption and cells that the head of the queue cannot use are left out: growing
policies run a little below this, the less the more requests memory holds (docs/capacity.md has
measurements).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wastesim.capacity.question import Answer
from wastesim.config.arrivals import WorkloadSpec
from wastesim.config.lengths import Lengths as LengthsConfig
from wastesim.config.workload import TooLong, too_long_rule
from wastesim.errors import ConfigError, InputError
from wastesim.report import closed_forms
from wastesim.report.lengths import Lengths
from wastesim.rng import Streams
from wastesim.units import format_digits
from wastesim.workload.pairs import BLOCK
from wastesim.workload.sources import open_lengths

#: Enough that means are within 0.5 % for every shipped workload.
_BLOCKS = 64
_SEED = 0


@dataclass(frozen=True)
class Expected:
    """Mean concurrency by policy; `too_long_share` of the requests exceed `max_model_len`.

    Mean and live tokens are of requests as growing policies serve them.  `written` is the share of
    reserved cells that is written, over steps.
    """

    workload: str
    capacity_cells: int
    max_model_len: int
    max_num_seqs: int
    mean_prompt_tokens: float
    mean_output_tokens: float
    live_tokens: float
    too_long_share: float
    too_long: TooLong | None
    concurrency: dict[str, float]
    written: dict[str, float | None]

    def to_tree(self) -> dict[str, Any]:
        """Plain numbers."""
        return asdict(self)


def expected(
    found: Answer,
    workload: str | LengthsConfig,
    max_num_seqs: int,
    n_parallel: int,
    too_long: TooLong | None = None,
) -> Expected:
    """The expectation for an answer's pool; InputError when the workload cannot be used."""
    lengths, q = draw_lengths(workload), found.question
    name = workload if isinstance(workload, str) else "the experiment's lengths"
    cells = found.budget.capacity_cells
    block = q.engine.block_size if q.engine.unit == "block" else 16
    return expected_of(
        name, lengths, cells, q.max_model_len, block, max_num_seqs, n_parallel, too_long
    )


def expected_of(
    name: str,
    lengths: Lengths,
    cells: int,
    max_model_len: int,
    block_size: int = 16,
    max_num_seqs: int = 256,
    n_parallel: int = 4,
    too_long: TooLong | None = None,
) -> Expected:
    """The closed forms for lengths and a pool of `cells`.

    `too_long` is the rule that was stated for all policies; None: each has its scheduler's.
    """
    longer = 1 - len(lengths.at_most(max_model_len).prompt) / len(lengths.prompt)
    if longer and too_long == "error":
        raise InputError(
            f"{format_digits(100 * longer, 2)} % of {name} have more than 'server.max_model_len'"
            f" {max_model_len:,} tokens; set 'workload.too_long' to reject or truncate, or raise"
            " the limit"
        )
    slots, growing = (
        _served(name, lengths, max_model_len, too_long_rule(too_long, scheduler))
        for scheduler in ("orca", "vllm")
    )
    found = _slots(slots, cells, max_model_len, n_parallel) | _growing(growing, cells, block_size)
    return Expected(
        workload=name,
        capacity_cells=cells,
        max_model_len=max_model_len,
        max_num_seqs=max_num_seqs,
        mean_prompt_tokens=float(growing.prompt.mean()),
        mean_output_tokens=float(growing.output.mean()),
        live_tokens=growing.mean_context(),
        too_long_share=longer,
        too_long=too_long,
        concurrency={policy: min(fit, max_num_seqs) for policy, (fit, _) in found.items()},
        written={policy: written for policy, (_, written) in found.items()},
    )


def _served(name: str, lengths: Lengths, max_model_len: int, rule: TooLong) -> Lengths:
    """Whom a server of this rule serves; ConfigError with the least limit if that is nobody."""
    served = lengths.served(max_model_len, rule)
    if len(served.prompt):
        return served
    cut = rule == "truncate"
    shortest = int(lengths.prompt.min()) + 1 if cut else int(lengths.total.min())
    what = "shortest prompt and one token" if cut else "shortest request"
    raise ConfigError(
        f"'--max-model-len' must be >= {shortest:,}, the {what} of {name} (got {max_model_len:,})"
    )


#: Requests at once and the written share, by policy.
_Found = dict[str, tuple[float, float | None]]


def _slots(served: Lengths, cells: int, max_model_len: int, n_parallel: int) -> _Found:
    """Policies that reserve a slot."""
    slots = closed_forms.slots(served, cells, max_model_len)
    own = closed_forms.slots(served, cells, max(1, cells // n_parallel))
    return {
        "contiguous": (float(slots.fit or 0), slots.written),
        "divided": (float(own.fit or 0), own.written),
    }


def _growing(served: Lengths, cells: int, block_size: int) -> _Found:
    """Policies under which requests grow, by whole blocks."""
    found: _Found = {}
    for policy, size in (("token", 1), (f"paged ({block_size})", block_size)):
        written = closed_forms.paged(served, cells, size).written
        found[policy] = (cells * (written or 0.0) / served.mean_context(), written)
    return found


def draw_lengths(workload: str | LengthsConfig, blocks: int = _BLOCKS) -> Lengths:
    """Lengths of a shipped workload, a file, a trace, or as described; always the same ones."""
    spec = WorkloadSpec.model_validate({"lengths": workload, "num_requests": 1})
    assert spec.lengths is not None  # it was just given
    source = open_lengths(spec.lengths, Path())
    rng = Streams(_SEED).lengths
    drawn = [source.draw(rng, BLOCK) for _ in range(blocks)]
    return Lengths(
        np.concatenate([pairs.prompt for pairs in drawn]),
        np.concatenate([pairs.output for pairs in drawn]),
    )


def expected_lines(found: Expected) -> list[str]:
    """The expectation in words, a line per policy."""
    lines = [
        f"expected concurrency for {found.workload} (mean prompt"
        f" {found.mean_prompt_tokens:,.0f}, output {found.mean_output_tokens:,.0f}, live"
        f" {found.live_tokens:,.0f} tokens), at most {found.max_num_seqs:,}:",
        *_too_long(found),
    ]
    for policy, value in found.concurrency.items():
        share = found.written[policy]
        written = "" if share is None else f", {100 * share:.1f} % of what is reserved is written"
        lines.append(f"  {policy:<12} {value:8,.1f}{written}")
    return [*lines, "  closed forms of a full pool: simulate for queues, preemption and latency"]


def _too_long(found: Expected) -> list[str]:
    """What becomes of those that are longer than the server allows."""
    if not found.too_long_share:
        return []
    usual = "rejected where slots are reserved, cut there where requests grow"
    stated = {"reject": "rejected", "truncate": "cut there"}.get(found.too_long or "", usual)
    return [
        f"  {format_digits(100 * found.too_long_share, 2)} % are longer than"
        f" {found.max_model_len:,} tokens: {stated}"
    ]
