"""Records as columns, and as files that can be read back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wastesim.json_text import json_text
from wastesim.records.corrections import FIELDS, apply
from wastesim.records.facts import Facts
from wastesim.records.files import Format, read, write
from wastesim.records.request_totals import RequestTotals
from wastesim.records.rows import Array, TickRow
from wastesim.records.spill import ROW_TYPES, suffix_of
from wastesim.records.stream import Streamed
from wastesim.records.table import Columns
from wastesim.records.tick_totals import TickTotals


class Totals(NamedTuple):
    """What every number of a summary follows from."""

    ticks: TickTotals
    requests: RequestTotals


@dataclass
class Records:
    """Columns of the three tables, and the facts.

    Of a run that was `streamed`, `requests` are a sample, `ticks` are merged (with the columns of
    `thinning`), and there are no spans; its totals are of everything.
    """

    requests: dict[str, Array]
    ticks: dict[str, Array]
    spans: dict[str, Array]
    facts: Facts
    streamed: Streamed | None = None

    @cached_property
    def totals(self) -> Totals:
        """Of all ticks and requests, whether they are kept or not."""
        if self.streamed is not None:
            return Totals(self.streamed.ticks, self.streamed.requests)
        ticks, requests, window = TickTotals(), RequestTotals(), self.facts.window
        ticks.add(self.ticks)
        requests.add(self.requests, (window["begin_s"], window["end_s"]) if window else None)
        return Totals(ticks, requests)

    @property
    def steps(self) -> Array:
        """How many ticks that ran something each row of `ticks` stands for."""
        found: Array = self.ticks.get("steps", self.ticks["running"] > 0)
        return found

    @property
    def requests_per_row(self) -> float:
        """How many requests each row of `requests` stands for."""
        return self.totals.requests.submitted / max(1, len(self.requests["status"]))

    def save(self, folder: Path, format: Format = "auto") -> None:
        """Write `requests.csv`, `spans.csv`, `ticks.npz` and `facts.json`, or as `format` says.

        Of a streamed run the files are there already, or are copied from where they are.
        """
        if self.streamed is not None:
            for path in self.streamed.files:
                if path.parent.resolve() != folder.resolve():
                    shutil.copyfile(path, folder / path.name)
        elif format == "auto":
            self._save_as("csv", folder, ("requests", "spans"))
            np.savez_compressed(folder / "ticks.npz", allow_pickle=False, **self.ticks)
        else:
            self._save_as(format, folder, ("requests", "spans", "ticks"))
        text = json_text(asdict(self.facts))
        (folder / "facts.json").write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Records:
        """Read back what `save` wrote; what is too long to keep is streamed again."""
        from wastesim.records.recorder import Recorder

        facts = Facts(**json.loads((folder / "facts.json").read_text(encoding="utf-8")))
        window = (facts.window["begin_s"], facts.window["end_s"]) if facts.window else None
        recorder = Recorder(window=window)
        for ticks in _ticks(folder):
            recorder.ticks(ticks)
        for requests in _chunks(folder, "requests"):
            recorder.requests(requests)
        for spans in _chunks(folder, "spans"):
            recorder.spans(spans)
        records = recorder.finish(facts)
        records.facts = facts  # says of itself what there was to say
        return records

    def _save_as(self, format: Format, folder: Path, tables: tuple[str, ...]) -> None:
        for name in tables:
            path = folder / f"{name}.{suffix_of(format)}"
            path.unlink(missing_ok=True)
            write(path, getattr(self, name), ROW_TYPES[name])


def _ticks(folder: Path) -> Iterator[Columns]:
    """Chunk by chunk, corrected."""
    if (folder / "ticks.npz").exists():
        with np.load(folder / "ticks.npz") as ticks:
            yield {name: ticks[name] for name in TickRow._fields}
        return
    found = [np.column_stack([rows[name] for name in FIELDS])
             for rows in _chunks(folder, "corrections")]  # fmt: skip
    corrections = np.concatenate([np.empty((0, len(FIELDS)), dtype=np.int64), *found])
    first = 0
    for ticks in _chunks(folder, "ticks"):
        corrections = apply(corrections, ticks, first)
        first += len(ticks["t_s"])
        yield ticks


def _chunks(folder: Path, table: str) -> Iterator[Columns]:
    path = folder / f"{table}.csv"
    if not path.exists():
        path = path.with_suffix(".parquet")
    if table != "corrections" or path.exists():
        yield from read(path, ROW_TYPES[table])
