"""A request inside the leaping engine: a few integers from which every other number follows."""

from __future__ import annotations

from wastesim.allocation import Ask

#: Who was let in, as it waits: id, arrival in s, prompt, outputs (what truncation left of them),
#: truncated outputs, `max_tokens`, hint.
Entry = tuple[int, float, int, int, int, int, int | None]


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
    generated: int
    stored: int
    end: int
    admitted_tick: int
    admitted_s: float
    first_tick: int
    first_s: float
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
        self.generated = self.stored = 0  # of those that wait or prefill
        self.end = self.admitted_tick = self.first_tick = -1  # it does not decode, never did
        self.held = self.preemptions = self.scheduled = 0

    def entry(self) -> Entry:
        """As it came."""
        return (
            self.request_id, self.arrival_s, self.prompt, self.outputs, self.truncated,
            self.max_tokens, self.hint,
        )  # fmt: skip

    @property
    def known(self) -> int:
        """Prompt and sampled tokens, of those that wait or prefill."""
        return self.prompt + self.generated

    def ask(self) -> Ask:
        """What a policy may see."""
        known = self.prompt + self.generated
        return Ask(self.request_id, self.prompt, self.max_tokens, self.hint, known)
