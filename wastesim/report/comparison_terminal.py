"""A comparison on a terminal: the same sentence first, a table, and where the report is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wastesim.records import SHARES
from wastesim.report.comparison_answer import headline, speed, state
from wastesim.report.comparison_causes import cause
from wastesim.report.comparison_parts import Part
from wastesim.report.text import DASH, number

HELD = SHARES[:4]
HEADS = ("", *HELD, "free", "running", "tokens/s")


def print_comparison(parts: Sequence[Part], missing: Sequence[str], target: Path) -> None:
    """Print the answer and the table; plain text when the output is not a terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    flow = not console.is_terminal  # a pipe gets whole sentences, a terminal wrapped ones
    for sentence, style in (
        (state(parts, missing), "yellow"),
        (headline(parts), "bold"),
        (speed(parts), ""),
    ):
        if sentence:
            console.print(Text(sentence, style=style), soft_wrap=flow)
    console.print(_table(parts))
    console.print(Text("percent of the KV pool, mean over steps; what most waste is:", style="dim"))
    for part in parts:
        console.print(Text(f"  {part.name}: {cause(part)}"), soft_wrap=flow)
    page = target / "report.html"
    console.print(f"report: {page if page.exists() else target}", soft_wrap=True)


def _table(parts: Sequence[Part]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for head in HEADS:
        table.add_column(head, justify="right" if head else "left", no_wrap=bool(head))
    for part in parts:
        table.add_row(*_row(part))
    return table


def _row(part: Part) -> list[str]:
    held = [part.shares[name] for name in HELD]
    free = None if None in held else 1 - sum(share or 0.0 for share in held)
    return [
        part.name,
        *(DASH if share is None else f"{100 * share:.1f}" for share in (*held, free)),
        DASH if part.running is None else f"{part.running:.2f}",
        number(part.summary["throughput"]["output_tokens_per_s"]),
    ]
