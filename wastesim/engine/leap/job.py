"""A request inside the leaping engine: a few integers from which every other number follows."""

from __future__ import annotations

from typing import NamedTuple

from wastesim.allocation import Ask


class Entry(NamedTuple):
    """A request that was let in, as it waits; `outputs` is what truncation left of them."""

    request_id: int
    arrival_s: float
    prompt: int
    outputs: int
    truncated: int
    max_tokens: int
    hint: int | None


class Job:
    """Mutable state of one request.  Compared by identity.

    While it decodes, ticks say how far it is: in tick `end` it samples its last token, so after
    tick t it has generated ``outputs - (end - t)`` tokens and stored ``final - (end - t)``.
    """

    __slots__ = (
        "admitted_s", "admitted_tick", "arrival_s", "bucket", "end", "final", "first_s",
        "first_tick", "generated", "held", "hint", "max_tokens", "order", "outputs", "pad",
        "pad_tick", "padding", "preemptions", "prompt", "request_id", "room", "scheduled",
        "stored", "truncated", "unused",
    )  # fmt: skip

    request_id: int
    arrival_s: float
    prompt: int
    outputs: int
    truncated: int
    max_tokens: int
    hint: int | None
    final: int  # stored tokens at its end
    order: int  # of its latest admission
    held: int  # cells
    room: int  # stored tokens that its cells can hold without growing
    unused: int
    padding: int
    bucket: int  # of `BlockPool`: when it needs blocks
    pad: int  # and what its last block has too much
    pad_tick: int  # since when; -1 before

    def __init__(self, entry: Entry) -> None:
        (
            self.request_id, self.arrival_s, self.prompt, self.outputs, self.truncated,
            self.max_tokens, self.hint,
        ) = entry  # fmt: skip
        self.final = self.prompt + self.outputs - 1
        self.generated = 0  # of those that wait or prefill
        self.stored = 0  # likewise
        self.end = -1  # it does not decode
        self.held = 0
        self.preemptions = self.scheduled = 0
        self.admitted_tick = self.first_tick = -1
        self.admitted_s = self.first_s = 0.0

    @property
    def known(self) -> int:
        """Prompt and sampled tokens, of those that wait or prefill."""
        return self.prompt + self.generated

    def ask(self) -> Ask:
        """What a policy may see."""
        known = self.prompt + self.generated
        return Ask(self.request_id, self.prompt, self.max_tokens, self.hint, known)
