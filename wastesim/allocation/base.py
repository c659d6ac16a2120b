"""What most policies answer alike, so that one's own has to write the essential verbs only."""

from __future__ import annotations

from wastesim.allocation.protocol import Ask, Ceiling, Fragmentation, Growth, Holding
from wastesim.errors import AllocationError
from wastesim.units import format_count

#: What every policy must say itself; `grow` joins them where `grows` is true.
ESSENTIAL = ("capacity_cells", "free_cells", "fits", "place", "placement", "release")


class PolicyBase:
    """The optional half of `Policy`: to inherit from, and to override where it is not right."""

    name: str
    capacity_cells: int
    grows = False
    slides = False

    def __init_subclass__(cls) -> None:
        """A class without a name of its own is called by the class's."""
        super().__init_subclass__()
        if "name" not in vars(cls):
            cls.name = cls.__name__

    def fits(self, ask: Ask, tokens: int, spare_cells: int = 0) -> bool:
        """Essential: there is no answer that fits all policies."""
        raise NotImplementedError

    def fits_whole(self, ask: Ask, spare_cells: int = 0) -> bool:
        """`fits` for all known tokens."""
        return self.fits(ask, ask.known_tokens, spare_cells)

    def needs_at_most(self, ask: Ask, final_tokens: int) -> tuple[int, int]:
        """The final length, against all cells."""
        return final_tokens, self.capacity_cells

    def grow(self, request_id: int, tokens: int) -> Growth | None:
        """A request was placed with all that it will need."""
        raise AllocationError(
            f"{self.name}: request {request_id} must store {tokens} tokens, more than it was"
            " placed with, and this policy does not let requests grow"
        )

    def slide(self, request_id: int, done_tokens: int) -> Holding:
        """Only paged policies with window groups slide."""
        raise AllocationError(f"{self.name} has no sliding windows")

    def check(self) -> None:
        """Nothing is known that could be wrong."""

    def ceiling(self) -> Ceiling:
        """A cell per request is the least."""
        cells = format_count(self.capacity_cells)
        return Ceiling(self.capacity_cells, f"memory: {cells} cells; lengths decide how many fit")

    def fragmentation(self) -> Fragmentation | None:
        """Any free cells will do."""
        return None


def missing(policy: object) -> list[str]:
    """Verbs and attributes that `policy` does not have, those that raise at once included."""
    verbs = [*ESSENTIAL, *(name for name in dir(PolicyBase) if not name.startswith("_"))]
    announced: dict[str, object] = {"fits": PolicyBase.fits}
    if getattr(policy, "grows", False):
        announced["grow"] = PolicyBase.grow
    return [
        name
        for name in dict.fromkeys(verbs)
        if not hasattr(policy, name)
        or getattr(type(policy), name, None) is announced.get(name, announced)
    ]
