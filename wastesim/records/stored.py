"""Records as columns, and as files that can be read back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wastesim.records.facts import Facts
from wastesim.records.rows import Array, RequestRow, SpanRow, TickRow


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
