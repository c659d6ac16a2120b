"""How the three counts of written memory agree: ledger, arrays, and the system's pages."""

from __future__ import annotations

from typing import Any

from wastesim.report.text import bytes_, count


def agreement(counted: dict[str, Any]) -> list[str]:
    """One sentence per comparison; a run without a decode says that nothing was compared."""
    ledger, arrays = counted.get("ledger"), counted.get("arrays")
    if ledger is None or arrays is None:
        return ["Decode was off: written memory is the ledger's alone, and nothing compared it."]
    return [_cells(ledger, arrays), _pages(counted.get("pages"))]


def _cells(ledger: int, arrays: int) -> str:
    verdict = (
        "they agree to the cell" if ledger == arrays else f"they differ by {ledger - arrays:+,}"
    )
    return (
        f"The ledger counted {count(ledger)} written cells at the moments of comparison, and the"
        f" arrays hold {count(arrays)} cells that are not zero: {verdict}."
    )


def _pages(pages: dict[str, Any] | None) -> str:
    if not pages or not pages.get("counts"):
        return "The operating system's pages were not counted on this machine."
    resident, ledger = pages["resident_bytes"], pages["ledger_bytes"]
    verdict = "they agree to the byte" if resident == ledger else "they differ"
    return (
        f"Over {count(pages['counts'])} counts the operating system had {bytes_(resident)}"
        f" resident, and the ledger's cells rounded up to whole pages are {bytes_(ledger)}:"
        f" {verdict} ({count(resident)} and {count(ledger)} B, summed over the counts)."
    )
