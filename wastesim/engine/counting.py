"""Written memory counted three ways: the ledger, the arrays, the operating system's pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from wastesim.engine.decoding import Decoding
from wastesim.engine.sequence import Sequence
from wastesim.errors import CountMismatch


class Pages(Protocol):
    """Resident bytes of the arena, and what the ledger's cells come to in whole pages."""

    @property
    def resident_bytes(self) -> int:
        """As the operating system counts them."""

    @property
    def ledger_bytes(self) -> int:
        """As the ledger's written cells demand them."""


class Counter(Protocol):
    """What the server tells whoever counts."""

    def tick(self, tick: int, running: Iterable[Sequence]) -> None:
        """A tick's tokens have been written."""

    def released(self, sequence: Sequence, found_cells: int) -> None:
        """A request's cells were counted and given back."""

    def result(self) -> dict[str, Any]:
        """`counted` of the summary."""


class NoCounter:
    """There are no arrays to count."""

    def tick(self, tick: int, running: Iterable[Sequence]) -> None:
        """Nothing to count."""

    def released(self, sequence: Sequence, found_cells: int) -> None:
        """Nothing to count."""

    def result(self) -> dict[str, Any]:
        """Undefined, not zero."""
        return {"ledger": None, "arrays": None, "pages": None}


class ThreeWays:
    """Totals the cells that ledger and arrays saw at the same moments, and compares each time.

    Each request is counted when it gives its cells back, and all running ones every
    `every_ticks` ticks; the pages are compared at the latter.
    """

    def __init__(
        self, decoding: Decoding, pages: Callable[[], Pages | None], every_ticks: int
    ) -> None:
        self._decoding = decoding
        self._pages = pages
        self._every_ticks = every_ticks
        self._ledger_cells = self._arrays_cells = 0
        self._resident_bytes = self._page_ledger_bytes = self._page_counts = 0

    def tick(self, tick: int, running: Iterable[Sequence]) -> None:
        """Count at every `every_ticks`-th tick."""
        if tick % self._every_ticks:
            return
        for sequence in running:
            self._compare(sequence, self._decoding.count_written(sequence.request_id))
        pages = self._pages()
        if pages is not None:
            self._resident_bytes += pages.resident_bytes
            self._page_ledger_bytes += pages.ledger_bytes
            self._page_counts += 1

    def released(self, sequence: Sequence, found_cells: int) -> None:
        """Compare the count that the decode made before it gave the memory back."""
        self._compare(sequence, found_cells)

    def result(self) -> dict[str, Any]:
        """`counted` of the summary; `pages` is None where the system does not tell."""
        pages = {
            "counts": self._page_counts,
            "resident_bytes": self._resident_bytes,
            "ledger_bytes": self._page_ledger_bytes,
        }
        return {
            "ledger": self._ledger_cells,
            "arrays": self._arrays_cells,
            "pages": pages if self._page_counts else None,
        }

    def _compare(self, sequence: Sequence, found_cells: int) -> None:
        self._ledger_cells += sequence.stored
        self._arrays_cells += found_cells
        if found_cells != sequence.stored:
            raise CountMismatch(
                f"request {sequence.request_id}: the ledger says {sequence.stored} written cells,"
                f" the arrays show {found_cells} (of {sequence.room_tokens} held)"
            )
