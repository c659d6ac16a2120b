"""The server: one SimPy process whose loop is the tick.  Read this file first.

The tick, in order: arrivals with time <= now (their events come first) -> clients that give up
leave -> plan: running requests, then admissions -> prefill and decode -> snapshot, which holds
over [t, t + dt) -> the clock moves by dt -> deliver tokens, release the finished.

With asynchronous scheduling a tick is planned before the tokens of the one before are delivered.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import simpy

from wastesim.engine.clock import Clock
from wastesim.engine.cost import Cost, CostModel
from wastesim.engine.counting import Counter
from wastesim.engine.decoding import Decoding
from wastesim.engine.delivery import Delivery
from wastesim.engine.door import Door
from wastesim.engine.memory import Memory
from wastesim.engine.observer import Observer
from wastesim.engine.queues import Queues
from wastesim.engine.register import Register
from wastesim.engine.scheduler import Plan, Scheduler
from wastesim.engine.simtime import SimTime
from wastesim.engine.snapshot import idle_row, tick_row
from wastesim.engine.stall import stall_message
from wastesim.engine.stopwatch import Stopwatch
from wastesim.request import Request


@dataclass(frozen=True)
class Parts:
    """What a server is made of."""

    memory: Memory
    scheduler: Scheduler
    door: Door
    clock: Clock
    cost: CostModel
    decoding: Decoding
    counter: Counter
    register: Register
    observer: Observer
    asynchronous: bool = False


class Server:
    """Serves whoever comes through `arrive` until `close` was called and nobody is left."""

    def __init__(self, env: SimTime, parts: Parts, queues: Queues) -> None:
        self.env = env
        self.parts = parts
        self.queues = queues
        self.delivery = Delivery(parts.memory, parts.scheduler, parts.register, queues)
        self.ticks = 0
        self.stopped_because = ""
        self.decode_wall = Stopwatch()
        self._closed = False
        self._wake: simpy.Event | None = None
        self._room: simpy.Event | None = None
        self._limit = 0
        self._idle_since_s: float | None = None

    @property
    def copied_tokens(self) -> int:
        """Stored tokens that had to move."""
        return self.parts.memory.copied_tokens

    @property
    def double_residency_peak_cells(self) -> int:
        """The most that was held while something moved."""
        return self.parts.memory.double_residency_peak_cells

    def run(self) -> Generator[simpy.Event, None, None]:
        """The main loop: sleep while nobody is there, else tick."""
        while not self.stopped_because and not (self._closed and self.queues.empty()):
            if self.queues.empty():
                yield from self._sleep()
            else:
                yield from self._tick()
                if self.parts.observer.should_stop():
                    self.stopped_because = "the run was stopped"
        self.delivery.give_up_on_the_rest(self.env.now, self.stopped_because)

    def _tick(self) -> Generator[simpy.Event, None, None]:
        """One iteration: every running request advances by a token or by a part of its prompt."""
        self.delivery.cancel_due(self.env.now)
        if self._calls_for_more():
            yield self.env.at(self.env.now)
        if self.queues.empty():
            self._idle_since_s = self.env.now
            return
        begins_s = self.env.now
        plan = self.parts.scheduler.plan(self.queues, begins_s)
        self.parts.register.planned(plan, begins_s)
        if not (plan.work or plan.preempted or self.delivery.in_flight):
            yield from self._stall(plan)
            return
        cost = self._compute(plan)
        ends_s = self.parts.clock.after(cost, self.decode_wall.last_s)
        row = tick_row(begins_s, ends_s - begins_s, plan, cost, self.queues, self.parts.memory)
        tokens = self.delivery.sample(plan, self.ticks)
        if self.parts.asynchronous:
            finished = self.delivery.deliver_in_flight(tokens, begins_s)
            yield self.env.at(ends_s)
        else:
            yield self.env.at(ends_s)
            finished = self.delivery.deliver(tokens, ends_s)
        self.ticks += 1
        reserved = self.parts.memory.reserved_cells
        self.parts.register.tick(
            row._replace(finished=finished, reserved_end=reserved), self.env.now
        )
        if self._calls_for_more():
            yield self.env.at(self.env.now)  # who is sent now arrives before the next tick
        if self.queues.empty():
            self._idle_since_s = self.env.now

    def _compute(self, plan: Plan) -> Cost:
        """Prefill and decode: every new token's K and V are written."""
        if not plan.work:
            return Cost(0, 0)  # tokens in flight are waited for, or the only request was preempted
        cost = self.parts.cost.of((sequence.stored, new) for sequence, new in plan.work)
        with self.decode_wall:
            self.parts.decoding.step([(seq.request_id, new) for seq, new in plan.work])
        for sequence, new in plan.work:
            self.parts.memory.write(sequence, new)
            sequence.scheduled_tokens += new
        for sequence in plan.admitted:
            if sequence.admitted_s is None:
                sequence.admitted_s, sequence.admitted_tick = self.env.now, self.ticks
        self.parts.counter.tick(self.ticks, self.queues.running)
        return cost

    def _stall(self, plan: Plan) -> Generator[simpy.Event, None, None]:
        """Nothing can run: wait for a client to give up, or end the run and say why."""
        until_s = self.delivery.next_deadline_s()
        ends_s = self.env.now if until_s is None else self.parts.clock.start(until_s)
        row = tick_row(
            self.env.now, ends_s - self.env.now, plan, Cost(0, 0), self.queues, self.parts.memory
        )
        self.parts.register.tick(row, ends_s)
        if until_s is None:
            head = self.queues.waiting.head()
            self.stopped_because = stall_message(
                self.parts.memory.policy, head.ask(), head.final_stored, plan.refusal
            )
        else:
            yield self.env.at(ends_s)

    def arrive(self, request: Request) -> None:
        """A request knocks: it joins the queue, or its rejection is recorded with the reason."""
        if not self.parts.register.submitted:
            self._idle_since_s = self.env.now  # the horizon begins with the first arrival
        self.parts.register.arrived(request)
        entered = self.parts.door.enter(request)
        if isinstance(entered, str):
            self.parts.register.rejected(request, entered)
            return
        self.queues.waiting.join(entered)
        self.delivery.expect(entered)
        self._wake_up()

    def fewer_than(self, limit: int) -> simpy.Event | None:
        """None if fewer than `limit` requests are here, else an event for when that is so."""
        if self._here() < limit:
            return None
        self._limit = limit
        self._room = simpy.Event(self.env)
        return self._room

    def close(self) -> None:
        """No more requests will come."""
        self._closed = True
        self._wake_up()

    def _sleep(self) -> Generator[simpy.Event, None, None]:
        """Wait for an arrival, then for the clock's next starting point."""
        self._wake = simpy.Event(self.env)
        yield self._wake
        self._wake = None
        if self.queues.empty():
            return
        starts_s = self.parts.clock.start(self.env.now)
        if starts_s > self.env.now:
            yield self.env.at(starts_s)
        since_s, self._idle_since_s = self._idle_since_s, None
        if since_s is not None and starts_s > since_s:
            capacity_cells = self.parts.memory.policy.capacity_cells
            row = idle_row(since_s, starts_s - since_s, capacity_cells)
            self.parts.register.tick(row, starts_s)

    def _calls_for_more(self) -> bool:
        """In a closed loop, whoever waits outside may come when somebody has ended."""
        if self._room is None or self._here() >= self._limit:
            return False
        room, self._room = self._room, None
        room.succeed()
        return True

    def _here(self) -> int:
        return len(self.queues.waiting) + len(self.queues.running)

    def _wake_up(self) -> None:
        if self._wake is not None and not self._wake.triggered:
            self._wake.succeed()
