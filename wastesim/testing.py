"""A kit for other people's policies: try one out at random, by decoding, and by its accounts.

::

    TestMine = policy_machine(lambda: Mine(Pool(96, 64, 16, 4))).TestCase    # pytest finds it
    def test_mine_by_decoding(): prove_by_decode(Mine)
    def test_the_accounts(): check_ledger(simulate("mine.yaml").records)

`policy_machine` wants hypothesis installed.  What goes wrong is an AssertionError or one of
wastesim's own errors, with the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wastesim.address import Placement
from wastesim.allocation import Ask, Growth, Holding, Policy
from wastesim.records import SHARES, Array, Records
from wastesim.result import Result, load_experiment, run_one

if TYPE_CHECKING:
    from hypothesis.stateful import RuleBasedStateMachine

__all__ = ["Trial", "check_ledger", "policy_machine", "prove_by_decode"]

#: One layer, one head of one element, 16 bits: a cell is 4 bytes.
_MODEL = {"layers": 1, "hidden": 8, "q_heads": 1, "kv_heads": 1, "head_dim": 1, "params": 1000}
_GPU = {"memory": "1 GiB", "bandwidth": "1 GB/s", "flops": "1 GFLOP/s"}
_CELL_BYTES = 4


def _expect(ok: bool, message: str) -> None:
    if not ok:
        raise AssertionError(message)


@dataclass
class _Tenant:
    """A request that holds cells, as the model knows it."""

    ask: Ask
    final_tokens: int
    stored: int
    holding: Holding
    placement: Placement


class Trial:
    """A policy beside a list that says who owns each cell; every step is judged by it."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.tenants: dict[int, _Tenant] = {}
        self.verify()

    def place(self, ask: Ask, final_tokens: int, tokens: int, spare_cells: int = 0) -> None:
        """Admit a request that stores `tokens` now; what never fits is refused before."""
        policy = self.policy
        needed, most = policy.needs_at_most(ask, final_tokens)
        if needed > most:
            return
        fits, beside = policy.fits(ask, tokens), policy.fits(ask, tokens, spare_cells)
        _expect(fits or not beside, f"{ask} fits beside {spare_cells} spare cells, but not without")
        _expect(fits or bool(self.tenants), f"{needed} <= {most}, but an empty pool refuses {ask}")
        whole = policy.fits_whole(ask)
        _expect(fits or not whole, f"{ask} fits as a whole, but its first {tokens} tokens do not")
        holding = policy.place(ask, tokens)
        _expect((holding is not None) == fits, f"fits says {fits}, place gives {holding} for {ask}")
        if holding is not None:
            placement = policy.placement(ask.request_id)
            self.tenants[ask.request_id] = _Tenant(ask, final_tokens, tokens, holding, placement)
            free = policy.free_cells
            _expect(free >= spare_cells or not beside, f"{free} free, not {spare_cells} spared")
        self.verify()

    def grow(self, request_id: int, more: int) -> None:
        """Store `more` tokens, or as many as the request has left."""
        tenant = self.tenants[request_id]
        tokens = min(tenant.stored + more, tenant.final_tokens)
        if tokens > tenant.holding.room_tokens:
            free = self.policy.free_cells
            growth = self.policy.grow(request_id, tokens)
            if growth is None:
                self._refused(tenant, tokens, free)
                return
            self._grown(tenant, growth)
        tenant.stored = tokens
        self.verify()

    def release(self, request_id: int) -> None:
        """The request is done or preempted."""
        self.policy.release(request_id)
        del self.tenants[request_id]
        self.verify()

    def verify(self) -> None:
        """`check`, then every cell has one owner at most, and the others are free."""
        self.policy.check()
        owner: list[int | None] = [None] * self.policy.capacity_cells
        for request_id, tenant in self.tenants.items():
            self._verify_tenant(request_id, tenant)
            for span in tenant.placement.spans:
                inside = 0 <= span.start < span.stop <= len(owner)
                _expect(inside, f"{span} of request {request_id} is not inside the pool")
                for cell in range(*span):
                    both = f"cell {cell} belongs to requests {owner[cell]} and {request_id}"
                    _expect(owner[cell] is None, both)
                    owner[cell] = request_id
        free, counted = owner.count(None), self.policy.free_cells
        _expect(free == counted, f"{free} cells are free, the policy says {counted}")

    def _verify_tenant(self, request_id: int, tenant: _Tenant) -> None:
        placement, holding = self.policy.placement(request_id), tenant.holding
        same = placement == tenant.placement
        _expect(same, f"request {request_id} was in {tenant.placement}, is in {placement} unasked")
        held, cells, room = holding.cells, placement.cells, holding.room_tokens
        said = f"request {request_id} holds {held} cells with room for {room} tokens,"
        _expect(held == cells, f"{said} and is placed in {cells}")
        _expect(tenant.stored <= room <= cells, f"{said} and has {tenant.stored} stored in {cells}")

    def _refused(self, tenant: _Tenant, tokens: int, free_cells: int) -> None:
        """To give up is right where not even a new request of that length would fit."""
        policy, known = self.policy, f"growth of {tenant.ask} to {tokens} tokens"
        _expect(policy.grows, f"{known} is refused by a policy that says it never has to grow")
        fresh = tenant.ask._replace(request_id=-1, known_tokens=tokens)
        _expect(not policy.fits(fresh, tokens), f"{known} is refused, but as much would fit anew")
        _expect(policy.free_cells == free_cells, f"{known} is refused and changes the free cells")
        self.verify()

    def _grown(self, tenant: _Tenant, growth: Growth) -> None:
        old, new = tenant.placement, self.policy.placement(tenant.ask.request_id)
        if growth.copied_from is None:
            kept = new.spans[: len(old.spans)] == old.spans
            _expect(kept, f"{old} became {new} and copied_from does not say that it must move")
        else:
            _expect(
                growth.copied_from == old, f"copied from {growth.copied_from}, but was in {old}"
            )
            _expect(new != old, f"copied_from is set, but {old} stays where it is")
        tenant.holding, tenant.placement = growth.holding, new


def policy_machine(
    make_policy: Callable[[], Policy], *, max_model_len: int = 64
) -> type[RuleBasedStateMachine]:
    """A Hypothesis state machine: random place, grow and release, every step judged by `Trial`."""
    try:
        from hypothesis import strategies as st
        from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
    except ImportError as error:
        raise ImportError("policy_machine needs hypothesis: pip install hypothesis") from error

    class Machine(RuleBasedStateMachine):
        """The rules; `trial` has the model."""

        def __init__(self) -> None:
            super().__init__()
            self.trial = Trial(make_policy())
            self.asked = 0
            self.preempted: dict[int, _Tenant] = {}

        @rule(data=st.data())
        def place(self, data: st.DataObject) -> None:
            self.asked += 1
            prompt = data.draw(st.integers(1, max_model_len - 1), "prompt")
            output = data.draw(st.integers(1, max_model_len - prompt), "output")
            limit = data.draw(st.integers(output, max_model_len - prompt), "max_tokens")
            # A policy that never grows relies on its hints; one that does must survive bad ones.
            least = 1 if self.trial.policy.grows else output
            hint = data.draw(st.none() | st.integers(least, max_model_len), "hint")
            known = data.draw(st.integers(prompt, prompt + output - 1), "known")
            tokens = data.draw(st.just(known) | st.integers(1, known), "tokens")
            spare = data.draw(st.just(0) | st.integers(0, max_model_len), "spare")
            ask = Ask(self.asked, prompt, limit, hint, known)
            self.trial.place(ask, prompt + output - 1, tokens, spare)

        @precondition(lambda self: self.preempted)
        @rule(data=st.data())
        def come_back(self, data: st.DataObject) -> None:
            request_id = data.draw(st.sampled_from(sorted(self.preempted)))
            tenant = self.preempted.pop(request_id)
            known = max(tenant.ask.known_tokens, tenant.stored)
            ask = tenant.ask._replace(known_tokens=known)
            self.trial.place(ask, tenant.final_tokens, known)

        @precondition(lambda self: self.trial.tenants)
        @rule(data=st.data(), more=st.just(1) | st.integers(1, max_model_len))
        def grow(self, data: st.DataObject, more: int) -> None:
            self.trial.grow(data.draw(st.sampled_from(sorted(self.trial.tenants))), more)

        @precondition(lambda self: self.trial.tenants)
        @rule(data=st.data(), comes_back=st.booleans())
        def release(self, data: st.DataObject, comes_back: bool) -> None:
            request_id = data.draw(st.sampled_from(sorted(self.trial.tenants)))
            if comes_back:
                self.preempted[request_id] = self.trial.tenants[request_id]
            self.trial.release(request_id)

    return Machine


def prove_by_decode(
    policy: str | Mapping[str, Any] | type,
    *,
    cells: int = 300,
    max_model_len: int = 96,
    num_requests: int = 16,
    seed: int = 0,
    **server: Any,
) -> Result:
    """Decode a crowd of requests in a small pool, and compare each with itself alone, uncached.

    `policy` is what `server.policy` takes, or a class at the top level of its module; `server`
    has further options of the server.  Raises AssertionError, VerificationError, CountMismatch
    or AllocationError.
    """
    choice = f"{policy.__module__}:{policy.__qualname__}" if isinstance(policy, type) else policy
    memory = {"max_model_len": max_model_len, "kv_cache_memory_bytes": cells * _CELL_BYTES}
    half = {"kind": "uniform", "low": 1, "high": max_model_len // 2}
    tree = {
        "seed": seed,
        "model": _MODEL,
        "gpu": _GPU,
        "workload": {"lengths": {"prompt": half, "output": half}, "num_requests": num_requests},
        "server": {"policy": choice, **memory, **server},
        "decode": {"engine": "numpy", "model": "tiny", "verify": True, "count_every": 1},
        "clock": {"kind": "fixed", "step_s": 1},
    }
    result = run_one(load_experiment(tree))
    check_ledger(result.records)
    status = result.records.requests["status"].tolist()
    completed, verified = status.count("completed"), result.summary["decode"]["verified"]
    _expect(completed > 0, f"nothing was completed, so nothing is proven: {status}")
    _expect(verified["requests"] >= completed, f"{completed} completed, {verified} verified")
    return result


def check_ledger(records: Records) -> None:
    """The six shares make up the pool at every tick, and `written` is what the requests say.

    AssertionError with the first tick that is wrong.
    """
    ticks, capacity = records.ticks, records.facts.capacity_cells
    shares = np.stack([ticks[name] for name in SHARES])
    _expect(np.issubdtype(shares.dtype, np.integer), f"shares are {shares.dtype}, not integers")
    total = shares.sum(axis=0)
    _at_no_tick(total != capacity, f"do not make up {capacity} cells", records)
    _at_no_tick(shares.min(axis=0, initial=0) < 0, "are negative", records)
    rows = records.requests
    over = (rows["written_cells"] > rows["reserved_cells"]).any()
    _expect(not over, "more is written than held")
    done = rows["scheduled_tokens"].sum()
    computed = ticks["prefill_tokens"].sum() + ticks["decode_tokens"].sum()
    _expect(computed == done, f"ticks computed {computed} tokens, requests were given {done}")
    expected = _written(records)
    if expected is not None:
        _at_no_tick(shares[0][ticks["scheduled"] > 0] != expected, "differ from requests", records)


def _at_no_tick(wrong: Array, what: str, records: Records) -> None:
    if wrong.any():
        tick = int(wrong.argmax())
        shares = {name: int(records.ticks[name][tick]) for name in SHARES}
        raise AssertionError(f"tick {tick}: the shares {what}: {shares}")


def _written(records: Records) -> Array | None:
    """Stored tokens per tick that ran, from the requests alone; None where they do not tell.

    That is P + k in the k-th tick after admission, for one token a tick to the end.
    """
    rows, ticks = records.requests, records.ticks
    served, ran = rows["scheduled_tokens"] > 0, ticks["scheduled"] > 0
    first, last = rows["admitted_tick"][served], rows["finished_tick"][served]
    straight = (rows["status"][served] == "completed") & (rows["preemptions"][served] == 0)
    straight &= last - first == rows["output_tokens"][served] - 1
    grouped = bool((ticks["stored_tokens"] != ticks["written"]).any())
    if not straight.all() or grouped or records.facts.scheduler == "static":
        return None
    ended = np.bincount(last.astype(int), minlength=int(ran.sum()))
    if not np.array_equal(ended, ticks["finished"][ran]):
        return None  # asynchronous: the finished keep their cells for one more step
    written = np.zeros(len(ended), np.int64)
    columns = (rows["prompt_tokens"][served], first.astype(int), last.astype(int))
    for prompt, begin, end in zip(*columns, strict=True):
        written[begin : end + 1] += prompt + np.arange(end + 1 - begin)
    return written
