"""What a client asks for: the one thing that workload, engine, allocation and decode share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """One request of a workload.  Compared by identity: queues hold many alike.

    `output_tokens` is the true length, known to the engine (end-of-sequence is ignored) and to
    the oracle policy alone.  `max_tokens` is what the client declared, None when it declared
    nothing; `hint_tokens` is a predicted output length drawn with the request.  Lower `priority`
    is served first; the client gives up `cancel_after_s` after its arrival.
    """

    request_id: int
    arrival_s: float
    prompt_tokens: int
    output_tokens: int
    max_tokens: int | None = None
    hint_tokens: int | None = None
    priority: int = 0
    cancel_after_s: float | None = None

    @property
    def total_tokens(self) -> int:
        """P + O: what is compared with `max_model_len`."""
        return self.prompt_tokens + self.output_tokens

    @property
    def final_stored_tokens(self) -> int:
        """P + O - 1: the last token's K and V are never needed, hence never stored."""
        return self.prompt_tokens + self.output_tokens - 1
