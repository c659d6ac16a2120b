"""The scheduler of vLLM, rule by rule.

The rules were measured on vLLM 0.33's own scheduler; `tests/oracles/test_vllm.py` compares every
step.  First come first served, no prefix cache, no speculative decoding.  Symbols: T known tokens,
c stored tokens, B the step's token budget, L `max_model_len`.
"""

from __future__ import annotations

from dataclasses import dataclass

from wastesim.engine.memory import Memory
from wastesim.engine.queues import Queues
from wastesim.engine.scheduler import Plan, Refusal
from wastesim.engine.sequence import Sequence

#: So often in a row a request may be admitted, fill the pool alone and preempt itself, without
#: one token sampled, before it is not admitted again.  vLLM would go on for ever; its start-up
#: check makes it impossible there, as `refuse_impossible` does here.
VAIN_PREEMPTIONS = 1000


@dataclass(frozen=True)
class VllmRules:
    """The options, under vLLM's names; the watermark in cells."""

    max_num_seqs: int
    max_num_batched_tokens: int
    enable_chunked_prefill: bool = True
    long_prefill_token_threshold: int = 0
    watermark_cells: int = 0
    scheduler_reserve_full_isl: bool = True
    by_priority: bool = False


class Vllm:
    """Running requests first, then admissions, unless somebody was preempted."""

    def __init__(self, memory: Memory, rules: VllmRules) -> None:
        self.memory = memory
        self.rules = rules
        self._vain_victim: Sequence | None = None
        self._vain = 0

    def plan(self, queues: Queues, now_s: float) -> Plan:
        """One step's work."""
        plan = Plan()
        alone = len(queues.running) + len(queues.waiting) == 1
        left = self._serve_running(plan, queues, now_s, alone)
        if plan.preempted:
            plan.refusal = Refusal.MEMORY
        else:
            self._admit(plan, queues, now_s, left, alone)
        return plan

    def released(self, queues: Queues, finished: list[Sequence]) -> list[Sequence]:
        """All of them, at once."""
        return finished

    def _serve_running(self, plan: Plan, queues: Queues, now_s: float, alone: bool) -> int:
        """Next tokens of running requests in order of admission; returns the budget left."""
        left, index, running = self.rules.max_num_batched_tokens, 0, queues.running
        while index < len(running) and left > 0:
            sequence = running[index]
            new = min(self._cap(sequence.known - sequence.stored, alone), left)
            if new == 0 or sequence.all_sampled:
                index += 1  # its end is in flight: it keeps its place and its cells
                continue
            if not self.memory.make_room(sequence, sequence.stored + new, now_s):
                left += self._preempt_for(sequence, new, plan, queues, now_s)
                if sequence not in running:
                    break
                index = running.index(sequence)  # a victim may have stood before it
            plan.work.append((sequence, new))
            left -= new
            index += 1
        return left

    def _preempt_for(
        self, sequence: Sequence, new: int, plan: Plan, queues: Queues, now_s: float
    ) -> int:
        """Preempt until there is room or it was `sequence` itself; returns budget set free."""
        freed = 0
        while True:
            victim = self._victim(queues)
            self._note_vain(victim, sequence, queues)
            freed += self._preempt(victim, plan, queues, now_s)
            if victim is sequence:
                return freed
            if self.memory.make_room(sequence, sequence.stored + new, now_s):
                return freed

    def _admit(self, plan: Plan, queues: Queues, now_s: float, left: int, alone: bool) -> None:
        """From the head of the queue; the first failure ends it."""
        while (refusal := self._refusal(queues, left, alone)) is None:
            sequence = queues.waiting.pop()
            new = min(self._cap(sequence.known, alone), left)
            self.memory.admit(sequence, new, now_s)
            queues.running.append(sequence)
            plan.admitted.append(sequence)
            plan.work.append((sequence, new))
            left -= new
        plan.refusal = refusal

    def _refusal(self, queues: Queues, left: int, alone: bool) -> Refusal | None:
        if not queues.waiting:
            return Refusal.NONE
        if len(queues.running) >= self.rules.max_num_seqs:
            return Refusal.MAX_NUM_SEQS
        head = queues.waiting.head()
        if head.in_flight:
            return Refusal.IN_FLIGHT
        if self._vain >= VAIN_PREEMPTIONS and head is self._vain_victim:
            return Refusal.MEMORY
        new = self._cap(head.known, alone)
        if left <= 0 or (new > left and not self.rules.enable_chunked_prefill):
            return Refusal.TOKEN_BUDGET
        spare = self.rules.watermark_cells if queues.running else 0
        if self.rules.scheduler_reserve_full_isl and not self.memory.fits_whole(head, spare):
            return Refusal.MEMORY
        return None if self.memory.fits(head, min(new, left), spare) else Refusal.MEMORY

    def _cap(self, tokens: int, alone: bool) -> int:
        """Long prefills go in pieces, except when there is only one request."""
        threshold = self.rules.long_prefill_token_threshold
        return tokens if alone or not threshold else min(tokens, threshold)

    def _victim(self, queues: Queues) -> Sequence:
        """The newest, or the lowest in priority."""
        if self.rules.by_priority:
            return max(queues.running, key=lambda sequence: sequence.rank)
        return queues.running[-1]

    def _preempt(self, victim: Sequence, plan: Plan, queues: Queues, now_s: float) -> int:
        """All its cells are free at once, nothing is kept; returns its part of the budget."""
        queues.running.remove(victim)
        self.memory.evict(victim, now_s)
        victim.preemptions += 1
        plan.preempted.append(victim)
        queues.waiting.come_back(victim)
        return self._unschedule(plan, victim)

    @staticmethod
    def _unschedule(plan: Plan, victim: Sequence) -> int:
        """By priority, a victim may have been served in this step already: its budget returns."""
        taken = [new for sequence, new in plan.work if sequence is victim]
        if taken:
            plan.work = [item for item in plan.work if item[0] is not victim]
        return sum(taken)

    def _note_vain(self, victim: Sequence, sequence: Sequence, queues: Queues) -> None:
        """Count how often a request that had all memory to itself gave way to itself."""
        if victim is not sequence or len(queues.running) > 1:
            return
        again = victim is self._vain_victim and not victim.sampled
        self._vain_victim, self._vain = victim, self._vain + 1 if again else 0
