"""What a run leaves behind: one flat row per request, per tick and per span held.

A report is made from these alone.  Nothing vanishes: rejected and unfinished requests have rows,
and idle time has ticks that ran nothing.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: The shares of the pool, in the order in which they are drawn and printed.
SHARES = ("written", "future", "unused", "padding", "stranded", "idle")


class RequestRow(NamedTuple):
    """One request.  Undefined values are None: a rejected request was never admitted."""

    request_id: int
    status: str  # completed | rejected | cancelled | unfinished | outside (the window)
    reason: str
    arrival_s: float
    prompt_tokens: int
    output_tokens: int  # as served: less than asked for when truncated
    truncated_tokens: int
    generated_tokens: int
    stored_tokens: int  # when it ended: P + O - 1 if completed
    reserved_cells: int
    preemptions: int
    scheduled_tokens: int  # of all its forward passes, recomputation included
    admitted_s: float | None
    first_token_s: float | None
    finished_s: float | None
    admitted_tick: int | None
    first_token_tick: int | None
    finished_tick: int | None


class TickRow(NamedTuple):
    """One tick, holding over [t_s, t_s + dt_s); cells are integers and sum to the capacity."""

    t_s: float
    dt_s: float
    written: int
    future: int
    unused: int
    padding: int
    stranded: int
    idle: int
    running: int
    waiting: int
    prefill_tokens: int
    decode_tokens: int
    moved_bytes: int
    flop: int
    stored_tokens: int  # of running requests; equals written where there is one KV group
    scheduled: int  # requests that had work
    admitted: int
    preempted: int
    finished: int  # delivered their last token at the end of this tick
    reserved_end: int  # cells still held after those were released
    largest_free: int  # cells of the largest free span; -1 where any free cells will do
    free_spans: int  # -1 likewise


class SpanRow(NamedTuple):
    """One span held by a request over [from_s, to_s): the memory map."""

    request_id: int
    start: int
    stop: int
    from_s: float
    to_s: float


@dataclass
class Facts:
    """What the run knew beforehand and cannot be read off its rows."""

    name: str
    policy: str
    scheduler: str
    model: str
    gpu: str
    executed_model: str | None
    clock: str
    max_model_len: int
    max_num_seqs: int
    capacity_cells: int
    bytes_per_token: int
    ceiling: int
    ceiling_reason: str
    bandwidth_bytes_per_s: float
    peak_flop_per_s: float
    weights_bytes: int
    block_cells: int = 1
    copied_tokens: int = 0
    double_residency_peak_cells: int = 0
    explanations: list[str] = field(default_factory=list)
    workload: dict[str, Any] = field(default_factory=dict)
    decode: dict[str, Any] = field(default_factory=dict)
    counted: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    stopped_because: str = ""
    #: The part of the run that counts, see `window`; empty for all of it.
    window: dict[str, Any] = field(default_factory=dict)


class _Table:
    """Rows of one kind, kept as packed chunks so that a million ticks stay small."""

    CHUNK = 8192

    def __init__(self, row_type: Any) -> None:
        self.columns: tuple[str, ...] = row_type._fields
        kinds = row_type.__annotations__
        self._types = {c: np.float64 if "float" in str(kinds[c]) else np.int64 for c in kinds}
        self.length = 0
        self._rows: list[Any] = []
        self._chunks: list[dict[str, Array]] = []

    def append(self, row: Any) -> None:
        self._rows.append(row)
        self.length += 1
        if len(self._rows) == self.CHUNK:
            self._pack()

    def arrays(self) -> dict[str, Array]:
        """Columns by name."""
        self._pack()
        return {c: np.concatenate([chunk[c] for chunk in self._chunks]) for c in self.columns}

    def _pack(self) -> None:
        columns = zip(*self._rows, strict=True) if self._rows else ([] for _ in self.columns)
        packed = {
            name: np.array(values, dtype=self._types[name])
            for name, values in zip(self.columns, columns, strict=True)
        }
        self._chunks.append(packed)
        self._rows = []


class Recorder:
    """Where the engine puts its rows while it runs."""

    def __init__(self) -> None:
        self.requests: list[RequestRow] = []
        self._ticks = _Table(TickRow)
        self._spans = _Table(SpanRow)
        self._corrections: list[tuple[int, int, int, int, int]] = []

    @property
    def tick_rows(self) -> int:
        """Ticks recorded so far."""
        return self._ticks.length

    def request(self, row: RequestRow) -> None:
        """A request has ended, one way or another."""
        self.requests.append(row)

    def tick(self, row: TickRow) -> None:
        """A tick's snapshot."""
        self._ticks.append(row)

    def span(self, row: SpanRow) -> None:
        """A span has been given back."""
        self._spans.append(row)

    def correct(self, begin: int, end: int, future: int, unused: int, padding: int) -> None:
        """Add to three shares in the tick rows ``[begin, end)``, known better now."""
        self._corrections.append((begin, end, future, unused, padding))

    def finish(self, facts: Facts) -> Records:
        """Everything recorded, in columns; requests in the order of their ids."""
        rows = sorted(self.requests, key=lambda row: row.request_id)
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(RequestRow._fields)
        kinds = RequestRow.__annotations__
        requests = {
            name: _request_column(values, str(kinds[name]))
            for name, values in zip(RequestRow._fields, columns, strict=True)
        }
        ticks = self._ticks.arrays()
        for begin, end, future, unused, padding in self._corrections:
            ticks["future"][begin:end] += future
            ticks["unused"][begin:end] += unused
            ticks["padding"][begin:end] += padding
        return Records(requests, ticks, self._spans.arrays(), facts)


def _request_column(values: Any, kind: str) -> Array:
    if "str" in kind:
        return np.array(values, dtype=object)
    if "float" in kind or "None" in kind:
        return np.array([np.nan if v is None else v for v in values], dtype=np.float64)
    return np.array(values, dtype=np.int64)


@dataclass
class Records:
    """Columns of the three tables, and the facts."""

    requests: dict[str, Array]
    ticks: dict[str, Array]
    spans: dict[str, Array]
    facts: Facts

    def save(self, folder: Path) -> None:
        """Write `requests.csv`, `spans.csv`, `ticks.npz` and `facts.json`."""
        write_csv(folder / "requests.csv", self.requests)
        write_csv(folder / "spans.csv", self.spans)
        np.savez_compressed(folder / "ticks.npz", allow_pickle=False, **self.ticks)
        text = json.dumps(asdict(self.facts), indent=1, ensure_ascii=False)
        (folder / "facts.json").write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Records:
        """Read back what `save` wrote."""
        facts = Facts(**json.loads((folder / "facts.json").read_text(encoding="utf-8")))
        with np.load(folder / "ticks.npz") as ticks:
            columns = {name: ticks[name] for name in TickRow._fields}
        requests = read_csv(folder / "requests.csv", RequestRow)
        return cls(requests, columns, read_csv(folder / "spans.csv", SpanRow), facts)


def write_csv(path: Path, columns: dict[str, Array]) -> None:
    """Columns as CSV; whole floats of nullable integer columns keep their integer form."""
    import pandas as pd

    frame = pd.DataFrame(columns)
    for name in frame.columns:
        if name.endswith("_tick"):
            frame[name] = frame[name].astype("Int64")
    frame.to_csv(path, index=False, lineterminator="\n")


def read_csv(path: Path, row_type: Any) -> dict[str, Array]:
    """The columns of one of our own CSV files, with the types of `row_type`."""
    import pandas as pd

    frame = pd.read_csv(path, keep_default_na=False, na_values={})
    kinds = row_type.__annotations__
    out: dict[str, Array] = {}
    for name in row_type._fields:
        kind = str(kinds[name])
        if "str" in kind:
            out[name] = frame[name].astype(str).to_numpy(dtype=object)
        elif "float" in kind or "None" in kind:
            out[name] = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64)
        else:
            out[name] = frame[name].to_numpy(dtype=np.int64)
    return out
