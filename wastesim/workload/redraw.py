"""Draw, and draw again what lies outside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wastesim.errors import InputError
from wastesim.workload.pairs import Floats, Ints

#: Draws of a block before bounds that hold next to nothing are called a mistake.
MOST_ROUNDS = 1000


def drawn_inside(
    size: int,
    draw: Callable[[int], Floats],
    outside: Callable[[Floats, Ints], NDArray[np.bool_]],
) -> Floats:
    """`size` rows of `draw` of which `outside(rows, their places)` finds none.

    `outside` sees every row once, just after it was drawn, and may count it.  InputError when
    the rounds run out.
    """
    values = draw(size)
    missing = np.flatnonzero(outside(values, np.arange(size)))
    for _ in range(MOST_ROUNDS):
        if not len(missing):
            return values
        fresh = draw(len(missing))
        values[missing] = fresh
        missing = missing[outside(fresh, missing)]
    raise InputError(
        f"lengths: fewer than one draw in {MOST_ROUNDS} lies within its bounds;"
        " widen them, or use 'outside: clip'"
    )


def count(events: dict[str, Ints], reason: str, size: int, where: NDArray[np.integer]) -> None:
    """Note that `reason` happened once to each of the samples `where` of a block of `size`."""
    if len(where):
        events.setdefault(reason, np.zeros(size, dtype=np.int64))[where] += 1
