"""Who runs in the next tick.  Scheduling is a value: the server does what the plan says."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum

from wastesim.allocation import Holding, Policy
from wastesim.engine.sequence import Sequence


class Refusal(Enum):
    """Why the head of the queue was not admitted."""

    NONE = "nobody waits"
    MEMORY = "memory"
    MAX_NUM_SEQS = "max_num_seqs"
    TOKEN_BUDGET = "max_num_batched_tokens"


@dataclass
class Queues:
    """Who waits and who runs, each in order."""

    waiting: deque[Sequence] = field(default_factory=deque)
    running: list[Sequence] = field(default_factory=list)


@dataclass
class Plan:
    """One tick's work: (sequence, new tokens), who was admitted, and why no more were."""

    work: list[tuple[Sequence, int]]
    admitted: list[tuple[Sequence, Holding]]
    refusal: Refusal


@dataclass(frozen=True)
class Orca:
    """Iteration-level scheduling (Orca, OSDI 2022) as the chapter and the paper use it.

    First come first served with head-of-line blocking; the whole prompt is computed in the tick
    of admission, together with one token of every running request; nobody is preempted.
    """

    policy: Policy
    max_num_seqs: int
    max_num_batched_tokens: int | None = None

    def plan(self, queues: Queues) -> Plan:
        """One token for each running request, then admissions from the head of the queue."""
        work = [(sequence, 1) for sequence in queues.running]
        admitted: list[tuple[Sequence, Holding]] = []
        budget = self.max_num_batched_tokens
        left = None if budget is None else budget - len(work)
        while (refusal := self._refusal(queues, left)) is None:
            sequence = queues.waiting.popleft()
            holding = self.policy.place(sequence.ask())
            assert holding is not None, "a policy must be able to place what it says fits"
            admitted.append((sequence, holding))
            queues.running.append(sequence)
            work.append((sequence, sequence.prompt))
            left = None if left is None else left - sequence.prompt
        return Plan(work, admitted, refusal)

    def _refusal(self, queues: Queues, tokens_left: int | None) -> Refusal | None:
        """Why the head cannot be admitted now, or None if it can."""
        if not queues.waiting:
            return Refusal.NONE
        head = queues.waiting[0]
        if len(queues.running) >= self.max_num_seqs:
            return Refusal.MAX_NUM_SEQS
        if tokens_left is not None and head.prompt > tokens_left:
            return Refusal.TOKEN_BUDGET
        return None if self.policy.fits(head.ask()) else Refusal.MEMORY
