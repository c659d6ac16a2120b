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
    """Who was let in of a block of requests, in columns as `Entry` has them, and who was not."""

    first_s: float
    request_id: Array
    arrival_s: Array
    prompt: Array
    outputs: Array
    truncated: Array
    max_tokens: Array
    hints: list[int | None] | None
    refused: list[RequestRow]

    def lists(self) -> list[list[Any]]:
        """The columns of `Entry`, in Python's numbers."""
        columns = [column.tolist() for column in self[1:7]]
        return [*columns, self.hints or [None] * len(columns[0])]


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
        ids = block.first + np.arange(len(block.arrival_s))
        prompt, outputs = block.prompt.astype(np.int64), block.output.astype(np.int64)
        room = self._door.max_model_len - prompt
        declared = room if block.max_tokens is None else np.minimum(block.max_tokens, room)
        truncated, inside = np.zeros(len(ids), dtype=np.int64), np.ones(len(ids), dtype=bool)
        hints = None if self._hint is None else self._hints(self._hint, block)
        refused: list[RequestRow] = []
        for i in np.flatnonzero(self._doubtful(prompt, outputs)).tolist():
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
            ids[inside],
            block.arrival_s[inside],
            prompt[inside],
            outputs[inside],
            truncated[inside],
            declared[inside],
            hints,
            refused,
        )

    @staticmethod
    def _hints(hint: Hint, block: Block) -> list[int | None]:
        return [hint(_request(block, i)) for i in range(len(block.arrival_s))]

    def _doubtful(self, prompt: Array, outputs: Array) -> Array:
        """Who must be looked at one by one."""
        if not self._all_fit:
            return np.ones(len(prompt), dtype=bool)
        doubtful: Array = prompt + outputs > self._door.max_model_len
        if self._door.refuse_impossible and self._door.whole_prompt_tokens is not None:
            doubtful = doubtful | (prompt > self._door.whole_prompt_tokens)
        return doubtful


def _request(block: Block, i: int, hint: int | None = None) -> Request:
    declared = None if block.max_tokens is None else int(block.max_tokens[i])
    arrival_s, prompt, output = block.arrival_s[i], block.prompt[i], block.output[i]
    return Request(block.first + i, float(arrival_s), int(prompt), int(output), declared, hint)
