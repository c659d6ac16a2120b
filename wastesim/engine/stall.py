"""Why a run cannot go on."""

from __future__ import annotations

from wastesim.allocation import Ask, Policy
from wastesim.engine.scheduler import Refusal


def stall_message(policy: Policy, head: Ask, final_stored: int, refusal: Refusal) -> str:
    """Nothing runs, and the head of the queue is refused: it will be for ever."""
    who = f"nothing runs, and request {head.request_id} at the head of the queue"
    if refusal is not Refusal.MEMORY:
        return (
            f"{who} can never be served: refused for {refusal.value}, with a prompt of"
            f" {head.known_tokens} tokens to compute at once"
        )
    needed, most = policy.needs_at_most(head, final_stored)
    if needed > most:
        return (
            f"{who} can never be served: refused for memory, it needs {needed} cells in the end"
            f" and an empty pool can give {most}"
        )
    return (
        f"{who} is refused for memory, though it needs {needed} cells in the end and policy"
        f" '{policy.name}' says that an empty pool can give {most}: its cells were not given back"
        f" (free_cells is {policy.free_cells}), or its fits is wrong"
    )
