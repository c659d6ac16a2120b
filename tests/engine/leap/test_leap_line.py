"""Who waits, in blocks: an open loop and a closed one."""

from __future__ import annotations

import numpy as np

from wastesim.engine.leap.closed import ClosedLine
from wastesim.engine.leap.gate import Admitted
from wastesim.engine.leap.line import Line
from wastesim.engine.rows import rejected
from wastesim.request import Request


def block(first: int, times: list[float], refused: tuple[int, ...] = ()) -> Admitted:
    """Requests `first`, `first + 1`, ... of 5 prompt and 3 output tokens."""
    kept = [i for i in range(len(times)) if i not in refused]
    column = np.array([times[i] for i in kept], dtype=np.float64)
    same = np.ones(len(kept), dtype=np.int64)
    rows = [rejected(Request(first + i, times[i], 5, 3), "no") for i in refused]
    ids = first + np.array(kept, dtype=np.int64)
    return Admitted(times[0], ids, column, 5 * same, 3 * same, None, None, 20, None, rows)


def test_arrivals_of_equal_times_come_together_across_blocks() -> None:
    line = Line(iter([block(0, [0.0, 1.0]), block(2, [1.0, 1.0, 2.0])]))
    line.arrive(0.5)
    assert (line.waiting, line.next_s) == (1, 1.0)
    line.arrive(1.0)
    assert (line.waiting, line.joined, line.next_s) == (4, 4, 2.0)
    assert [job.request_id for job in line.rest()] == [0, 1, 2, 3]


def test_a_preempted_job_comes_back_to_the_front() -> None:
    line = Line(iter([block(0, [0.0, 0.0, 0.0])]))
    line.arrive(0.0)
    first = line.head
    assert first is not None
    line.take()
    line.take()
    line.come_back(first)
    assert line.waiting == 2
    assert [job.request_id for job in line.rest()] == [0, 2]


def test_the_refused_are_told_of_when_their_time_has_come() -> None:
    line = Line(iter([block(0, [0.0, 1.0, 2.0], refused=(0, 2))]))
    assert [row.request_id for row in line.refused(1.5)] == [0]
    assert [row.request_id for row in line.refused(9.0)] == [2]


def test_times_are_kept_until_they_are_forgotten() -> None:
    line = Line(iter([block(0, [0.0, 1.0]), block(2, [3.0])]))
    line.arrive(3.0)
    assert (line.times()[0], line.times()[1].tolist()) == (0, [0.0, 1.0, 3.0])
    line.forget()
    assert (line.times()[0], line.times()[1].tolist()) == (2, [3.0])


def test_a_closed_loop_sends_the_next_when_one_has_left() -> None:
    """Two at once: the third, due at 1 s, comes at 4 s; the refused fourth right after it."""
    line = ClosedLine(iter([block(0, [0.0, 0.0, 1.0, 1.5, 9.0], refused=(3,))]), 2)
    line.arrive(2.0)
    assert (line.waiting, line.next_s) == (2, float("inf"))
    line.left(1, 4.0)
    assert line.next_s == 4.0
    line.arrive(4.0)
    assert line.times()[1].tolist() == [0.0, 0.0, 4.0]
    assert list(line.refused(9.0)) == []  # there is no room for it to come
    line.left(1, 5.0)
    line.arrive(5.0)
    assert [row.arrival_s for row in line.refused(9.0)] == [5.0]
    assert line.next_s == 9.0
