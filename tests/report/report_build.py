"""Write a report and keep what it was made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from wastesim.records import Records
from wastesim.report import write_report
from wastesim.report.resolved import summary_of

RESOLVED = "seed: 7\nserver:\n  kv_cache_dtype: float16\n"
PROVENANCE = {
    "command": "wastesim run example.yaml",
    "seed": 7,
    "git_commit": None,
    "libraries": {"numpy": "2.4"},
}


class Built(NamedTuple):
    """A written report and what it was made from."""

    folder: Path
    records: Records
    summary: dict[str, Any]
    warnings: list[str]

    @property
    def html(self) -> str:
        return (self.folder / "report.html").read_text(encoding="utf-8")

    @property
    def markdown(self) -> str:
        return (self.folder / "report.md").read_text(encoding="utf-8")


def build(records: Records, folder: Path, *, figures: bool = False, **changes: Any) -> Built:
    """Write the report of some records."""
    words = {"resolved": RESOLVED, "provenance": PROVENANCE, **changes}
    summary = summary_of(records, words["resolved"])
    warnings = write_report(records, summary, folder, figures=figures, **words)
    return Built(folder, records, summary, warnings)
