"""From the engine's state to the flat rows of `records`."""

from __future__ import annotations

from wastesim.engine.sequence import Sequence
from wastesim.records import RequestRow
from wastesim.request import Request


def request_row(
    sequence: Sequence, status: str, reason: str, finished_s: float | None, tick: int | None
) -> RequestRow:
    """A request that entered the queue, at its end."""
    request = sequence.request
    return RequestRow(
        request_id=request.request_id,
        status=status,
        reason=reason,
        arrival_s=request.arrival_s,
        prompt_tokens=request.prompt_tokens,
        output_tokens=sequence.outputs,
        truncated_tokens=sequence.truncated,
        generated_tokens=sequence.generated,
        stored_tokens=sequence.stored,
        reserved_cells=sequence.holding.cells if sequence.holding else 0,
        written_cells=sequence.written_cells,
        preemptions=sequence.preemptions,
        scheduled_tokens=sequence.scheduled_tokens,
        admitted_s=sequence.admitted_s,
        first_token_s=sequence.first_token_s,
        finished_s=finished_s,
        admitted_tick=sequence.admitted_tick,
        first_token_tick=sequence.first_token_tick,
        finished_tick=tick,
    )


def rejected(request: Request, reason: str) -> RequestRow:
    """A request that was refused at the door."""
    sequence = Sequence(request, request.output_tokens, 0)
    return request_row(sequence, "rejected", reason, None, None)
