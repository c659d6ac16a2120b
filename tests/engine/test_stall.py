"""Why a run cannot go on, in words."""

from __future__ import annotations

from wastesim.allocation import Ask, Slots
from wastesim.engine.scheduler import Refusal
from wastesim.engine.stall import stall_message

HEAD = Ask(3, 40, 10, None, 40)


def test_what_is_larger_than_the_pool_is_told_with_both_numbers() -> None:
    assert stall_message(Slots("contiguous", 80, 100), HEAD, 49, Refusal.MEMORY) == (
        "nothing runs, and request 3 at the head of the queue can never be served: refused for"
        " memory, it needs 100 cells in the end and an empty pool can give 80"
    )


def test_a_policy_that_refuses_what_fits_is_what_is_wrong() -> None:
    policy = Slots("mine", 100, 100)
    policy.place(Ask(0, 1, 1), 1)  # and never gives it back
    assert stall_message(policy, HEAD, 49, Refusal.MEMORY) == (
        "nothing runs, and request 3 at the head of the queue is refused for memory, though it"
        " needs 100 cells in the end and policy 'mine' says that an empty pool can give 100: its"
        " cells were not given back (free_cells is 0), or its fits is wrong"
    )


def test_cells_are_not_blamed_for_a_prompt_that_the_budget_refuses() -> None:
    message = stall_message(Slots("contiguous", 100, 100), HEAD, 49, Refusal.TOKEN_BUDGET)
    assert message.endswith("refused for max_num_batched_tokens, with a prompt of 40 tokens to"
                            " compute at once")  # fmt: skip
