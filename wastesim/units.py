"""Quantities with units: read from text without guessing, printed so that they can be read back.

`80 GB` is 80e9 bytes and `80 GiB` is 80 * 2**30 (IEC 80000-13); a bare `80 G` is refused.
"""

from __future__ import annotations

import math
import re

KIB, MIB, GIB, TIB = (2**power for power in (10, 20, 30, 40))

_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BYTES = {
    **{f"{prefix}B": factor for prefix, factor in _DECIMAL.items()},
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGTP", start=1)},
}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+(?:_\d+)*)"  # 1,000,000 or 1_000_000; never 1,5
_NUMBER = rf"[+-]?(?:{_DIGITS}(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_QUANTITY = re.compile(rf"({_NUMBER})\s*([^\d\s.,_].*)?")
_DECIMAL_COMMA = re.compile(r"\d,\d{1,2}(?!\d)")
_LONGEST = 100  # characters of a quantity


def _parse(text: str, units: dict[str, float] | dict[str, int], what: str, example: str) -> float:
    match = _QUANTITY.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if match is None:
        comma = "; a decimal point is written '.'" if _DECIMAL_COMMA.search(text) else ""
        raise ValueError(f"must be a number and a unit such as '{example}'{comma}")
    number, unit = match.group(1).replace(",", "").replace("_", ""), match.group(2) or ""
    if unit not in units:
        known = ", ".join(name for name in units if name)
        hint = _case_hint(unit, list(units))
        raise ValueError(f"must be {what} with one of the units {known}{hint}")
    factor = units[unit]
    if isinstance(factor, int) and number.lstrip("+-").isdigit():
        return int(number) * factor
    value = float(number) * factor
    if not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


def _case_hint(unit: str, known: list[str]) -> str:
    alike = [name for name in known if name.lower() == unit.lower()]
    if alike:
        return f", did you mean '{alike[0]}'?"
    if unit in ("K", "M", "G", "T", "k"):
        upper = unit.upper()
        return f"; '{unit}' alone is unclear: {unit}B is decimal, {upper}iB is 1024-based"
    return ""


def parse_bytes(text: str) -> int:
    """Bytes of `80 GB` (80e9) or `80 GiB` (80 * 2**30); ValueError for anything unclear."""
    return round(_parse(text, _BYTES, "a size", "80 GiB"))


def parse_bandwidth(text: str) -> float:
    """Bytes per second of `3.3 TB/s`; ValueError for anything unclear."""
    units = {f"{name}/s": factor for name, factor in _BYTES.items()}
    return float(_parse(text, units, "a bandwidth", "3.3 TB/s"))


def parse_flops(text: str) -> float:
    """Floating-point operations per second of `1000 TFLOP/s`; ValueError otherwise."""
    units = {f"{prefix}FLOP/s": factor for prefix, factor in _DECIMAL.items()}
    units |= {f"{prefix}FLOPS": factor for prefix, factor in _DECIMAL.items() if prefix}
    return float(_parse(text, units, "an arithmetic rate", "1000 TFLOP/s"))


def parse_seconds(text: str) -> float:
    """Seconds of `20 ms`; ValueError for anything unclear."""
    return float(_parse(text, _SECONDS, "a duration", "20 ms"))


def parse_tokens(text: str) -> int:
    """Tokens of `8192`, `8k` (8,000) or `8Ki` (8,192); ValueError for fractions of a token."""
    units = {"": 1, "k": 10**3, "M": 10**6, "Ki": KIB, "Mi": MIB}
    value = _parse(text, units, "a number of tokens", "8Ki")
    if value != round(value):
        raise ValueError("must be a whole number of tokens")
    return round(value)


def format_bytes(value: float) -> str:
    """`16.00 GiB`, `339.0 KiB`, `512 B`: binary units, as memory is sold to programs."""
    for size, unit in ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if abs(value) >= size:
            return f"{value / size:,.2f} {unit}"
    return f"{value:,.0f} B"


def format_count(value: float) -> str:
    """`155,987`: whole numbers with separators, others with two decimals."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def format_digits(value: float, digits: int) -> str:
    """So many significant digits, and whole numbers whole: `0.031`, `99`, `1,235`; no `1e+02`."""
    text = f"{value:.{digits}g}"
    return f"{value:,.0f}" if "e+" in text else text


def format_percent(share: float | None) -> str:
    """`24.3 %`; an undefined share is printed as a dash, never as zero."""
    return "–" if share is None or math.isnan(share) else f"{100 * share:.1f} %"


def format_seconds(value: float | None) -> str:
    """`1.25 s`, `24.1 ms`, `310 µs`; an undefined time is printed as a dash."""
    if value is None or math.isnan(value):
        return "–"
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(value) >= size:
            return f"{format_digits(value / size, 3)} {unit}"
    return f"{value:.3g} s"
