"""What the engine wants of a decode, and the decode that does nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from wastesim.address import Placement
from wastesim.request import Request


class Decoding(Protocol):
    """The real decode (`decode.Decoder`) or `NoDecode`."""

    #: Whether placements matter to it.
    needs_addresses: bool

    def place(self, request: Request, placement: Placement) -> None:
        """A request now holds these cells."""

    def extend(self, request_id: int, placement: Placement) -> None:
        """It now holds more spans behind those it had."""

    def move(self, request_id: int, placement: Placement) -> int:
        """Its contents move to these cells; returns the tokens copied."""

    def evict(self, request_id: int) -> int:
        """`count_written`, then the memory is given back; its tokens are kept."""

    def forget(self, request_id: int) -> None:
        """A request without cells will not come back."""

    def step(self, work: Sequence[tuple[int, int]]) -> Mapping[int, int]:
        """One tick: (request_id, new tokens) for every request that runs; sampled tokens by id."""

    def count_written(self, request_id: int) -> int:
        """Cells of a request that the arrays show to be written."""

    def release(self, request_id: int) -> int:
        """`count_written`, then the memory is given back."""


class NoDecode:
    """Accounts only: nothing is computed, and there are no arrays to count."""

    needs_addresses = False

    def place(self, request: Request, placement: Placement) -> None:
        """Nothing to do."""

    def extend(self, request_id: int, placement: Placement) -> None:
        """Nothing to do."""

    def move(self, request_id: int, placement: Placement) -> int:
        """Nothing to copy."""
        return 0

    def evict(self, request_id: int) -> int:
        """There is nothing to count."""
        return 0

    def forget(self, request_id: int) -> None:
        """Nothing to do."""

    def step(self, work: Sequence[tuple[int, int]]) -> Mapping[int, int]:
        """Nothing is sampled."""
        return {}

    def count_written(self, request_id: int) -> int:
        """There is nothing to count."""
        return 0

    def release(self, request_id: int) -> int:
        """There is nothing to count."""
        return 0
