"""Who runs in the next tick.  Scheduling is a value: the server does what the plan says."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from wastesim.engine.memory import Memory
from wastesim.engine.queues import Queues
from wastesim.engine.sequence import Sequence


class Refusal(Enum):
    """Why the head of the queue was not admitted."""

    NONE = "nobody waits"
    MEMORY = "memory"
    MAX_NUM_SEQS = "max_num_seqs"
    TOKEN_BUDGET = "max_num_batched_tokens"
    BATCH = "the batch is not done"
    IN_FLIGHT = "its last token is in flight"


@dataclass
class Plan:
    """One tick's work: (sequence, new tokens), who came and went, and why no more came."""

    work: list[tuple[Sequence, int]] = field(default_factory=list)
    admitted: list[Sequence] = field(default_factory=list)
    preempted: list[Sequence] = field(default_factory=list)
    refusal: Refusal = Refusal.NONE


class Scheduler(Protocol):
    """`plan` takes and gives back memory as it goes; `released` says who may go."""

    def plan(self, queues: Queues, now_s: float) -> Plan:
        """The next tick's work."""

    def released(self, queues: Queues, finished: list[Sequence]) -> list[Sequence]:
        """Of the finished, whose memory is given back now."""


@dataclass(frozen=True)
class Orca:
    """Iteration-level scheduling (Orca, OSDI 2022) as the chapter and the paper use it.

    First come first served with head-of-line blocking; the whole prompt is computed in the tick
    of admission, together with one token of every running request; nobody is preempted.
    """

    memory: Memory
    max_num_seqs: int
    max_num_batched_tokens: int | None = None

    def plan(self, queues: Queues, now_s: float) -> Plan:
        """One token for each running request, then admissions from the head of the queue."""
        plan = Plan([(sequence, 1) for sequence in queues.running])
        budget = self.max_num_batched_tokens
        left = None if budget is None else budget - len(plan.work)
        while (refusal := self._refusal(queues, left)) is None:
            sequence = queues.waiting.pop()
            self.memory.admit(sequence, sequence.known, now_s)
            queues.running.append(sequence)
            plan.admitted.append(sequence)
            plan.work.append((sequence, sequence.known))
            left = None if left is None else left - sequence.known
        plan.refusal = refusal
        return plan

    def released(self, queues: Queues, finished: list[Sequence]) -> list[Sequence]:
        """All of them, at once."""
        return finished

    def _refusal(self, queues: Queues, tokens_left: int | None) -> Refusal | None:
        """Why the head cannot be admitted now, or None if it can."""
        if not queues.waiting:
            return Refusal.NONE
        head = queues.waiting.head()
        if len(queues.running) >= self.max_num_seqs:
            return Refusal.MAX_NUM_SEQS
        if tokens_left is not None and head.known > tokens_left:
            return Refusal.TOKEN_BUDGET
        return None if self.memory.fits(head, head.known) else Refusal.MEMORY


@dataclass(frozen=True)
class Static:
    """Request-level batching, as before Orca: a batch is filled and runs until all are done.

    Whoever is done early keeps its memory until the last one is.
    """

    memory: Memory
    max_num_seqs: int
    max_num_batched_tokens: int | None = None

    def plan(self, queues: Queues, now_s: float) -> Plan:
        """Fill a batch when there is none; else one token for each that is not done."""
        if not queues.running:
            orca = Orca(self.memory, self.max_num_seqs, self.max_num_batched_tokens)
            return orca.plan(queues, now_s)
        waits = Refusal.BATCH if queues.waiting else Refusal.NONE
        return Plan([(sequence, 1) for sequence in queues.running], refusal=waits)

    def released(self, queues: Queues, finished: list[Sequence]) -> list[Sequence]:
        """Nobody before the whole batch is done, then everybody."""
        queues.lingering.extend(finished)
        if queues.running:
            return []
        done, queues.lingering = queues.lingering, []
        return done
