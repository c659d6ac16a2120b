"""The server: one SimPy process whose loop is the tick.  Read this file first.

The tick, in order: arrivals with time <= now (their events come first) -> plan: running requests,
then admissions -> prefill and decode -> snapshot, which holds over [t, t + dt) -> the clock moves
by dt -> deliver tokens, release the finished.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import simpy

from wastesim.allocation import Holding, Policy
from wastesim.engine.clock import Clock
from wastesim.engine.cost import Cost, CostModel
from wastesim.engine.counting import Counter
from wastesim.engine.decoding import Decoding
from wastesim.engine.door import Door
from wastesim.engine.ledger import Ledger, Split, split
from wastesim.engine.observer import Observer
from wastesim.engine.rows import rejected, request_row, span_rows
from wastesim.engine.scheduler import Orca, Plan, Queues, Refusal
from wastesim.engine.sequence import Sequence
from wastesim.engine.simtime import SimTime
from wastesim.engine.stopwatch import Stopwatch
from wastesim.errors import StalledError
from wastesim.records import Recorder, RequestRow, TickRow
from wastesim.request import Request


@dataclass(frozen=True)
class Parts:
    """What a server is made of."""

    policy: Policy
    scheduler: Orca
    door: Door
    clock: Clock
    cost: CostModel
    decoding: Decoding
    counter: Counter
    recorder: Recorder
    observer: Observer


class Server:
    """Serves whoever comes through `arrive` until `close` was called and nobody is left."""

    def __init__(self, env: SimTime, parts: Parts) -> None:
        self.env = env
        self.parts = parts
        self.ledger = Ledger(parts.policy.capacity_cells)
        self.queues = Queues()
        self.ticks = 0
        self.submitted = 0
        self.stopped = False
        self.decode_wall = Stopwatch()
        self._closed = False
        self._wake: simpy.Event | None = None
        self._idle_since_s: float | None = None

    def run(self) -> Generator[simpy.Event, None, None]:
        """The main loop: sleep while nobody is there, else tick."""
        while not (self.stopped or (self._closed and self._nobody_here())):
            if self._nobody_here():
                yield from self._sleep()
            else:
                yield from self._tick()
                self.stopped = self.parts.observer.should_stop()
        self._give_up_on_the_rest()

    def _tick(self) -> Generator[simpy.Event, None, None]:
        """One iteration: every running request advances by one token, new ones by a prompt."""
        plan = self.parts.scheduler.plan(self.queues)
        if not plan.work:
            raise StalledError(self._stall_message(plan.refusal))
        for sequence, holding in plan.admitted:
            self._admit(sequence, holding)
        cost = self._compute(plan)
        ends_s = self.parts.clock.after(cost, self.decode_wall.last_s)
        self._snapshot(plan, cost, ends_s - self.env.now)
        yield self.env.at(ends_s)
        self.ticks += 1
        self._deliver(plan)

    def arrive(self, request: Request) -> None:
        """A request knocks: it joins the queue, or its rejection is recorded with the reason."""
        if not self.submitted:
            self._idle_since_s = self.env.now  # the horizon begins with the first arrival
        self.submitted += 1
        entered = self.parts.door.enter(request)
        if isinstance(entered, str):
            self._record(rejected(request, entered))
            return
        self.queues.waiting.append(entered)
        self._wake_up()

    def close(self) -> None:
        """No more requests will come."""
        self._closed = True
        self._wake_up()

    def _sleep(self) -> Generator[simpy.Event, None, None]:
        """Wait for an arrival, then for the clock's next starting point."""
        self._wake = simpy.Event(self.env)
        yield self._wake
        self._wake = None
        if self._nobody_here():
            return
        starts_s = self.parts.clock.start(self.env.now)
        if starts_s > self.env.now:
            yield self.env.at(starts_s)
        self._record_idle_until(starts_s)

    def _wake_up(self) -> None:
        if self._wake is not None and not self._wake.triggered:
            self._wake.succeed()

    def _nobody_here(self) -> bool:
        return not (self.queues.waiting or self.queues.running)

    def _admit(self, sequence: Sequence, holding: Holding) -> None:
        sequence.placement, sequence.claim_cells = holding
        sequence.held_since_s = sequence.admitted_s = self.env.now
        sequence.admitted_tick = self.ticks
        self.ledger.add(self._split(sequence))
        self.parts.decoding.place(sequence.request, holding.placement)

    def _compute(self, plan: Plan) -> Cost:
        """Prefill and decode: every new token's K and V are written."""
        cost = self.parts.cost.of((sequence.stored, new) for sequence, new in plan.work)
        with self.decode_wall:
            self.parts.decoding.step([(seq.request_id, new) for seq, new in plan.work])
        for sequence, new in plan.work:
            sequence.stored += new
            self.ledger.write(new)
        self.parts.counter.tick(self.ticks, self.queues.running)
        return cost

    def _snapshot(self, plan: Plan, cost: Cost, dt_s: float) -> None:
        shares = self.ledger.shares(short_of_memory=plan.refusal is Refusal.MEMORY)
        prefill = sum(sequence.prompt for sequence, _ in plan.admitted)
        decode = len(plan.work) - len(plan.admitted)
        counts = (len(self.queues.running), len(self.queues.waiting), prefill, decode)
        self._record_tick(TickRow(self.env.now, dt_s, *shares, *counts, *cost))

    def _deliver(self, plan: Plan) -> None:
        """Each request whose known tokens are all stored has sampled one more."""
        finished = []
        for sequence, _ in plan.work:
            if sequence.stored == sequence.known:
                sequence.generated += 1
                if sequence.generated == 1:
                    sequence.first_token_s = self.env.now
                    sequence.first_token_tick = self.ticks - 1
                if sequence.generated == sequence.outputs:
                    finished.append(sequence)
        if finished:
            self._finish(finished)

    def _finish(self, finished: list[Sequence]) -> None:
        done = set(finished)
        self.queues.running = [seq for seq in self.queues.running if seq not in done]
        if self._nobody_here():
            self._idle_since_s = self.env.now
        for sequence in finished:
            self._release(sequence)
            self._record(request_row(sequence, "completed", "", self.env.now, self.ticks - 1))

    def _release(self, sequence: Sequence) -> None:
        """Take the request out of ledger, arrays and pool, in this order."""
        self.ledger.remove(self._split(sequence))
        found_cells = self.parts.decoding.release(sequence.request_id)
        self.parts.counter.released(sequence, found_cells)
        for row in span_rows(sequence, self.env.now):
            self.parts.recorder.span(row)
        self.parts.policy.release(sequence.request_id)

    def _give_up_on_the_rest(self) -> None:
        """Record whoever is still here when the run was stopped."""
        for sequence in self.queues.running:
            for row in span_rows(sequence, self.env.now):
                self.parts.recorder.span(row)
        for sequence in (*self.queues.running, *self.queues.waiting):
            self._record(request_row(sequence, "unfinished", "the run was stopped", None, None))

    def _split(self, sequence: Sequence) -> Split:
        assert sequence.placement is not None
        held = sequence.placement.cells
        return split(sequence.stored, sequence.final_stored, sequence.claim_cells, held)

    def _record(self, row: RequestRow) -> None:
        self.parts.recorder.request(row)
        self.parts.observer.request(row)

    def _record_tick(self, row: TickRow) -> None:
        self.parts.recorder.tick(row)
        self.parts.observer.tick(row)

    def _record_idle_until(self, now_s: float) -> None:
        """Time in which nothing ran is a row too, so that rows cover the horizon."""
        since_s, self._idle_since_s = self._idle_since_s, None
        if since_s is not None and now_s > since_s:
            idle = (0, 0, 0, 0, 0, self.ledger.capacity_cells)
            nothing = (0, len(self.queues.waiting), 0, 0, 0, 0)
            self._record_tick(TickRow(since_s, now_s - since_s, *idle, *nothing))

    def _stall_message(self, refusal: Refusal) -> str:
        head = self.queues.waiting[0]
        return (
            f"nothing runs and request {head.request_id} ({head.prompt} prompt tokens) is refused"
            f" for {refusal.value}; {self.parts.policy.free_cells} of"
            f" {self.ledger.capacity_cells} cells are free"
        )
