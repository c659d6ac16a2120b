"""Write the pages and figures of a report into a folder.

Numbers and words come first: a picture that cannot be drawn becomes a warning, never a lost page.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wastesim.records import Records
from wastesim.report.content import gather


def write_report(
    records: Records,
    summary: dict[str, Any],
    folder: Path,
    *,
    resolved: str,
    provenance: dict[str, Any],
    figures: bool,
    timeline: bool = True,
) -> list[str]:
    """Write `report.html`, `report.md`, `figures/`; returns what was not drawn.

    `trace.json` has rows of requests and ticks: with `timeline` it is written beside the figures.
    """
    from wastesim.report.figures import draw_all
    from wastesim.report.pages import html_page, markdown_page

    content = gather(records, summary, resolved, provenance)
    pictures, warnings = draw_all(records, summary, folder / "figures") if figures else ([], [])
    if figures and timeline:
        warnings += _timeline(records, folder)
    explorer = (folder / "explorer.html").exists()
    for name, text in (
        ("report.html", html_page(content, pictures, warnings, explorer=explorer)),
        ("report.md", markdown_page(content, pictures, warnings)),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    return warnings


def _timeline(records: Records, folder: Path) -> list[str]:
    """Write `trace.json`; what went wrong, if anything."""
    from wastesim.report.timeline import write_timeline

    try:
        write_timeline(records, folder)
    except OSError:
        raise
    except Exception as error:  # whatever goes wrong in a picture, the numbers are kept
        return [f"the timeline could not be made: {type(error).__name__}: {error}"]
    return []
