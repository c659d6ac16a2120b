"""How much to claim at admission: the first axis of a policy.

A claim is a number of tokens, at most `max_model_len` = L.  `first` is made at admission; `next`
when a request outgrows its claim.
"""

from __future__ import annotations

from typing import Protocol

from wastesim.allocation.protocol import Ask


class Claim(Protocol):
    """A rule for how many tokens a request is taken to need."""

    #: Whether a request can outgrow its first claim.
    grows: bool
    #: Whether it claims more than is about to be stored.
    ahead: bool

    def first(self, ask: Ask) -> int:
        """Tokens claimed at admission."""

    def next(self, ask: Ask, claimed: int, tokens: int) -> int:
        """The new claim of a request that must store `tokens`, more than it `claimed`."""


class WholeContext:
    """`max_model_len` for everybody: what a contiguous max_seq cache does."""

    grows = False
    ahead = True

    def __init__(self, max_model_len: int) -> None:
        self._limit = max_model_len

    def first(self, ask: Ask) -> int:
        """L."""
        return self._limit

    def next(self, ask: Ask, claimed: int, tokens: int) -> int:
        """There is no more than L."""
        return self._limit


class Declared:
    """`prompt + max_tokens`, as far as the client declared it."""

    grows = False
    ahead = True

    def __init__(self, max_model_len: int) -> None:
        self._limit = max_model_len

    def first(self, ask: Ask) -> int:
        """P + max_tokens, at most L."""
        return min(ask.prompt_tokens + ask.max_tokens, self._limit)

    def next(self, ask: Ask, claimed: int, tokens: int) -> int:
        """Outputs end at max_tokens, so this is never more."""
        return self.first(ask)


class Hinted:
    """`prompt + hint`: the true length (oracle), its power of two, or a prediction.

    A hint that turns out too short is doubled until the tokens fit.
    """

    ahead = True

    def __init__(self, max_model_len: int, *, may_miss: bool) -> None:
        self._limit = max_model_len
        self.grows = may_miss

    def first(self, ask: Ask) -> int:
        """P + hint, at least what is known already, at most L."""
        hint = ask.max_tokens if ask.hint_tokens is None else ask.hint_tokens
        return min(max(ask.prompt_tokens + hint, ask.known_tokens), self._limit)

    def next(self, ask: Ask, claimed: int, tokens: int) -> int:
        """The output's part of the claim doubled until `tokens` are inside."""
        output = max(1, claimed - ask.prompt_tokens)
        while ask.prompt_tokens + output < tokens:
            output *= 2
        return min(ask.prompt_tokens + output, self._limit)


class KnownOnly:
    """Nothing beyond the tokens that are there: the request grows as it goes."""

    grows = True
    ahead = False

    def __init__(self, max_model_len: int) -> None:
        self._limit = max_model_len

    def first(self, ask: Ask) -> int:
        """What is to be computed now."""
        return min(max(ask.known_tokens, ask.prompt_tokens), self._limit)

    def next(self, ask: Ask, claimed: int, tokens: int) -> int:
        """Exactly what must be stored."""
        return min(tokens, self._limit)


class Doubling:
    """`start` tokens, doubled until the known ones fit, and again whenever they no longer do."""

    grows = True
    ahead = True

    def __init__(self, max_model_len: int, start_tokens: int) -> None:
        self._limit = max_model_len
        self._start = start_tokens

    def first(self, ask: Ask) -> int:
        """The smallest of start, 2 start, 4 start ... that holds what is known."""
        return self._at_least(max(ask.known_tokens, ask.prompt_tokens))

    def next(self, ask: Ask, claimed: int, tokens: int) -> int:
        """The smallest that holds `tokens`."""
        return self._at_least(tokens)

    def _at_least(self, tokens: int) -> int:
        claim = self._start
        while claim < tokens:
            claim *= 2
        return min(claim, self._limit)
