"""Memory as the scheduler sees it: one place that keeps policy, ledger and decode in step.

Every change of what a request holds goes through here, so that addresses, accounts and bytes
never disagree: the policy says where, the ledger what for, the decode moves the bytes.
"""

from __future__ import annotations

from wastesim.address import Placement
from wastesim.allocation import Fragmentation, Growth, Holding, Policy
from wastesim.engine.counting import Counter
from wastesim.engine.decoding import Decoding
from wastesim.engine.hindsight import Hindsight
from wastesim.engine.ledger import Ledger, Shares, Split, split
from wastesim.engine.promises import not_grown, not_placed
from wastesim.engine.sequence import Sequence
from wastesim.engine.spanlog import SpanLog

_NOWHERE = Placement(())


class Memory:
    """The pool, and everybody who holds cells of it."""

    def __init__(
        self,
        policy: Policy,
        decoding: Decoding,
        counter: Counter,
        spans: SpanLog,
        hindsight: Hindsight,
    ) -> None:
        self.policy = policy
        self._decoding = decoding
        self._counter = counter
        self._spans = spans
        self._hindsight = hindsight
        self._ledger = Ledger(policy.capacity_cells)
        self._slides = policy.slides
        self._groups = 1
        self.stored_tokens = 0
        self.copied_tokens = 0
        self.double_residency_peak_cells = 0

    @property
    def reserved_cells(self) -> int:
        """Cells held, whatever for."""
        return self._ledger.reserved

    def shares(self, *, short_of_memory: bool) -> Shares:
        """The six shares of the pool now."""
        return self._ledger.shares(short_of_memory=short_of_memory)

    def fragmentation(self) -> Fragmentation | None:
        """How free memory is cut up; None where that does not matter."""
        return self.policy.fragmentation()

    def fits_whole(self, sequence: Sequence, spare_cells: int) -> bool:
        """Whether all known tokens would fit now."""
        return self.policy.fits_whole(sequence.ask(), spare_cells)

    def fits(self, sequence: Sequence, tokens: int, spare_cells: int = 0) -> bool:
        """Whether the next `tokens` would fit now."""
        return self.policy.fits(sequence.ask(), tokens, spare_cells)

    def admit(self, sequence: Sequence, tokens: int, now_s: float) -> None:
        """Give cells to a request that `fits`."""
        holding = self.policy.place(sequence.ask(), tokens)
        if holding is None:
            raise not_placed(self.policy, sequence.request_id, tokens)
        self._groups = len(holding.parts)
        self._hold(sequence, holding)
        placement = self._placement(sequence)
        self._decoding.place(sequence.request, placement)
        self._spans.begin(sequence.request_id, placement, now_s)

    def make_room(self, sequence: Sequence, tokens: int, now_s: float) -> bool:
        """Cells for `tokens` stored tokens; False when there are not enough free ones."""
        if self._slides:
            self._slide(sequence, now_s)
        if tokens <= sequence.room_tokens:
            return True
        growth = self.policy.grow(sequence.request_id, tokens)
        if growth is None:
            return False
        if growth.holding.room_tokens < tokens:
            room = growth.holding.room_tokens
            raise not_grown(self.policy, sequence.request_id, tokens, room)
        self._grow(sequence, growth, now_s)
        return True

    def write(self, sequence: Sequence, tokens: int) -> None:
        """The next `tokens` of a request have been stored."""
        sequence.stored += tokens
        if sequence.stored > sequence.peak_stored:
            sequence.peak_stored = sequence.stored
        self.stored_tokens += tokens
        self._ledger.write(tokens * self._groups)

    def evict(self, sequence: Sequence, now_s: float) -> None:
        """Take everything from a request that will come back."""
        self._drop(sequence, self._decoding.evict(sequence.request_id), now_s)
        sequence.stored = sequence.room_tokens = 0
        sequence.sampled = False
        sequence.holding = None  # a request that ends while it waits holds nothing

    def release(self, sequence: Sequence, now_s: float) -> None:
        """Take back the cells of a request that is done."""
        self._drop(sequence, self._decoding.release(sequence.request_id), now_s)

    def forget(self, sequence: Sequence) -> None:
        """A request that waits for another admission is done: nothing is held any more."""
        self._decoding.forget(sequence.request_id)

    def completed(self, sequence: Sequence) -> None:
        """The request came to its end: what it holds was judged rightly."""
        self._hindsight.forget(sequence)

    def cancelled(self, sequence: Sequence) -> None:
        """The request will not write what it was to write: judge its past anew."""
        self._hindsight.cancelled(sequence)

    def close(self, now_s: float) -> None:
        """The run is over."""
        self._spans.end_all(now_s)

    def split(self, sequence: Sequence) -> Split:
        """How the cells that a request holds divide now, over all its groups."""
        assert sequence.holding is not None
        stored, final = sequence.stored, sequence.final_stored
        parts = [
            split(stored - gone, final - gone, claim - gone, held)
            for held, claim, gone in sequence.holding.parts
        ]
        return parts[0] if len(parts) == 1 else Split(*map(sum, zip(*parts, strict=True)))

    def _slide(self, sequence: Sequence, now_s: float) -> None:
        done = sequence.stored - sequence.in_flight
        holding = self.policy.slide(sequence.request_id, done)
        if holding != sequence.holding:
            self._ledger.remove(self.split(sequence))
            self._hold(sequence, holding)
            self._spans.shrink(sequence.request_id, self._placement(sequence), now_s)

    def _grow(self, sequence: Sequence, growth: Growth, now_s: float) -> None:
        both_cells = self._ledger.reserved + growth.holding.cells
        self._ledger.remove(self.split(sequence))
        self._hold(sequence, growth.holding)
        placement = self._placement(sequence)
        if growth.copied_from is None:
            self._decoding.extend(sequence.request_id, placement)
            self._spans.extend(sequence.request_id, placement, now_s)
        else:
            self.copied_tokens += sequence.stored
            self.double_residency_peak_cells = max(self.double_residency_peak_cells, both_cells)
            self._move(sequence.request_id, placement, now_s)

    def _move(self, request_id: int, placement: Placement, now_s: float) -> None:
        self._decoding.move(request_id, placement)
        self._spans.end(request_id, now_s)
        self._spans.begin(request_id, placement, now_s)

    def _placement(self, sequence: Sequence) -> Placement:
        """Where it is; nowhere if nobody looks: a list of blocks takes longer than the tick."""
        if self._spans.active or self._decoding.needs_addresses:
            return self.policy.placement(sequence.request_id)
        return _NOWHERE

    def _hold(self, sequence: Sequence, holding: Holding) -> None:
        sequence.holding = holding
        sequence.room_tokens = holding.room_tokens
        self._hindsight.holds(sequence, holding)
        self._ledger.add(self.split(sequence))

    def _drop(self, sequence: Sequence, found_cells: int, now_s: float) -> None:
        self._ledger.remove(self.split(sequence))
        self._counter.released(sequence, found_cells)
        self._spans.end(sequence.request_id, now_s)
        self._hindsight.holds(sequence, None)
        self.policy.release(sequence.request_id)
        self.stored_tokens -= sequence.stored
