"""Clients that give up, who is served first, closed loops: by hand, one tick is one second."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from wastesim.allocation import Pool, build_policy
from wastesim.config.clients import Clients
from wastesim.config.policy import PRESETS
from wastesim.engine.counting import NoCounter
from wastesim.engine.decoding import NoDecode
from wastesim.engine.decorate import decorated, hint_for
from wastesim.engine.hindsight import Hindsight
from wastesim.engine.memory import Memory
from wastesim.engine.queues import ByPriority, FirstComeFirstServed, Queues
from wastesim.engine.scheduler import Plan
from wastesim.engine.sequence import Sequence
from wastesim.engine.spanlog import SpanLog
from wastesim.engine.vllm import Vllm, VllmRules
from wastesim.records import Recorder
from wastesim.request import Request
from wastesim.rng import Streams

HELD = ("written", "future", "unused", "padding")


def ticks(result, *names: str) -> list[tuple]:
    return list(zip(*(result.records.ticks[name].tolist() for name in names), strict=True))


def requests(result, *names: str) -> list[tuple]:
    return list(zip(*(result.records.requests[name].tolist() for name in names), strict=True))


class TestGivingUp:
    def test_while_running_its_past_is_judged_by_the_length_it_reached(self, toy) -> None:
        """P = 2, O = 10, given up at 3 with 4 stored: the other 12 of 16 cells were unused."""
        result = toy([(0, 2, 10)], cells=20, max_model_len=16, clients={"timeout_s": 3})
        assert ticks(result, *HELD) == [(2, 2, 12, 0), (3, 1, 12, 0), (4, 0, 12, 0)]
        names = ("status", "generated_tokens", "stored_tokens", "reserved_cells", "finished_s")
        assert requests(result, *names) == [("cancelled", 3, 4, 16, 3.0)]

    def test_while_waiting_it_never_held_anything(self, toy) -> None:
        rows = [(0, 2, 10), (1, 2, 10)]
        result = toy(rows, cells=20, max_model_len=16, clients={"timeout_s": 3})
        assert requests(result, "status", "reserved_cells", "finished_s") == [
            ("cancelled", 16, 3.0), ("cancelled", 16, 4.0),
        ]  # fmt: skip
        assert ticks(result, *HELD)[3] == (2, 0, 14, 0)
        limited = toy(rows, cells=20, max_model_len=16, clients={"timeout_s": 2})
        assert ticks(limited, "running", "waiting") == [(1, 0), (1, 1), (1, 0)]
        queue = toy([(0, 2, 3), (0, 2, 3)], cells=20, max_model_len=16, clients={"timeout_s": 2.5})
        assert requests(queue, "status", "reserved_cells") == [("completed", 16), ("cancelled", 0)]

    def test_after_a_preemption_both_residencies_are_judged_anew(self, toy) -> None:
        """Two blocks of 4. B (2 + 5) is preempted at 2 with 3 stored, both give up at 3.

        A (3 + 5) reached 5 and B 3: B's last cell was padding, and A's second block too.
        """
        server = {"policy": "paged", "block_size": 4}
        result = toy([(0, 3, 5), (0, 2, 5)], cells=8, max_model_len=8, server=server,
                     clients={"timeout_s": 3})  # fmt: skip
        assert ticks(result, *HELD) == [(5, 2, 0, 1), (7, 0, 0, 1), (5, 0, 0, 3)]
        assert requests(result, "status", "preemptions", "reserved_cells") == [
            ("cancelled", 0, 8), ("cancelled", 1, 0),
        ]  # fmt: skip

    def test_its_cells_serve_the_next_at_once(self, toy) -> None:
        rows = [(0, 2, 10), (1, 2, 1)]
        result = toy(rows, cells=16, max_model_len=16, clients={"timeout_s": 3})
        assert requests(result, "status", "admitted_s") == [("cancelled", 0.0), ("completed", 3.0)]

    def test_in_a_static_batch_the_last_one_frees_everybody(self, toy) -> None:
        rows, server = [(0, 2, 2), (0, 2, 10), (0, 2, 1)], {"scheduler": "static"}
        result = toy(rows, cells=16, max_model_len=8, server={**server, "max_num_seqs": 2},
                     workload={"too_long": "truncate"}, clients={"timeout_s": 4})  # fmt: skip
        assert ticks(result, "running", "waiting", "reserved_end") == [
            (2, 1, 16), (2, 1, 16), (1, 1, 16), (1, 1, 16),
        ]  # fmt: skip
        assert requests(result, "status") == [("completed",), ("cancelled",), ("cancelled",)]

    def test_somebody_who_can_never_run_gives_up_and_the_next_is_served(self, toy) -> None:
        server = {"policy": "token", "refuse_impossible": False}
        result = toy([(0, 6, 2), (1, 1, 1)], cells=4, max_model_len=9, server=server,
                     clients={"timeout_s": 5})  # fmt: skip
        assert requests(result, "status", "finished_s") == [("cancelled", 5.0), ("completed", 6.0)]

    def test_tokens_in_flight_of_who_has_left_are_not_delivered(self, toy) -> None:
        server = {"policy": "token", "async_scheduling": True}
        result = toy([(0, 2, 9)], cells=20, max_model_len=16, server=server,
                     clients={"timeout_s": 3})  # fmt: skip
        assert requests(result, "status", "generated_tokens", "stored_tokens") == [
            ("cancelled", 2, 4)
        ]


def test_in_a_closed_loop_who_gives_up_makes_room_for_the_next(toy) -> None:
    result = toy([(0, 1, 9)] * 3, cells=30, max_model_len=16, workload={"max_concurrency": 1},
                 clients={"timeout_s": 3})  # fmt: skip
    assert requests(result, "status", "arrival_s", "finished_s") == [
        ("cancelled", 0.0, 3.0), ("cancelled", 3.0, 6.0), ("cancelled", 6.0, 9.0),
    ]  # fmt: skip


def test_in_a_closed_loop_a_request_arrives_when_another_has_ended(toy) -> None:
    result = toy([(0, 1, 2), (0, 1, 3), (0, 1, 1), (9, 1, 1)], cells=30, max_model_len=10,
                 workload={"max_concurrency": 2})  # fmt: skip
    assert requests(result, "arrival_s", "admitted_s", "finished_s") == [
        (0, 0, 2), (0, 0, 3), (2, 2, 3), (9, 9, 10),
    ]  # fmt: skip
    rows = result.records.ticks
    assert max(rows["waiting"][rows["scheduled"] > 0]) == 0


def a_sequence(request_id: int, prompt: int, output: int, priority: int = 0) -> Sequence:
    return Sequence(Request(request_id, float(request_id), prompt, output, None, None, priority),
                    output, output)  # fmt: skip


class Steps:
    """A scheduler and memory without a server: tokens are delivered after every step."""

    def __init__(self, cells: int, budget: int = 100) -> None:
        policy = build_policy(PRESETS["token"], Pool(cells, 32, 16, 4))
        recorder = Recorder()
        self.memory = Memory(
            policy, NoDecode(), NoCounter(), SpanLog(recorder), Hindsight(recorder)
        )
        self.queues = Queues(ByPriority())
        self.scheduler = Vllm(self.memory, VllmRules(8, budget, by_priority=True))

    def step(self, *arrivals: Sequence) -> Plan:
        for sequence in arrivals:
            self.queues.waiting.join(sequence)
        plan = self.scheduler.plan(self.queues, 0.0)
        for sequence, new in plan.work:
            self.memory.write(sequence, new)
            if sequence.stored == sequence.known:
                sequence.generated += 1
                sequence.sampled = True
        self.memory.shares(short_of_memory=False)
        self.memory.policy.check()
        return plan


class TestPriorities:
    def test_a_victim_may_have_been_served_in_the_same_step(self) -> None:
        """8 cells: A (priority 1) takes the last cell first, then B (priority 0) needs it."""
        steps, a, b = Steps(cells=8), a_sequence(0, 3, 6, priority=1), a_sequence(1, 3, 6)
        steps.step(a)
        assert steps.step(b).work == [(a, 1), (b, 3)]
        plan = steps.step()
        assert (plan.preempted, plan.work) == ([a], [(b, 1)])
        assert (a.stored, a.known, a.holding, b.stored) == (0, 5, None, 4)
        assert [*steps.queues.waiting] == [a]

    def test_the_victims_share_of_the_budget_returns_to_the_step(self) -> None:
        """Budget 4, 8 cells: A takes 1, B preempts A, and C gets 3 where 2 were left."""
        steps, a = Steps(cells=8, budget=4), a_sequence(0, 3, 6, priority=1)
        b, c = a_sequence(1, 2, 6), a_sequence(2, 5, 2)
        steps.scheduler.rules = VllmRules(8, 4, by_priority=True, scheduler_reserve_full_isl=False)
        steps.step(a)
        assert steps.step(b, c).work == [(a, 1), (b, 2), (c, 1)]
        plan = steps.step()
        assert (plan.preempted, plan.work) == ([a], [(b, 1), (c, 3)])

    def test_the_lowest_rank_preempts_itself_though_others_came_later(self) -> None:
        steps, a, b = Steps(cells=6), a_sequence(0, 3, 6, priority=1), a_sequence(1, 2, 6)
        steps.step(a)
        steps.step(b)  # A 4, B 2
        plan = steps.step()
        assert plan.preempted == [a]
        assert plan.work == []

    def test_the_queue_is_by_priority_then_by_arrival(self) -> None:
        queue = ByPriority()
        late, early, urgent = a_sequence(5, 1, 1, 1), a_sequence(2, 1, 1, 1), a_sequence(9, 1, 1, 0)
        for sequence in (late, early, urgent):
            queue.join(sequence)
        assert [*queue] == [urgent, early, late]
        queue.leave(urgent)
        assert (len(queue), queue.head()) == (2, early)
        assert queue.pop() is early
        queue.come_back(early)
        assert [queue.pop(), queue.pop()] == [early, late]
        assert not queue


def test_a_queue_in_order_of_arrival_takes_the_preempted_back_at_the_front() -> None:
    queue, (a, b, c) = FirstComeFirstServed(), (a_sequence(k, 1, 1) for k in range(3))
    for sequence in (a, b, c):
        queue.join(sequence)
    assert queue.pop() is a
    queue.come_back(a)
    assert [*queue] == [a, b, c]
    queue.leave(b)
    assert (len(queue), queue.head(), [*queue]) == (2, a, [a, c])


class TestDrawing:
    def decorate(self, **clients) -> list[Request]:
        requests: Iterator[Request] = (Request(k, 0.0, 5, 9) for k in range(2000))
        streams = Streams(1)
        hint = hint_for(PRESETS["paged"], streams)
        return list(decorated(requests, Clients(**clients), hint, streams))

    def test_without_clients_and_hints_a_request_stays_the_object_it_is(self) -> None:
        request, streams = Request(0, 0.0, 5, 9), Streams(1)
        hint = hint_for(PRESETS["paged"], streams)
        assert next(decorated(iter([request]), Clients(), hint, streams)) is request

    def test_priorities_come_with_their_weights(self) -> None:
        drawn = [request.priority for request in self.decorate(priorities={0: 1, 7: 3})]
        assert set(drawn) == {0, 7}
        assert drawn.count(7) / 2000 == pytest.approx(0.75, abs=0.03)

    def test_a_share_of_the_clients_gives_up_and_nobody_outlasts_the_timeout(self) -> None:
        drawn = [request.cancel_after_s for request in self.decorate(
            cancel_share=0.4, cancel_after_s=2.0, timeout_s=50.0)]  # fmt: skip
        early = [after_s for after_s in drawn if after_s != 50.0]
        assert len(early) / 2000 == pytest.approx(0.4, abs=0.04)
        assert sum(early) / len(early) == pytest.approx(2.0, abs=0.2)
        assert max(drawn) == 50.0

    def test_what_the_workload_says_of_patience_is_kept(self) -> None:
        request, streams = Request(0, 0.0, 5, 9, cancel_after_s=3.0), Streams(1)
        hint = hint_for(PRESETS["paged"], streams)
        for clients, after_s in (
            (Clients(), 3.0),
            (Clients(timeout_s=2), 2),
            (Clients(timeout_s=9), 3),
        ):
            assert (
                next(decorated(iter([request]), clients, hint, streams)).cancel_after_s == after_s
            )

    @pytest.mark.parametrize(
        ("preset", "hints"), [("orca_oracle", {9}), ("orca_pow2", {16}), ("predicted", {8, 16, 32})]
    )
    def test_hints_are_what_the_claim_may_see(self, preset: str, hints: set[int]) -> None:
        streams = Streams(3)
        hint = hint_for(PRESETS[preset], streams)
        drawn = [hint(Request(k, 0.0, 5, 9)) for k in range(2000)]
        assert set(drawn) == hints
        if preset == "predicted":
            assert drawn.count(16) / 2000 == pytest.approx(0.8, abs=0.03)
