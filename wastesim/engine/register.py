"""Where the engine reports every happening: records and observer are told together."""

from __future__ import annotations

from wastesim.engine.observer import Observer
from wastesim.engine.rows import rejected, request_row
from wastesim.engine.sequence import Sequence
from wastesim.records import Recorder, RequestRow, TickRow
from wastesim.request import Request


class Register:
    """One row per request and tick; `submitted` counts who knocked."""

    def __init__(self, recorder: Recorder, observer: Observer) -> None:
        self._recorder = recorder
        self._observer = observer
        self.submitted = 0

    def tick(self, row: TickRow) -> None:
        """A tick is over."""
        self._recorder.tick(row)
        self._observer.tick(row)

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
        self._recorder.request(row)
        self._observer.request(row)
