"""Which cells were held by whom and when: the rows of the memory map."""

from __future__ import annotations

from wastesim.address import Placement, Span
from wastesim.records import Recorder, SpanRow

#: Beyond this many rows the map is unreadable and the file large; it ends there, and says so.
MOST_ROWS = 200_000


class SpanLog:
    """Turns placements into rows when their cells are given back."""

    def __init__(self, recorder: Recorder, *, active: bool = True) -> None:
        self._recorder = recorder
        self.active = active
        self._held: dict[int, list[tuple[Span, float]]] = {}
        self._rows = 0
        self.full = False

    def begin(self, request_id: int, placement: Placement, now_s: float) -> None:
        """A request holds these spans from now on."""
        if self.active:
            self._held[request_id] = [(span, now_s) for span in placement.spans]

    def extend(self, request_id: int, placement: Placement, now_s: float) -> None:
        """It now holds more spans behind those it had."""
        if self.active:
            held = self._held[request_id]
            held.extend((span, now_s) for span in placement.spans[len(held) :])

    def shrink(self, request_id: int, placement: Placement, now_s: float) -> None:
        """It gave leading spans back: a window has moved past them."""
        if self.active:
            held = self._held[request_id]
            gone = len(held) - len(placement.spans)
            self._held[request_id] = held[gone:]
            self._record(request_id, held[:gone], now_s)

    def end(self, request_id: int, now_s: float) -> None:
        """It holds none of them any more."""
        self._record(request_id, self._held.pop(request_id, []), now_s)

    def end_all(self, now_s: float) -> None:
        """The run has ended: whoever still holds spans held them until now."""
        for request_id in list(self._held):
            self.end(request_id, now_s)

    def _record(self, request_id: int, held: list[tuple[Span, float]], now_s: float) -> None:
        for span, since_s in held:
            if self._rows == MOST_ROWS:
                self.active, self.full = False, True  # nobody need look up addresses any more
                self._held = {}
                return
            self._rows += 1
            self._recorder.span(SpanRow(request_id, span.start, span.stop, since_s, now_s))
