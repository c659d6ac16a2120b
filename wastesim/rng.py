"""Named, independent random streams from one seed.

Comparing policies needs the same requests, so drawing for one purpose must never move another.
Each stream is a child of one `numpy.random.SeedSequence`, keyed by its place in `NAMES`;
appending a name leaves the others as they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

NAMES = ("arrivals", "lengths", "tokens", "policy")


class Streams:
    """The streams of one run; `streams.arrivals`, `.lengths`, `.tokens`, `.policy`."""

    def __init__(self, seed: int) -> None:
        import numpy as np

        self.seed = seed
        make = np.random.default_rng
        children = np.random.SeedSequence(seed).spawn(len(NAMES))
        by_name = dict(zip(NAMES, children, strict=True))
        self.arrivals: np.random.Generator = make(by_name["arrivals"])
        self.lengths: np.random.Generator = make(by_name["lengths"])
        self.policy: np.random.Generator = make(by_name["policy"])
        self._tokens = by_name["tokens"]

    def tokens(self, request_id: int) -> np.random.Generator:
        """A stream of its own for each request, so that its prompt never depends on order."""
        import numpy as np

        key = (*self._tokens.spawn_key, request_id)
        return np.random.default_rng(np.random.SeedSequence(self._tokens.entropy, spawn_key=key))
