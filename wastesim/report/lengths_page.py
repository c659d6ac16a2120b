"""What a workload is like, on a terminal and in a folder: words, tables, pictures and JSON.

The numbers are those of `wastesim.workload.describe`, where they are defined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from wastesim.json_text import json_text
from wastesim.report.text import DASH, count, number, percent, seconds

if TYPE_CHECKING:
    from wastesim.workload import Description, Trace
    from wastesim.workload.describe import AtLimit, Gaps
    from wastesim.workload.families import Fit

SCHEMA_VERSION = 1


class Described(NamedTuple):
    """A title, the requests themselves, and their description."""

    title: str
    trace: Trace
    description: Description

    def to_tree(self) -> dict[str, Any]:
        """What `workload.json` holds."""
        head = {"schema_version": SCHEMA_VERSION, "title": self.title}
        return {**head, **self.description.to_tree()}


def write_description(described: Described, folder: Path) -> list[str]:
    """Write `workload.json` and the pictures; returns what could not be drawn."""
    from wastesim.report.figures.lengths_workload import draw_workload

    folder.mkdir(parents=True, exist_ok=True)
    text = json_text(described.to_tree())
    (folder / "workload.json").write_text(text + "\n", encoding="utf-8")
    return draw_workload(described.description, described.trace, folder)


def print_description(described: Described, folder: Path | None) -> None:
    """Print the answer first, then tables; in plain text when the output is not a terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    flow = not console.is_terminal
    if flow:
        console.width = 160  # a pipe has no width: tables keep their columns
    found = described.description
    console.print(Text(f"{described.title}: {answer(found)}", style="bold"), soft_wrap=flow)
    for table in (_lengths(found), _limits(found.limits), _families(found)):
        console.print(table)
    for line in (*_words(found), *_left_out(found), *found.notes):
        console.print(Text(f"- {line}"), soft_wrap=flow)
    if folder is not None:
        console.print(f"pictures and JSON: {folder}", soft_wrap=True)


def answer(found: Description) -> str:
    """One sentence: what contiguous caches would waste at the least limit that most fit in."""
    limit = roomy(found.limits)
    if limit is None:
        return f"{count(found.count)} requests, none of which fits a compared max_model_len"
    return (
        f"of {count(found.count)} requests {percent(1 - limit.too_long_share)} fit max_model_len"
        f" {count(limit.max_model_len)}; contiguous caches of that size would be"
        f" {percent(limit.contiguous_step)} written (mean over steps)"
    )


def roomy(limits: Sequence[AtLimit]) -> AtLimit | None:
    """The least limit that 95 % of the requests fit in, else the one that most do."""
    fitting = [limit for limit in limits if limit.fitting]
    enough = [limit for limit in fitting if limit.too_long_share <= 0.05]
    return enough[0] if enough else fitting[-1] if fitting else None


def _table(title: str, columns: Sequence[str]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(
        title=title, title_justify="left", box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0)
    )
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place else "left")
    return table


def _lengths(found: Description) -> Any:
    sides = (found.prompt, found.output, found.total)
    table = _table("Lengths (tokens)", ("", "prompt", "output", "total"))
    table.add_row("mean", *(f"{side.mean:,.1f}" for side in sides))
    table.add_row("standard deviation", *(f"{side.std:,.1f}" for side in sides))
    table.add_row("least", *(count(side.least) for side in sides))
    for level in found.total.quantiles:
        table.add_row(level, *(count(round(side.quantiles[level])) for side in sides))
    table.add_row("most", *(count(side.most) for side in sides))
    return table


def _limits(limits: Sequence[AtLimit]) -> Any:
    columns = (
        "max_model_len", "fit", "too long", "contiguous\nby steps", "contiguous\nat end",
        "power of 2\nat end", "paged\nat end",
    )  # fmt: skip
    table = _table(
        "Written of what is reserved, by closed form (of the requests that fit)", columns
    )
    for at in limits:
        shares = (
            at.too_long_share, at.contiguous_step, at.contiguous_at_finish,
            at.power_of_two_at_finish, at.paged_at_finish,
        )  # fmt: skip
        table.add_row(count(at.max_model_len), count(at.fitting), *map(percent, shares))
    return table


def _families(found: Description) -> Any:
    columns = ("length", "family", "KS distance", "parameters")
    table = _table("Families, nearest first", columns)
    for name, fits in (("prompt", found.prompt_families), ("output", found.output_families)):
        for fit in fits:
            table.add_row(name, fit.family, f"{fit.distance:.3f}", _parameters(fit))
    return table


def _parameters(fit: Fit) -> str:
    return ", ".join(f"{name} {value:.5g}" for name, value in fit.parameters.items())


def _words(found: Description) -> Iterator[str]:
    yield (
        f"correlation of prompt and output: Pearson {_signed(found.pearson)}, Spearman"
        f" {_signed(found.spearman)}"
    )
    yield f"stored tokens of a running request, mean over steps: {found.live_tokens:,.1f}"
    if found.arrivals is None:
        yield "arrivals: none (no clock, or all at once)"
    else:
        yield from _arrivals(found.arrivals)


def _arrivals(gaps: Gaps) -> Iterator[str]:
    yield (
        f"arrivals: {number(gaps.rate_per_s)} per second over {seconds(gaps.span_s)}; gaps of"
        f" {seconds(gaps.gap_mean_s)} on average, coefficient of variation {number(gaps.gap_cv)}"
        f" (1 for Poisson), {percent(gaps.together)} with the request before"
    )
    yield (
        f"one-minute counts: index of dispersion {number(gaps.dispersion_60s)} (1 for Poisson),"
        f" busiest minute {number(gaps.busiest_minute_per_s)} per second"
    )


def _left_out(found: Description) -> Iterator[str]:
    if found.unusable:
        reasons = ", ".join(f"{reason} {rows:,}" for reason, rows in found.unusable.items())
        total = sum(found.unusable.values())
        yield f"{total:,} of {found.rows:,} rows cannot be used: {reasons}"


def _signed(value: float | None) -> str:
    return DASH if value is None else f"{value:.3f}"
