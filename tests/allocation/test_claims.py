"""How much each rule claims, and that a claim depends on nothing but the lengths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wastesim.allocation import Ask
from wastesim.allocation.claims import Declared, Doubling, Hinted, KnownOnly, WholeContext

L = 100
ASK = Ask(0, prompt_tokens=10, max_tokens=30, hint_tokens=8)


def test_the_whole_context_is_claimed_whatever_is_asked() -> None:
    assert WholeContext(L).of(ASK, 10) == L


def test_a_declared_output_is_claimed_with_the_prompt_up_to_the_limit() -> None:
    assert Declared(L).of(ASK, 10) == 40
    assert Declared(L).of(ASK._replace(max_tokens=500), 10) == L


@pytest.mark.parametrize(("tokens", "claim"), [(10, 18), (18, 18), (19, 26), (27, 42), (90, 100)])
def test_a_hint_that_turns_out_too_short_is_doubled_until_the_tokens_fit(
    tokens: int, claim: int
) -> None:
    """P = 10 and hint 8: 10 + 8, 10 + 16, 10 + 32, ... at most 100."""
    assert Hinted(L, may_miss=True).of(ASK, tokens) == claim


def test_without_a_hint_the_declared_output_is_taken() -> None:
    assert Hinted(L, may_miss=False).of(ASK._replace(hint_tokens=None), 10) == 40


def test_a_hint_of_nothing_still_claims_a_token() -> None:
    assert Hinted(L, may_miss=True).of(ASK._replace(hint_tokens=0), 10) == 11


def test_paging_claims_what_is_stored_and_no_more() -> None:
    assert KnownOnly(L).of(ASK, 13) == 13


@pytest.mark.parametrize(("tokens", "claim"), [(1, 16), (16, 16), (17, 32), (33, 64), (65, 100)])
def test_a_buffer_doubles_until_the_tokens_fit(tokens: int, claim: int) -> None:
    assert Doubling(L, 16).of(ASK, tokens) == claim


def test_only_claims_that_can_be_outgrown_say_so() -> None:
    grows = {rule.__name__: rule.grows for rule in (WholeContext, Declared, KnownOnly, Doubling)}
    assert grows == {"WholeContext": False, "Declared": False, "KnownOnly": True, "Doubling": True}
    assert Hinted(L, may_miss=True).grows
    assert not Hinted(L, may_miss=False).grows


@given(prompt=st.integers(1, 60), output=st.integers(1, 40), hint=st.integers(0, 200),
       tokens=st.integers(1, L))  # fmt: skip
def test_claims_hold_the_tokens_within_the_limit_and_never_shrink(
    prompt: int, output: int, hint: int, tokens: int
) -> None:
    ask = Ask(0, prompt, output, hint)
    for claim in (WholeContext(L), Hinted(L, may_miss=True), KnownOnly(L), Doubling(L, 3)):
        assert tokens <= claim.of(ask, tokens) <= L
        assert claim.of(ask, tokens) >= claim.of(ask, tokens - 1)
