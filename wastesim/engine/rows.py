"""From the engine's state to the flat rows of `records`."""

from __future__ import annotations

from collections.abc import Iterator

from wastesim.engine.sequence import Sequence
from wastesim.records import RequestRow, SpanRow
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
        reserved_cells=sequence.placement.cells if sequence.placement else 0,
        admitted_s=sequence.admitted_s,
        first_token_s=sequence.first_token_s,
        finished_s=finished_s,
        admitted_tick=sequence.admitted_tick,
        first_token_tick=sequence.first_token_tick,
        finished_tick=tick,
    )


def rejected(request: Request, reason: str) -> RequestRow:
    """A request that was refused at the door."""
    outputs = request.output_tokens
    where = (request.request_id, "rejected", reason, request.arrival_s, request.prompt_tokens)
    return RequestRow(*where, outputs, 0, 0, 0, 0, None, None, None, None, None, None)


def span_rows(sequence: Sequence, now_s: float) -> Iterator[SpanRow]:
    """The cells that a request held until now."""
    if sequence.placement is not None:
        for span in sequence.placement.spans:
            yield SpanRow(sequence.request_id, *span, sequence.held_since_s, now_s)
