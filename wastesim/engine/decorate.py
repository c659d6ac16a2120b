"""What clients and predictors add to a request on its way in.

Each request's draws come from a stream of its own, keyed by its id: comparing policies, or adding
one of these, never changes another request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from wastesim.config.clients import Clients
from wastesim.config.policy import ForeignPolicy, Policy
from wastesim.request import Request
from wastesim.rng import Streams

Hint = Callable[[Request], int | None]


def decorated(
    requests: Iterator[Request], clients: Clients, hint: Hint, streams: Streams
) -> Iterator[Request]:
    """The same requests with a hint, a priority and a time at which their client gives up."""
    for request in requests:
        known = (request.hint_tokens, request.priority, request.cancel_after_s)
        tokens, priority = hint(request), _priority(request, clients, streams)
        after_s = _patience_s(request, clients, streams)
        if known != (tokens, priority, after_s):
            request = replace(
                request, hint_tokens=tokens, priority=priority, cancel_after_s=after_s
            )
        yield request


def hint_for(policy: Policy | ForeignPolicy, streams: Streams) -> Hint:
    """How the policy's claim sees the output length: not at all, exactly, rounded, predicted."""
    if isinstance(policy, ForeignPolicy):
        return lambda request: request.hint_tokens
    if policy.claim == "oracle":
        return lambda request: request.output_tokens
    if policy.claim == "pow2":
        return lambda request: next_power_of_two(request.output_tokens)
    if policy.claim == "predicted":
        return lambda request: predicted_bucket(request, policy.accuracy, streams)
    return lambda request: request.hint_tokens


def next_power_of_two(tokens: int) -> int:
    """The smallest power of two that is not below `tokens`."""
    return 1 << (tokens - 1).bit_length()


def predicted_bucket(request: Request, accuracy: float, streams: Streams) -> int:
    """The upper end of the power-of-two bucket that a length classifier names.

    It names the true bucket with probability `accuracy`, else the next lower or higher one.
    """
    true, luck = next_power_of_two(request.output_tokens), streams.of("policy", request.request_id)
    if luck.random() < accuracy:
        return true
    return max(1, true // 2) if luck.random() < 0.5 else true * 2


def _priority(request: Request, clients: Clients, streams: Streams) -> int:
    if not clients.priorities:
        return request.priority
    values, shares = zip(*sorted(clients.priorities.items()), strict=True)
    total = sum(shares)
    luck = streams.of("clients", request.request_id)
    return int(luck.choice(values, p=[share / total for share in shares]))


def _patience_s(request: Request, clients: Clients, streams: Streams) -> float | None:
    """The least of what the workload, the time-out and a draw say."""
    limits_s = [request.cancel_after_s, clients.timeout_s]
    if clients.cancel_share:
        luck = streams.of("clients", request.request_id, 1)
        if luck.random() < clients.cancel_share:
            limits_s.append(float(luck.exponential(clients.cancel_after_s)))
    return min((limit_s for limit_s in limits_s if limit_s is not None), default=None)
