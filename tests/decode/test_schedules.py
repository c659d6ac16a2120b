"""Random schedules under an honest allocator: tokens, arrays and pages agree at every tick."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from wastesim.address import Placement, Span
from wastesim.decode.decoder import Decoder
from wastesim.decode.geometry import decode_model
from wastesim.rng import Streams

from .conftest import a_request

BLOCK, BLOCKS = 8, 60
EVENTS = st.sampled_from(["tick", "tick", "tick", "admit", "evict", "move", "release"])


class Host:
    """Hands out whole blocks, one span each or all in one, and grows by appending or moving."""

    def __init__(self, paged: bool) -> None:
        self.paged = paged
        self.decoder = Decoder(decode_model("tiny"), BLOCK * BLOCKS, Streams(2))
        self.free = set(range(BLOCKS))
        self.held: dict[int, list[int]] = {}
        self.waiting: list[int] = []
        self.prompts: dict[int, int] = {}

    def find(self, count: int) -> list[int] | None:
        """Free blocks: the last ones when paged, the first run of them otherwise."""
        if self.paged:
            return sorted(self.free)[::-1][:count] if len(self.free) >= count else None
        for start in range(BLOCKS - count + 1):
            if self.free.issuperset(range(start, start + count)):
                return list(range(start, start + count))
        return None

    def placement(self, numbers: list[int]) -> Placement:
        if self.paged:
            return Placement(tuple(Span(BLOCK * n, BLOCK * (n + 1)) for n in numbers))
        return Placement.single(BLOCK * numbers[0], BLOCK * len(numbers))

    def admit(self, size: int) -> None:
        if not self.waiting:
            self.waiting.append(len(self.prompts))
            self.prompts[self.waiting[0]] = size
        request_id = self.waiting[-1]
        known = self.prompts[request_id]
        if request_id in self.decoder._sequences:
            known += len(self.decoder.generated(request_id))
        numbers = self.find(-(-known // BLOCK))
        if numbers is not None:
            self.free -= set(numbers)
            self.held[self.waiting.pop()] = numbers
            request = a_request(request_id, self.prompts[request_id])
            self.decoder.place(request, self.placement(numbers))

    def grow(self, request_id: int) -> bool:
        """One more block, appended or by moving to a longer run."""
        numbers = self.held[request_id]
        if self.paged:
            added = self.find(1)
            if added is not None:
                self.free -= set(added)
                self.held[request_id] = [*numbers, *added]
                self.decoder.extend(request_id, self.placement(self.held[request_id]))
            return added is not None
        return self.move(request_id, len(numbers) + 1)

    def move(self, request_id: int, count: int) -> bool:
        self.free |= set(self.held[request_id])
        numbers = self.find(count)
        if numbers is not None:
            self.held[request_id] = numbers
            self.decoder.move(request_id, self.placement(numbers))
        self.free -= set(self.held[request_id])
        return numbers is not None

    def drop(self, request_id: int, evict: bool) -> None:
        stored = self.decoder.stored(request_id)
        found = (self.decoder.evict if evict else self.decoder.release)(request_id)
        assert found == stored
        self.free |= set(self.held.pop(request_id))
        self.waiting += [request_id] if evict else []

    def tick(self, chunk: int) -> None:
        work = []
        for request_id, numbers in list(self.held.items()):
            stored = self.decoder.stored(request_id)
            known = self.prompts[request_id] + len(self.decoder.generated(request_id))
            count = min(chunk, known - stored)
            if stored + count <= BLOCK * len(numbers) or self.grow(request_id):
                work.append((request_id, count))
        self.decoder.step(work)

    def check(self) -> None:
        for request_id in self.held:
            written = self.decoder.count_written(request_id)
            assert written == self.decoder.stored(request_id)
        pages = self.decoder.pages()
        assert pages is None or pages.resident_bytes == pages.ledger_bytes


@given(paged=st.booleans(), events=st.lists(st.tuples(EVENTS, st.integers(1, 60)), max_size=60))
@settings(max_examples=40, deadline=None)
def test_three_counts_and_all_tokens_agree(paged, events):
    host = Host(paged)
    for event, number in [("admit", 20), ("admit", 9), *events]:
        chosen = sorted(host.held)[number % len(host.held)] if host.held else None
        if event == "admit":
            host.admit(number)
        elif event == "tick":
            host.tick(number)
        elif chosen is not None and event == "move":
            host.move(chosen, len(host.held[chosen]))
        elif chosen is not None:
            host.drop(chosen, evict=event == "evict")
        host.check()
    assert all(
        host.decoder.verify(request_id).passed
        for request_id in host.prompts
        if request_id in host.decoder._sequences or request_id in host.decoder._finished
    )
