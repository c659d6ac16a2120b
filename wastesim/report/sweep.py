"""The report of a sweep or a search: one answer, the figures people expect, one table.

Made from cells and their numbers; each cell links to the report of its own first run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from wastesim.report.pages import environment, style_sheet
from wastesim.report.sweep_parts import Cell, Parts
from wastesim.report.sweep_words import (
    MARK,
    Metric,
    basis,
    cell_number,
    difference,
    headline,
    key,
    load,
    metric,
)
from wastesim.report.sweep_words import value as said
from wastesim.report.text import DASH


class Line(NamedTuple):
    """A cell's row of the table; `less` are differences with the first cell."""

    values: list[str]
    runs: int
    mark: str
    numbers: list[str]
    less: list[str]
    link: str
    errors: Sequence[str]


@dataclass(frozen=True)
class Content:
    """A sweep's report, before it is set."""

    parts: Parts
    headline: str
    keys: list[str]
    metrics: list[Metric]
    lines: list[Line]
    basis: str
    load: str
    command: str
    resolved: str
    provenance: list[tuple[str, str]]


def write_report(
    parts: Parts, folder: Path, resolved: str, provenance: dict[str, Any], *, figures: bool
) -> list[str]:
    """Write `report.html`, `report.md` and `figures/`; returns what could not be drawn."""
    from wastesim.report.figures.sweep import draw_sweep

    content = gather(parts, resolved, provenance)
    pictures, warnings = draw_sweep(parts, folder / "figures") if figures else ([], [])
    for name, escape in (("report.html", True), ("report.md", False)):
        template = environment(escape=escape).get_template(name.replace("report", "sweep"))
        text = template.render(
            page=content, pictures=pictures, warnings=warnings, sheet=style_sheet()
        )
        (folder / name).write_text(text, encoding="utf-8")
    return warnings


def gather(parts: Parts, resolved: str, provenance: dict[str, Any]) -> Content:
    """Everything the report says."""
    return Content(
        parts=parts,
        headline=headline(parts),
        keys=[key(name) for name in parts.keys],
        metrics=[metric(name) for name in parts.metrics],
        lines=[line(cell, parts) for cell in parts.cells],
        basis=basis(parts),
        load=load(parts),
        command=str(provenance.get("command") or ""),
        resolved=resolved.rstrip("\n"),
        provenance=[
            (name.replace("_", " "), _flat(what))
            for name, what in provenance.items()
            if name not in ("command", "interrupted")
        ],
    )


def line(cell: Cell, parts: Parts) -> Line:
    """One row."""
    return Line(
        values=[said(cell.values[name]) if name in cell.values else DASH for name in parts.keys],
        runs=cell.runs,
        mark=_mark(cell),
        numbers=[cell_number(cell, name) for name in parts.metrics],
        less=[difference(cell.less.get(name), name) for name in parts.metrics],
        link=cell.link,
        errors=list(cell.errors),
    )


def _mark(cell: Cell) -> str:
    """Beside the number of runs: the mark, and how many have it where not all do."""
    if not cell.saturated:
        return ""
    return MARK if cell.saturated == cell.runs else f"({cell.saturated} {MARK})"


#: Columns of numbers on a terminal; the page has all, with intervals.
MOST_COLUMNS = 4


def print_sweep(parts: Parts, folder: Path) -> None:
    """The answer and a small table on a terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    flow = not console.is_terminal
    if not console.is_terminal:
        console.width = 200  # a pipe has no width: nothing is cut
    if parts.state:
        console.print(Text(parts.state, style="yellow"), soft_wrap=flow)
    console.print(Text(headline(parts), style="bold"), soft_wrap=flow)
    console.print(_table(parts))
    if load(parts):
        console.print(Text(load(parts), style="yellow"), soft_wrap=flow)
    console.print(f"report: {folder / 'report.html'}", soft_wrap=True)


def _table(parts: Parts) -> Any:
    from rich import box
    from rich.table import Table

    shown = [metric(name) for name in parts.metrics[:MOST_COLUMNS]]
    table = Table(box=box.SIMPLE, pad_edge=False)
    for name in parts.keys:
        table.add_column(key(name))
    for one in shown:
        table.add_column(f"{one.label}{one.unit}", justify="right")
    for cell in parts.cells:
        told = [cell_number(cell, one.name) for one in shown]
        table.add_row(*line(cell, parts).values, *(told if cell.runs else ["–"]))
    return table


def _flat(what: Any) -> str:
    if isinstance(what, dict):
        return ", ".join(f"{name} {text}" for name, text in what.items())
    return str(what)
