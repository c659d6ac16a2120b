"""Where the engine reports every happening: records and observer are told together."""

from __future__ import annotations

from wastesim.engine.observer import Observer
from wastesim.engine.rows import rejected, request_row
from wastesim.engine.scheduler import Plan
from wastesim.engine.sequence import Sequence
from wastesim.records import Recorder, RequestRow, TickRow
from wastesim.request import Request


class Register:
    """One row per request and tick; `submitted` counts who knocked."""

    def __init__(self, recorder: Recorder, observer: Observer) -> None:
        self._recorder = recorder
        self._observer = observer
        self.submitted = self._ended = 0

    def arrived(self, request: Request) -> None:
        """A request knocks."""
        self.submitted += 1
        self._observer.happened("arrived", request.arrival_s, request, 0)

    def planned(self, plan: Plan, now_s: float) -> None:
        """A tick begins: who had to go, and who was let in."""
        for sequence in plan.preempted:
            self._observer.happened("preempted", now_s, sequence.request, 0)
        for sequence in plan.admitted:
            self._observer.happened("admitted", now_s, sequence.request, _cells(sequence))

    def first_token(self, sequence: Sequence, now_s: float) -> None:
        """A client sees the first token."""
        self._observer.happened("first_token", now_s, sequence.request, _cells(sequence))

    def tick(self, row: TickRow, now_s: float) -> None:
        """A tick is over, or time in which nothing ran."""
        self._recorder.tick(row)
        self._observer.tick(row)
        self._observer.passed(now_s, row.running - row.finished, row.waiting, self._ended)

    def rejected(self, request: Request, reason: str) -> None:
        """A request was refused at the door."""
        self._request(rejected(request, reason))

    def ended(
        self,
        sequence: Sequence,
        status: str,
        reason: str,
        now_s: float | None,
        tick: int | None,
    ) -> None:
        """A request that was in the queue has ended, one way or another."""
        sequence.ended = True
        self._request(request_row(sequence, status, reason, now_s, tick))

    def _request(self, row: RequestRow) -> None:
        self._ended += 1
        self._recorder.request(row)
        self._observer.request(row)


def _cells(sequence: Sequence) -> int:
    """Cells that it holds."""
    return sequence.holding.cells if sequence.holding else 0
