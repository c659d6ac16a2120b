"""The summary on a terminal: the same answer first, a small table, and where the report is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wastesim.records import Records
from wastesim.report.advice import advise
from wastesim.report.answer import answer
from wastesim.report.remedy import first_change
from wastesim.report.resolved import element_bytes, read_resolved, too_long
from wastesim.report.sureness import sureness
from wastesim.report.text import count, percent, rate, seconds


def print_summary(summary: dict[str, Any], records: Records, target: Path) -> None:
    """Print the answer; in plain text when the output is not a terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    flow = not console.is_terminal  # a pipe gets whole sentences, a terminal wrapped ones
    found = answer(records, summary)
    if found.state:
        console.print(Text(found.state, style="yellow"), soft_wrap=flow)
    console.print(Text(found.headline, style="bold"), soft_wrap=flow)
    resolved = read_resolved(target)
    advice = advise(records, element_bytes(resolved), too_long(resolved))
    change = first_change(advice, summary)
    for sentence in (found.cause, found.ceiling, change):
        if sentence:
            console.print(Text(sentence), soft_wrap=flow)
    sure = sureness(summary)
    if sure.line:
        console.print(Text(sure.line, style="yellow" if sure.warnings else ""), soft_wrap=flow)
    console.print(_table(summary))
    _say_where(console, target)


def _table(summary: dict[str, Any]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(justify="right")
    for label, value in _rows(summary):
        table.add_row(label, value)
    return table


def _rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    written = summary["memory"]["written_over_reserved"]
    running, done, latency = summary["concurrency"], summary["requests"], summary["latency"]
    rate_s = summary["throughput"]["output_tokens_per_s"]
    return [
        ("written / reserved, when requests end", percent(written["at_finish"])),
        ("written / reserved, mean over steps", percent(written["step"])),
        ("written / whole pool, mean over time", _share(summary, "written")),
        ("running at once: mean, peak, ceiling", _concurrency(running)),
        _requests(done),
        ("time to first token: median, p99", _latency(latency["ttft_s"])),
        ("time per output token: median, p99", _latency(latency["tpot_s"])),
        ("output", rate(rate_s, "tokens")),
    ]


def _share(summary: dict[str, Any], name: str) -> str:
    return percent(summary["memory"]["shares_of_pool"]["time"][name])


def _concurrency(found: dict[str, Any]) -> str:
    mean = "–" if found["mean"] is None else f"{found['mean']:.1f}"
    return f"{mean}, {count(found['peak'])}, {count(found['ceiling'])}"


def _requests(found: dict[str, Any]) -> tuple[str, str]:
    """Who was cancelled is told where anybody was."""
    names = ["completed", "rejected", "unfinished"]
    if found["cancelled"]:
        names.insert(2, "cancelled")
    return f"requests: {', '.join(names)}", ", ".join(count(found[name]) for name in names)


def _latency(found: dict[str, float | None]) -> str:
    return f"{seconds(found['p50'])}, {seconds(found['p99'])}"


def _say_where(console: Any, target: Path) -> None:
    page = target / "report.html"
    place = page if page.exists() else target
    console.print(f"report: {place}", soft_wrap=True)
