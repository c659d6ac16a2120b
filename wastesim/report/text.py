"""Numbers as words: every value with its unit, and a dash where there is none."""

from __future__ import annotations

import math

from wastesim.units import format_bytes, format_count, format_percent, format_seconds

DASH = "–"

__all__ = ["DASH", "bytes_", "count", "number", "percent", "plural", "rate", "seconds"]


def _missing(value: float | None) -> bool:
    return value is None or not math.isfinite(value)


def percent(share: float | None) -> str:
    """`24.3 %`; a little is `<0.1 %`, never `0.0 %`."""
    if share is None or _missing(share):
        return DASH
    return "<0.1 %" if 0 < share < 0.0005 else format_percent(share)


def seconds(value: float | None) -> str:
    """`24.1 ms`, `2,114 s`."""
    if value is None or _missing(value):
        return DASH
    return f"{value:,.0f} s" if abs(value) >= 100 else format_seconds(value)


def bytes_(value: float | None) -> str:
    """`19.04 GiB`."""
    return DASH if value is None or _missing(value) else format_bytes(value)


def count(value: float | None) -> str:
    """`155,987`, or two decimals for what is not whole."""
    return DASH if value is None or _missing(value) else format_count(value)


def number(value: float | None, unit: str = "") -> str:
    """Three significant digits or a whole number: `0.83`, `12.4`, `3,568 tokens/s`."""
    if value is None or _missing(value):
        return DASH
    digits = f"{value:,.0f}" if abs(value) >= 100 or float(value).is_integer() else f"{value:.3g}"
    return f"{digits} {unit}".rstrip()


def rate(value: float | None, of: str) -> str:
    """`3,568 tokens/s`."""
    return number(value, f"{of}/s")


def plural(value: int, noun: str) -> str:
    """`1 request`, `200 requests`."""
    return f"{value:,} {noun}" + ("" if value == 1 else "s")
