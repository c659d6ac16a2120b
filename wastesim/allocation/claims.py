"""How much to claim: the first axis of a policy.

A claim is a number of tokens, at most `max_model_len` = L.  It is a function of what is asked and
of how many tokens must be stored: a request that comes back after a preemption claims what it had
claimed when it had grown that far.
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

    def of(self, ask: Ask, tokens: int) -> int:
        """Tokens claimed for a request that must store `tokens`."""


class WholeContext:
    """`max_model_len` for everybody: what a contiguous max_seq cache does."""

    grows = False
    ahead = True

    def __init__(self, max_model_len: int) -> None:
        self._limit = max_model_len

    def of(self, ask: Ask, tokens: int) -> int:
        """L."""
        return self._limit


class Declared:
    """`prompt + max_tokens`, as far as the client declared it; no output is longer."""

    grows = False
    ahead = True

    def __init__(self, max_model_len: int) -> None:
        self._limit = max_model_len

    def of(self, ask: Ask, tokens: int) -> int:
        """P + max_tokens."""
        return min(ask.prompt_tokens + ask.max_tokens, self._limit)


class Hinted:
    """`prompt + hint`: the true length (oracle), its power of two, or a prediction."""

    ahead = True

    def __init__(self, max_model_len: int, *, may_miss: bool) -> None:
        self._limit = max_model_len
        self.grows = may_miss

    def of(self, ask: Ask, tokens: int) -> int:
        """P + hint; a hint that turns out too short is doubled until the tokens fit."""
        hint = ask.max_tokens if ask.hint_tokens is None else ask.hint_tokens
        output = _doubled(max(1, hint), tokens - ask.prompt_tokens)
        return min(ask.prompt_tokens + output, self._limit)


class KnownOnly:
    """Nothing beyond the tokens that are there: the request grows as it goes."""

    grows = True
    ahead = False

    def __init__(self, max_model_len: int) -> None:
        self._limit = max_model_len

    def of(self, ask: Ask, tokens: int) -> int:
        """Exactly what must be stored."""
        return min(tokens, self._limit)


class Doubling:
    """`start` tokens, doubled until those to be stored fit, and again whenever they do not."""

    grows = True
    ahead = True

    def __init__(self, max_model_len: int, start_tokens: int) -> None:
        self._limit = max_model_len
        self._start = start_tokens

    def of(self, ask: Ask, tokens: int) -> int:
        """The smallest of start, 2 start, 4 start ... that holds `tokens`."""
        return min(_doubled(self._start, tokens), self._limit)


def _doubled(start: int, least: int) -> int:
    """`start`, doubled as often as it takes to reach `least`."""
    while start < least:
        start *= 2
    return start
