"""Small runs made without the engine: equal slots, one token per tick, counted cell by cell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from wastesim.records import Facts, Recorder, Records, RequestRow, SpanRow, TickRow


def complete(kind: Any, **known: Any) -> Any:
    """A row of that kind; what the example does not know is None or 0."""
    kinds = kind.__annotations__
    rest = {name: None if "None" in str(kinds[name]) else 0 for name in kind._fields}
    return kind(**{**rest, **known})


FACTS = Facts(
    name="example",
    policy="contiguous",
    scheduler="orca",
    model="llama-3-8b",
    gpu="a100-sxm-40gb",
    executed_model="tiny",
    clock="roofline",
    max_model_len=100,
    max_num_seqs=8,
    capacity_cells=350,
    bytes_per_token=131072,
    ceiling=3,
    ceiling_reason="memory: 350 cells hold 3 slots of 100",
    bandwidth_bytes_per_s=1e12,
    peak_flop_per_s=1e14,
    weights_bytes=10**9,
    explanations=["capacity_cells = 350 because the test says so"],
    workload={
        "description": "7 requests",
        "counts": {"rows with no length": 2},
        "notes": ["a note"],
    },
    decode={"engine": "numpy", "tokens": 40, "wall_s": 0.5},
    counted={
        "ledger": 10,
        "arrays": 10,
        "pages": {"counts": 2, "resident_bytes": 8192, "ledger_bytes": 8192},
    },
)
LENGTHS = ((10, 5), (20, 30), (5, 1), (40, 20), (3, 60), (8, 8), (30, 3))


@dataclass
class _Running:
    request_id: int
    prompt: int
    output: int
    slot: int
    since_s: float
    admitted_tick: int
    generated: int = 0

    @property
    def stored(self) -> int:
        """After this tick's work, before its token is delivered."""
        return self.prompt + self.generated


def run(
    lengths: tuple[tuple[int, int], ...] = LENGTHS,
    *,
    ticks: int = 10**6,
    facts: Facts = FACTS,
    gap_s: float = 0.0,
    dt_s: float = 0.01,
) -> Records:
    """Serve the lengths in order; `ticks` cuts the run short, `gap_s` spaces the arrivals."""
    recorder, running, waiting = Recorder(), [], []
    arrivals = [(i * gap_s, i, p, o) for i, (p, o) in enumerate(lengths)]
    for late in [a for a in arrivals if a[2] + a[3] > facts.max_model_len]:
        why = f"too long: prompt + output > max_model_len {facts.max_model_len}"
        recorder.request(_row(late, "rejected", why))
        arrivals.remove(late)
    free = list(range(facts.ceiling))
    first: dict[int, tuple[float, int]] = {}
    tick = 0
    while (arrivals or running or waiting) and tick < ticks:
        t_s = tick * dt_s
        while arrivals and arrivals[0][0] <= t_s:
            waiting.append(arrivals.pop(0))
        while waiting and free:
            _, i, p, o = waiting.pop(0)
            running.append(_Running(i, p, o, free.pop(0), t_s, tick))
        recorder.tick(_tick(t_s, dt_s, running, len(waiting), facts))
        for r in list(running):
            r.generated += 1
            first.setdefault(r.request_id, (t_s + dt_s, tick))
            if r.generated == r.output:
                running.remove(r)
                free.append(r.slot)
                _end(recorder, r, "completed", t_s + dt_s, first, facts, gap_s, tick)
        tick += 1
    for r in running:
        _end(recorder, r, "unfinished", tick * dt_s, first, facts, gap_s, None)
    for left in [*waiting, *arrivals]:
        recorder.request(_row(left, "unfinished", "never admitted"))
    cut = bool(running or waiting or arrivals)
    stopped = "stopped before all requests were served" if cut else ""
    return recorder.finish(replace(facts, interrupted=cut, stopped_because=stopped))


def _tick(t_s: float, dt_s: float, running: list[_Running], waiting: int, facts: Facts) -> Any:
    written = sum(r.stored for r in running)
    final = sum(r.prompt + r.output - 1 for r in running)
    held = len(running) * facts.max_model_len
    free = facts.capacity_cells - held
    stranded, idle = (free, 0) if waiting else (0, free)
    fresh = [r for r in running if not r.generated]
    moved = facts.weights_bytes + facts.bytes_per_token * written if running else 0
    return complete(
        TickRow,
        t_s=t_s,
        dt_s=dt_s,
        written=written,
        future=final - written,
        unused=held - final,
        stranded=stranded,
        idle=idle,
        running=len(running),
        waiting=waiting,
        prefill_tokens=sum(r.prompt for r in fresh),
        decode_tokens=len(running) - len(fresh),
        moved_bytes=moved,
        flop=10**9 * len(running),
        stored_tokens=written,
        largest_free=-1,
        free_spans=-1,
    )


def _end(
    recorder: Recorder,
    r: _Running,
    status: str,
    now_s: float,
    first: dict[int, tuple[float, int]],
    facts: Facts,
    gap_s: float,
    tick: int | None,
) -> None:
    begun = first.get(r.request_id, (None, None))
    done = status == "completed"
    recorder.request(
        complete(
            RequestRow,
            request_id=r.request_id,
            status=status,
            reason="" if done else "still running",
            arrival_s=r.request_id * gap_s,
            prompt_tokens=r.prompt,
            output_tokens=r.output,
            generated_tokens=r.generated,
            stored_tokens=r.stored - 1,
            reserved_cells=facts.max_model_len,
            written_cells=r.stored - 1,
            scheduled_tokens=r.stored - 1,
            admitted_s=r.since_s,
            first_token_s=begun[0],
            finished_s=now_s if done else None,
            admitted_tick=r.admitted_tick,
            first_token_tick=begun[1],
            finished_tick=tick,
        )
    )
    start = r.slot * facts.max_model_len
    recorder.span(SpanRow(r.request_id, start, start + facts.max_model_len, r.since_s, now_s))


def _row(arrival: tuple[float, int, int, int], status: str, reason: str) -> Any:
    at_s, i, p, o = arrival
    where = {"request_id": i, "status": status, "reason": reason, "arrival_s": at_s}
    return complete(RequestRow, **where, prompt_tokens=p, output_tokens=o)


def edited(**changes: Any) -> Facts:
    """The example's facts with some of them changed."""
    return replace(FACTS, **changes)
