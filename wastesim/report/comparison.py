"""The report of a comparison: one answer, one table, one main figure, then a map per variant.

Made from the variants' records and summaries, as a run's report is made from its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wastesim.report.comparison_content import gather
from wastesim.report.comparison_parts import Part


def write_comparison(
    parts: Sequence[Part],
    folder: Path,
    *,
    missing: Sequence[str],
    resolved: str,
    provenance: dict[str, Any],
    figures: bool,
) -> list[str]:
    """Write `report.html`, `report.md` and `figures/`; returns what could not be drawn."""
    from wastesim.report.comparison_pages import html_page, markdown_page
    from wastesim.report.figures.comparison import draw_comparison

    content = gather(parts, missing, resolved, provenance)
    drawn = draw_comparison(parts, resolved, folder / "figures") if figures else ([], [])
    pictures, warnings = drawn
    explorer = (folder / "explorer.html").exists()
    for name, text in (
        ("report.html", html_page(content, pictures, warnings, explorer=explorer)),
        ("report.md", markdown_page(content, pictures, warnings)),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    return warnings
