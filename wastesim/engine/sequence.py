"""A request inside the server: what the engine knows of it beyond the request itself."""

from __future__ import annotations

from dataclasses import dataclass

from wastesim.address import Placement
from wastesim.allocation import Ask
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
    generated: int = 0  # tokens sampled so far
    placement: Placement | None = None
    claim_cells: int = 0
    held_since_s: float = 0.0
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
        """Prompt and generated tokens: what can be computed."""
        return self.request.prompt_tokens + self.generated

    @property
    def final_stored(self) -> int:
        """Stored tokens at its end: the last one sampled is never stored."""
        return self.request.prompt_tokens + self.outputs - 1

    @property
    def truncated(self) -> int:
        """Output tokens that the workload asked for and the server cut."""
        return self.request.output_tokens - self.outputs

    def ask(self) -> Ask:
        """What a policy may see."""
        request = self.request
        return Ask(request.request_id, request.prompt_tokens, self.max_tokens, request.hint_tokens)
