"""A state machine for allocators: random place, grow and release against a bitmap."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from wastesim.allocation import Ask, Slots

CAPACITY, MAX_MODEL_LEN = 103, 16


class PolicyMachine(RuleBasedStateMachine):
    """The model is a list that says who owns each cell."""

    def __init__(self) -> None:
        super().__init__()
        self.policy = Slots.contiguous(CAPACITY, MAX_MODEL_LEN)
        self.owner: list[int | None] = [None] * CAPACITY
        self.stored: dict[int, int] = {}
        self.next_id = 0

    @rule(prompt=st.integers(1, MAX_MODEL_LEN - 1))
    def place(self, prompt: int) -> None:
        ask = Ask(self.next_id, prompt, MAX_MODEL_LEN - prompt)
        fits = self.policy.fits(ask, prompt)
        holding = self.policy.place(ask, prompt)
        assert (holding is not None) == fits
        if holding is None:
            return
        assert holding.cells >= prompt
        for span in self.policy.placement(ask.request_id).spans:
            for cell in range(*span):
                assert self.owner[cell] is None, f"cell {cell} is handed out twice"
                self.owner[cell] = ask.request_id
        self.stored[ask.request_id] = prompt
        self.next_id += 1

    @precondition(lambda self: self.stored)
    @rule(data=st.data())
    def grow(self, data: st.DataObject) -> None:
        request_id = data.draw(st.sampled_from(sorted(self.stored)))
        tokens = min(self.stored[request_id] + 1, MAX_MODEL_LEN)
        growth = self.policy.grow(request_id, tokens)
        assert growth is not None
        assert growth.holding.cells >= tokens
        self.stored[request_id] = tokens

    @precondition(lambda self: self.stored)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        request_id = data.draw(st.sampled_from(sorted(self.stored)))
        self.policy.release(request_id)
        del self.stored[request_id]
        self.owner = [None if who == request_id else who for who in self.owner]

    @invariant()
    def free_cells_are_those_without_an_owner(self) -> None:
        self.policy.check()
        assert self.policy.free_cells == self.owner.count(None)


TestContiguous = PolicyMachine.TestCase
TestContiguous.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
