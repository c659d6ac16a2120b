"""Who is let into the queue: everybody who can ever be served, and no one is lost.

A request that cannot be served is refused here with both numbers, whatever the policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wastesim.allocation import Ask, Policy
from wastesim.engine.sequence import Sequence
from wastesim.errors import InputError
from wastesim.request import Request


@dataclass(frozen=True)
class Door:
    """The rules of entry: `max_model_len`, the token budget, and what memory can ever hold.

    `whole_prompt_tokens` is the largest prompt that one tick can take where prompts are not cut.
    """

    policy: Policy
    max_model_len: int
    too_long: Literal["reject", "truncate", "error"]
    whole_prompt_tokens: int | None = None
    refuse_impossible: bool = True

    def enter(self, request: Request) -> Sequence | str:
        """The sequence to queue, or the reason why not; InputError if too long is an error."""
        limit = self.max_model_len
        outputs = request.output_tokens
        if request.total_tokens > limit:
            if self.too_long == "error":
                raise InputError(
                    f"request {request.request_id} has {request.prompt_tokens} prompt and"
                    f" {request.output_tokens} output tokens, more than 'server.max_model_len'"
                    f" {limit}; set 'workload.too_long' to reject or truncate, or raise the limit"
                )
            if self.too_long == "reject":
                return f"too long: prompt + output > max_model_len {limit}"
            if request.prompt_tokens >= limit:
                return f"too long: prompt >= max_model_len {limit}"
            outputs = limit - request.prompt_tokens
        return self._admissible(request, outputs)

    def _admissible(self, request: Request, outputs: int) -> Sequence | str:
        declared = request.max_tokens
        room = self.max_model_len - request.prompt_tokens
        sequence = Sequence(request, outputs, room if declared is None else min(declared, room))
        return self._too_large(sequence) or self._impossible(sequence) or sequence

    def _too_large(self, sequence: Sequence) -> str | None:
        budget = self.whole_prompt_tokens
        if not self.refuse_impossible or budget is None or sequence.prompt <= budget:
            return None
        return f"never fits: the whole prompt > max_num_batched_tokens {budget}"

    def _impossible(self, sequence: Sequence) -> str | None:
        ask = sequence.ask()
        needed, most = self.policy.needs_at_most(ask, sequence.final_stored)
        if needed <= most or not (self.refuse_impossible or self._outgrows(ask, most)):
            return None
        return f"never fits: needs {needed} cells, an empty pool can give {most}"

    def _outgrows(self, ask: Ask, most: int) -> bool:
        """It would get a place, write beyond its end, and have nowhere to grow: never let in."""
        return not self.policy.grows and self.policy.needs_at_most(ask, ask.known_tokens)[0] <= most
