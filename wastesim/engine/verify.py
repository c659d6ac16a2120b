"""`--verify`: every finished request is compared with a forward pass that has no cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from wastesim.address import Placement
from wastesim.errors import VerificationError
from wastesim.request import Request

if TYPE_CHECKING:
    from wastesim.decode import Decoder


class Verifying:
    """A decode whose every released request is checked first."""

    needs_addresses = True

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder
        self._requests = self._tokens = self._near_ties = 0

    def place(self, request: Request, placement: Placement) -> None:
        """A request now holds these cells."""
        self._decoder.place(request, placement)

    def extend(self, request_id: int, placement: Placement) -> None:
        """It now holds more spans behind those it had."""
        self._decoder.extend(request_id, placement)

    def move(self, request_id: int, placement: Placement) -> int:
        """Its contents move to these cells."""
        return self._decoder.move(request_id, placement)

    def evict(self, request_id: int) -> int:
        """It gives its cells back and will come again."""
        return self._decoder.evict(request_id)

    def forget(self, request_id: int) -> None:
        """A request without cells will not come back."""
        self._decoder.forget(request_id)

    def step(self, work: Sequence[tuple[int, int]]) -> Mapping[int, int]:
        """One tick."""
        return self._decoder.step(work)

    def count_written(self, request_id: int) -> int:
        """Cells of a request that the arrays show to be written."""
        return self._decoder.count_written(request_id)

    def release(self, request_id: int) -> int:
        """Check the request's tokens, then release it; VerificationError if they differ."""
        found = self._decoder.verify(request_id)
        self._requests += 1
        self._tokens += found.tokens
        self._near_ties += found.near_ties
        if found.mismatches:
            raise VerificationError(
                f"request {request_id}: {found.mismatches} of {found.tokens} decoded tokens differ"
                " from the uncached reference: its cells were overwritten or read wrongly"
            )
        return self._decoder.release(request_id)

    def result(self) -> dict[str, int]:
        """`decode.verified` of the summary."""
        return {
            "requests": self._requests,
            "tokens": self._tokens,
            "near_ties": self._near_ties,
        }
