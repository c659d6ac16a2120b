"""A policy that breaks its word, whichever engine finds out."""

from __future__ import annotations

from wastesim.allocation import Policy
from wastesim.errors import AllocationError


def not_placed(policy: Policy, request_id: int, tokens: int) -> AllocationError:
    """`fits` and `place` disagree."""
    return AllocationError(
        f"{policy.name}: `fits` says that request {request_id} fits with"
        f" {tokens} tokens, and `place` that it does not"
    )


def not_grown(policy: Policy, request_id: int, tokens: int, room: int) -> AllocationError:
    """`grow` gave less than it was asked for."""
    return AllocationError(
        f"{policy.name}: request {request_id} was to grow to {tokens} tokens"
        f" and has room for {room}"
    )
