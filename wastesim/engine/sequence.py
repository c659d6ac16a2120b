"""A request inside the server: what the engine knows of it beyond the request itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

from wastesim.allocation import Ask, Holding
from wastesim.request import Request


@dataclass(slots=True, eq=False)
class Sequence:
    """Mutable state of one request.  Compared by identity.

    `outputs` is the forced output length: the workload's, less what truncation took.
    """

    request: Request
    outputs: int
    max_tokens: int
    stored: int = 0  # tokens whose K and V are in held cells
    peak_stored: int = 0  # the most it ever had stored
    generated: int = 0  # tokens sampled and delivered so far
    in_flight: int = 0  # sampled, not yet delivered (asynchronous scheduling)
    sampled: bool = False  # since its latest admission: decode, no longer prefill
    holding: Holding | None = None
    room_tokens: int = 0  # stored tokens that its cells can hold without growing
    preemptions: int = 0
    scheduled_tokens: int = 0
    ended: bool = False  # its row has been recorded
    admitted_s: float | None = None
    first_token_s: float | None = None
    admitted_tick: int | None = None
    first_token_tick: int | None = None

    @property
    def request_id(self) -> int:
        """The request's id."""
        return self.request.request_id

    @property
    def prompt(self) -> int:
        """Prompt tokens."""
        return self.request.prompt_tokens

    @property
    def known(self) -> int:
        """Prompt and sampled tokens: what can be computed."""
        return self.request.prompt_tokens + self.generated + self.in_flight

    @property
    def all_sampled(self) -> bool:
        """Whether its last token has been sampled, delivered or not."""
        return self.generated + self.in_flight >= self.outputs

    @property
    def final_stored(self) -> int:
        """Stored tokens at its end: the last one sampled is never stored."""
        return self.request.prompt_tokens + self.outputs - 1

    @property
    def written_cells(self) -> int:
        """Of the cells that it holds, in all KV groups: what windows let go is held no more."""
        if self.holding is None:
            return 0
        return sum(self.stored - part.dropped_cells for part in self.holding.parts)

    @property
    def truncated(self) -> int:
        """Output tokens that the workload asked for and the server cut."""
        return self.request.output_tokens - self.outputs

    @property
    def deadline_s(self) -> float:
        """When its client gives up; infinity when it never does."""
        after_s = self.request.cancel_after_s
        return math.inf if after_s is None else self.request.arrival_s + after_s

    @property
    def rank(self) -> tuple[int, float, int]:
        """Its place in a queue by priority: lower is earlier."""
        request = self.request
        return (request.priority, request.arrival_s, request.request_id)

    def ask(self) -> Ask:
        """What a policy may see."""
        request = self.request
        hint, known = request.hint_tokens, self.known
        return Ask(request.request_id, request.prompt_tokens, self.max_tokens, hint, known)
