"""Why a run cannot go on."""

from __future__ import annotations

from wastesim.allocation import Ask, Policy
from wastesim.engine.scheduler import Refusal


def stall_message(policy: Policy, head: Ask, final_stored: int, refusal: Refusal) -> str:
    """Nothing runs, and the head of the queue can never be served."""
    needed, most = policy.needs_at_most(head, final_stored)
    return (
        f"nothing runs, and request {head.request_id} at the head of the queue can never be"
        f" served: refused for {refusal.value}, it needs {needed} cells in the end and an"
        f" empty pool can give {most}"
    )
