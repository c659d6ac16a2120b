"""With lengths: how many requests run at once, where that follows from a formula.

Letters as in `report.closed_forms`: a request of prompt p and output o holds t = p .. p + o - 1
written cells, and memory is full all the time (requests queue)::

    contiguous   C // S                                     slots of S = max_model_len
    divided      N                                          slots, each C // N
    token        C / live,   live = sum o (p + (o - 1) / 2) / sum o
    paged        C / (live / written share of whole blocks)

Requests with p + o > max_model_len are served by the rules of each policy's scheduler: rejected
where slots are reserved, cut at the limit where requests grow.  They are few and weigh much: 0.3 %
of deepseek-r1's are beyond 32,768 tokens, and leaving them out makes `live` 1.8 % smaller.

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
from wastesim.errors import ConfigError
from wastesim.report import closed_forms
from wastesim.report.lengths import Lengths
from wastesim.rng import Streams
from wastesim.workload.pairs import BLOCK
from wastesim.workload.sources import open_lengths

#: Enough that means are within 0.5 % for every shipped workload.
_BLOCKS = 64
_SEED = 0


@dataclass(frozen=True)
class Expected:
    """Mean concurrency by policy; `too_long_share` of the requests exceed `max_model_len`.

    Mean and live tokens are of requests cut at the limit, as growing policies serve them.
    `written` is the share of reserved cells that is written, over steps.
    """

    workload: str
    capacity_cells: int
    max_model_len: int
    max_num_seqs: int
    mean_prompt_tokens: float
    mean_output_tokens: float
    live_tokens: float
    too_long_share: float
    concurrency: dict[str, float]
    written: dict[str, float | None]

    def to_tree(self) -> dict[str, Any]:
        """Plain numbers."""
        return asdict(self)


def expected(
    found: Answer, workload: str | LengthsConfig, max_num_seqs: int, n_parallel: int
) -> Expected:
    """The expectation for an answer's pool; InputError when the workload cannot be used."""
    lengths, q = draw_lengths(workload), found.question
    name = workload if isinstance(workload, str) else "the experiment's lengths"
    cells = found.budget.capacity_cells
    block = q.engine.block_size if q.engine.unit == "block" else 16
    return expected_of(name, lengths, cells, q.max_model_len, block, max_num_seqs, n_parallel)


def expected_of(
    name: str,
    lengths: Lengths,
    cells: int,
    max_model_len: int,
    block_size: int = 16,
    max_num_seqs: int = 256,
    n_parallel: int = 4,
) -> Expected:
    """The closed forms for lengths and a pool of `cells`."""
    kept, cut = lengths.at_most(max_model_len), lengths.cut_at(max_model_len)
    if not len(kept.prompt):
        shortest = int(lengths.total.min())
        raise ConfigError(
            f"'--max-model-len' must be >= {shortest:,}, the shortest request of {name}"
            f" (got {max_model_len:,})"
        )
    slots = _slots(kept, cells, max_model_len, n_parallel)
    found = slots | _growing(cut, cells, block_size)
    return Expected(
        workload=name,
        capacity_cells=cells,
        max_model_len=max_model_len,
        max_num_seqs=max_num_seqs,
        mean_prompt_tokens=float(cut.prompt.mean()),
        mean_output_tokens=float(cut.output.mean()),
        live_tokens=cut.mean_context(),
        too_long_share=1 - len(kept.prompt) / len(lengths.prompt),
        concurrency={policy: min(fit, max_num_seqs) for policy, (fit, _) in found.items()},
        written={policy: written for policy, (_, written) in found.items()},
    )


#: Requests at once and the written share, by policy.
_Found = dict[str, tuple[float, float | None]]


def _slots(kept: Lengths, cells: int, max_model_len: int, n_parallel: int) -> _Found:
    """Policies that reserve a slot, and reject what is longer."""
    slots = closed_forms.slots(kept, cells, max_model_len)
    own = closed_forms.slots(kept, cells, max(1, cells // n_parallel))
    return {
        "contiguous": (float(slots.fit or 0), slots.written),
        "divided": (float(own.fit or 0), own.written),
    }


def _growing(cut: Lengths, cells: int, block_size: int) -> _Found:
    """Policies under which requests grow, by whole blocks."""
    found: _Found = {}
    for policy, size in (("token", 1), (f"paged ({block_size})", block_size)):
        written = closed_forms.paged(cut, cells, size).written
        found[policy] = (cells * (written or 0.0) / cut.mean_context(), written)
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
    return [
        f"  {100 * found.too_long_share:.2g} % are longer than {found.max_model_len:,} tokens:"
        " rejected where slots are reserved, cut there where requests grow"
    ]
