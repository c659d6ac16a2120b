"""Named, independent random streams from one seed.

Comparing policies needs the same requests, so drawing for one purpose must never move another.
Each stream is a child of one `numpy.random.SeedSequence`, keyed by its place in `NAMES`;
appending a name leaves the others as they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

NAMES = ("arrivals", "lengths", "tokens", "policy", "clients")


class Streams:
    """The streams of one run: shared ones, and with `of` one per request, whatever its order."""

    def __init__(self, seed: int) -> None:
        import numpy as np

        self.seed = seed
        children = np.random.SeedSequence(seed).spawn(len(NAMES))
        self._by_name = dict(zip(NAMES, children, strict=True))
        self.arrivals: np.random.Generator = np.random.default_rng(self._by_name["arrivals"])
        self.lengths: np.random.Generator = np.random.default_rng(self._by_name["lengths"])
        self.policy: np.random.Generator = np.random.default_rng(self._by_name["policy"])

    def of(self, name: str, *key: int) -> np.random.Generator:
        """A stream of its own for one key, such as a request's id: order does not matter."""
        import numpy as np

        root = self._by_name[name]
        spawn_key = (*root.spawn_key, *key)
        return np.random.default_rng(np.random.SeedSequence(root.entropy, spawn_key=spawn_key))

    def tokens(self, request_id: int) -> np.random.Generator:
        """What a request's prompt is drawn from."""
        return self.of("tokens", request_id)
