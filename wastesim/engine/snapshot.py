"""The row of a tick: the state after its tokens were written."""

from __future__ import annotations

from wastesim.allocation import Fragmentation
from wastesim.engine.cost import Cost
from wastesim.engine.memory import Memory
from wastesim.engine.queues import Queues
from wastesim.engine.scheduler import Plan, Refusal
from wastesim.records import TickRow

_DOES_NOT_MATTER = Fragmentation(-1, -1)


def tick_row(
    begins_s: float, dt_s: float, plan: Plan, cost: Cost, queues: Queues, memory: Memory
) -> TickRow:
    """A tick that ran `plan`; `finished` and `reserved_end` are known when it is over.

    Tokens of a request that has not sampled since its latest admission are prefill.
    """
    shares = memory.shares(short_of_memory=plan.refusal is Refusal.MEMORY)
    prefill = sum(new for sequence, new in plan.work if not sequence.sampled)
    total = sum(new for _, new in plan.work)
    free = memory.fragmentation() or _DOES_NOT_MATTER
    return TickRow(
        begins_s,
        dt_s,
        *shares,
        running=len(queues.running),
        waiting=len(queues.waiting),
        prefill_tokens=prefill,
        decode_tokens=total - prefill,
        moved_bytes=cost.moved_bytes,
        flop=cost.flop,
        stored_tokens=memory.stored_tokens,
        scheduled=len(plan.work),
        admitted=len(plan.admitted),
        preempted=len(plan.preempted),
        finished=0,
        reserved_end=memory.reserved_cells,
        largest_free=free.largest_free_cells,
        free_spans=free.free_spans,
    )


def idle_row(since_s: float, dt_s: float, capacity_cells: int) -> TickRow:
    """Time in which nobody was here is a row too, so that rows cover the horizon."""
    nothing = dict.fromkeys(TickRow._fields, 0)
    known = {"t_s": since_s, "dt_s": dt_s, "idle": capacity_cells}
    return TickRow(**{**nothing, **known, "largest_free": -1, "free_spans": -1})  # type: ignore[arg-type]
