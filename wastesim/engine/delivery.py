"""What becomes of requests: tokens delivered, the finished released, who gives up, who is left."""

from __future__ import annotations

import heapq
import math

from wastesim.engine.memory import Memory
from wastesim.engine.queues import Queues
from wastesim.engine.register import Register
from wastesim.engine.scheduler import Plan, Scheduler
from wastesim.engine.sequence import Sequence

#: Who sampled a token, and in which tick's forward pass.
Tokens = list[tuple[Sequence, int]]


class Delivery:
    """Moves requests out of the server, each with its row."""

    def __init__(
        self, memory: Memory, scheduler: Scheduler, register: Register, queues: Queues
    ) -> None:
        self._memory = memory
        self._scheduler = scheduler
        self._register = register
        self._queues = queues
        self._deadlines: list[tuple[float, int, Sequence]] = []
        self.in_flight: Tokens = []

    def sample(self, plan: Plan, tick: int) -> Tokens:
        """Whoever has all known tokens stored has sampled one more."""
        tokens = []
        for sequence, _ in plan.work:
            if sequence.stored == sequence.known:
                sequence.in_flight += 1
                sequence.sampled = True
                tokens.append((sequence, tick))
        return tokens

    def deliver_in_flight(self, tokens: Tokens, now_s: float) -> int:
        """Deliver the tokens of the tick before; these come next time."""
        before, self.in_flight = self.in_flight, tokens
        return self.deliver(before, now_s)

    def deliver(self, tokens: Tokens, now_s: float) -> int:
        """Hand tokens to their clients; returns how many requests that finished."""
        finished = []
        for sequence, tick in tokens:
            sequence.in_flight -= 1
            sequence.generated += 1
            if sequence.generated == 1:
                sequence.first_token_s, sequence.first_token_tick = now_s, tick
                self._register.first_token(sequence, now_s)
            if sequence.generated == sequence.outputs:
                finished.append(sequence)
                self._register.ended(sequence, "completed", "", now_s, tick)
                self._memory.completed(sequence)
        if finished:
            self._finish(finished, now_s)
        return len(finished)

    def expect(self, sequence: Sequence) -> None:
        """A request has come; its client may give up later."""
        if sequence.deadline_s < math.inf:
            heapq.heappush(self._deadlines, (sequence.deadline_s, sequence.request_id, sequence))

    def next_deadline_s(self) -> float | None:
        """When the next client gives up, if any ever does."""
        while self._deadlines and self._deadlines[0][2].ended:
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def cancel_due(self, now_s: float) -> None:
        """Clients whose time is over leave, waiting or running; their cells are free at once."""
        while self._deadlines and self._deadlines[0][0] <= now_s:
            sequence = heapq.heappop(self._deadlines)[2]
            if not sequence.ended:
                self._cancel(sequence, now_s)

    def give_up_on_the_rest(self, now_s: float, reason: str) -> None:
        """The run is over: whoever is still here is unfinished."""
        for sequence in (*self._queues.running, *self._queues.waiting):
            self._register.ended(sequence, "unfinished", reason, None, None)
        self._memory.close(now_s)

    def _finish(self, finished: list[Sequence], now_s: float) -> None:
        done, queues = set(finished), self._queues
        running = [sequence for sequence in queues.running if sequence not in done]
        holding = [sequence for sequence in finished if sequence.stored]
        if len(running) + len(finished) != len(queues.running):
            self._leave_the_queue(set(queues.running), finished)
        queues.running = running
        for sequence in self._scheduler.released(queues, holding):
            self._memory.release(sequence, now_s)

    def _leave_the_queue(self, running: set[Sequence], finished: list[Sequence]) -> None:
        """A victim's last token was in flight: it finishes from the waiting queue."""
        for sequence in finished:
            if sequence not in running:
                self._queues.waiting.leave(sequence)
                self._memory.forget(sequence)

    def _cancel(self, sequence: Sequence, now_s: float) -> None:
        reason = "the client gave up"
        if sequence in self._queues.running:
            self._queues.running.remove(sequence)
            self._memory.release(sequence, now_s)
            for late in self._scheduler.released(self._queues, []):
                self._memory.release(late, now_s)
        else:
            self._queues.waiting.leave(sequence)
            self._memory.forget(sequence)
        self._memory.cancelled(sequence)
        self.in_flight = [item for item in self.in_flight if item[0] is not sequence]
        self._register.ended(sequence, "cancelled", reason, now_s, None)
