"""The door, for blocks of requests: whoever is clearly fine passes, all others are looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from wastesim.allocation import Ask, Policy
from wastesim.engine.decorate import Hint
from wastesim.engine.door import Door
from wastesim.engine.rows import rejected
from wastesim.records import Array, RequestRow
from wastesim.request import Request
from wastesim.workload import Block


class Admitted(NamedTuple):
    """Who was let in of a block of requests, in columns, and who was not.

    A run that is overloaded keeps millions of them: nothing is stored that can be worked out.
    """

    first_s: float  # of the block, refused or not
    request_id: Array | range
    arrival_s: Array
    prompt: Array
    outputs: Array
    truncated: Array | None  # None: nobody's outputs were
    max_tokens: Array | None  # None: nobody declared any, `room` less the prompt is left
    room: int
    hints: list[int | None] | None
    refused: list[RequestRow]

    def lists(self) -> list[list[Any]]:
        """The columns of `Entry`, in Python's numbers."""
        ids, nobody = self.request_id, [0] * len(self.arrival_s)
        truncated, declared = self.truncated, self.max_tokens
        most = self.room - self.prompt if declared is None else declared
        return [
            list(ids) if isinstance(ids, range) else ids.tolist(),
            self.arrival_s.tolist(),
            self.prompt.tolist(),
            self.outputs.tolist(),
            nobody if truncated is None else truncated.tolist(),
            most.tolist(),
            self.hints or [None] * len(nobody),
        ]


class Gate:
    """Lets blocks of requests in, by the rules of `Door`."""

    def __init__(self, door: Door, policy: Policy, *, known: bool, hint: Hint | None) -> None:
        """`known`: no claim of the policy is above `max_model_len`'s."""
        self._door = door
        self._hint = hint
        limit = door.max_model_len
        needed, most = policy.needs_at_most(Ask(0, limit, limit, limit, limit), limit)
        self._all_fit = known and needed <= most

    def admit(self, blocks: Iterator[Block]) -> Iterator[Admitted]:
        """Each block's requests as they come in."""
        for block in blocks:
            if len(block.arrival_s):
                yield self._admit(block)

    def _admit(self, block: Block) -> Admitted:
        doubtful = np.flatnonzero(self._doubtful(block)).tolist()
        hints = None if self._hint is None else self._hints(self._hint, block)
        if not doubtful and block.max_tokens is None:
            return self._whole(block, hints)
        prompt, outputs = block.prompt.astype(np.int32), block.output.astype(np.int32)
        room = self._door.max_model_len - prompt
        declared = room if block.max_tokens is None else np.minimum(block.max_tokens, room)
        declared = declared.astype(np.int32)
        truncated, inside = np.zeros_like(prompt), np.ones(len(prompt), dtype=bool)
        refused: list[RequestRow] = []
        for i in doubtful:
            entered = self._door.enter(_request(block, i, hints[i] if hints else None))
            if isinstance(entered, str):
                inside[i] = False
                refused.append(rejected(_request(block, i), entered))
                continue
            outputs[i], truncated[i] = entered.outputs, entered.truncated
            declared[i] = entered.max_tokens
        if hints is not None:
            hints = [hint for hint, let_in in zip(hints, inside.tolist(), strict=True) if let_in]
        return Admitted(
            float(block.arrival_s[0]),
            block.first + np.flatnonzero(inside),
            block.arrival_s[inside],
            prompt[inside],
            outputs[inside],
            truncated[inside],
            declared[inside],
            self._door.max_model_len,
            hints,
            refused,
        )

    def _whole(self, block: Block, hints: list[int | None] | None) -> Admitted:
        """Everybody is fine."""
        return Admitted(
            float(block.arrival_s[0]),
            range(block.first, block.first + len(block.arrival_s)),
            block.arrival_s,
            block.prompt.astype(np.int32),
            block.output.astype(np.int32),
            None,
            None,
            self._door.max_model_len,
            hints,
            [],
        )

    @staticmethod
    def _hints(hint: Hint, block: Block) -> list[int | None]:
        return [hint(_request(block, i)) for i in range(len(block.arrival_s))]

    def _doubtful(self, block: Block) -> Array:
        """Who must be looked at one by one."""
        if not self._all_fit:
            return np.ones(len(block.prompt), dtype=bool)
        doubtful: Array = block.prompt + block.output > self._door.max_model_len
        if self._door.refuse_impossible and self._door.whole_prompt_tokens is not None:
            doubtful = doubtful | (block.prompt > self._door.whole_prompt_tokens)
        return doubtful


def _request(block: Block, i: int, hint: int | None = None) -> Request:
    declared = None if block.max_tokens is None else int(block.max_tokens[i])
    arrival_s, prompt, output = block.arrival_s[i], block.prompt[i], block.output[i]
    return Request(block.first + i, float(arrival_s), int(prompt), int(output), declared, hint)
