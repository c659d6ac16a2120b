"""What only the end tells: a request that is cancelled will never write what it was to write.

Its future cells were never future: from the tick in which it got them they were unused, or
padding beyond its claim.  Rows already recorded are corrected when the client gives up.
"""

from __future__ import annotations

from itertools import pairwise

from wastesim.allocation import Holding
from wastesim.engine.ledger import Split, split
from wastesim.engine.sequence import Sequence
from wastesim.records import Mark, Recorder


class Hindsight:
    """Remembers what was held in which rows, for requests that may be cancelled."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._held: dict[int, list[tuple[Mark, Holding | None]]] = {}

    def holds(self, sequence: Sequence, holding: Holding | None) -> None:
        """From the next row on, the request holds this; None is nothing."""
        if sequence.request.cancel_after_s is not None and not sequence.ended:
            changes = self._held.setdefault(sequence.request_id, [])
            changes.append((self._recorder.mark(), holding))

    def forget(self, sequence: Sequence) -> None:
        """The request came to its end after all."""
        self._held.pop(sequence.request_id, None)

    def cancelled(self, sequence: Sequence) -> None:
        """Correct the rows in which it held something; its final length is what it reached."""
        changes = self._held.pop(sequence.request_id, [])
        now: tuple[Mark, Holding | None] = (self._recorder.mark(), None)
        for (begin, holding), (end, _) in pairwise([*changes, now]):
            if holding is not None and end.row > begin.row:
                self._recorder.correct(begin, end, *_shift(sequence, holding))


def _shift(sequence: Sequence, holding: Holding) -> tuple[int, int, int]:
    """Changes of future, unused and padding; the same in every row of one holding."""
    before = _total(holding, sequence.final_stored)
    after = _total(holding, sequence.peak_stored)
    return (
        after.future - before.future,
        after.unused - before.unused,
        after.padding - before.padding,
    )


def _total(holding: Holding, final: int) -> Split:
    parts = [
        split(0, max(0, final - gone), claim - gone, held) for held, claim, gone in holding.parts
    ]
    return Split(*map(sum, zip(*parts, strict=True)))
