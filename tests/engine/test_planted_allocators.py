"""Every planted allocator bug is caught twice: by decoding, and by the random machine."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from wastesim.allocation import Pool
from wastesim.errors import AllocationError, CountMismatch, VerificationError
from wastesim.testing import policy_machine, prove_by_decode

from .planted import BUGS, OffByOne, RightBlocks, RightSpans, TwoOwners

CAUGHT = (AssertionError, AllocationError, CountMismatch, VerificationError)
EFFORT = settings(
    max_examples=100, stateful_step_count=30, deadline=None, database=None,
    derandomize=True, phases=[Phase.generate],
)  # fmt: skip


def try_out(policy) -> None:
    machine = policy_machine(lambda: policy(Pool(103, 24, 4, 4)), max_model_len=24)
    run_state_machine_as_test(machine, settings=EFFORT)


@pytest.mark.parametrize("policy", [RightBlocks, RightSpans])
def test_the_right_ones_are_not_accused(policy) -> None:
    try_out(policy)
    result = prove_by_decode(policy, block_size=4)
    assert result.records.ticks["preempted"].sum() > 0
    assert (result.records.facts.copied_tokens > 0) == (policy is RightSpans)


@pytest.mark.parametrize("policy", BUGS)
def test_the_decode_catches_it(policy) -> None:
    with pytest.raises(CAUGHT):
        prove_by_decode(policy, block_size=4)


@pytest.mark.parametrize("policy", BUGS)
def test_the_machine_catches_it(policy) -> None:
    with pytest.raises(CAUGHT):
        try_out(policy)


def test_tokens_alone_tell_an_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all counts switched off, the generated tokens still differ from the uncached ones."""
    from wastesim.allocation.accounts import Accounts
    from wastesim.engine.counting import ThreeWays

    monkeypatch.setattr(Accounts, "holds", lambda *_: None)
    monkeypatch.setattr(Accounts, "released", lambda *_: None)
    monkeypatch.setattr(ThreeWays, "_compare", lambda *_: None)
    with pytest.raises(VerificationError, match="decoded tokens differ from the uncached"):
        prove_by_decode(TwoOwners)


def test_one_token_too_many_is_told_with_both_numbers() -> None:
    with pytest.raises(AllocationError, match=r"would write token \d+ into \d+ cells"):
        prove_by_decode(OffByOne, block_size=4)
