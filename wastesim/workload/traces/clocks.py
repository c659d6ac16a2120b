"""The clock of a trace: from a cell to whole nanoseconds, exactly.

A column holds either numbers in one unit or dates with times.  Dates have any number of digits
in their fractions (Azure's have seven, Python's own reader takes six) and may carry a zone;
without one they are taken as UTC.  Only differences are used afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from functools import lru_cache

from wastesim.workload.traces.cells import decimal_of, text_of

#: Nanoseconds of a clock cell, or the reason why it has none.
Clock = Callable[[object], int | str]

UNITS_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}

_DATE = re.compile(
    r"(\d{4})[-/](\d\d?)[-/](\d\d?)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?"
    r"\s*(Z|z|UTC|[+-]\d\d(?::?\d\d)?)?\Z"
)
_MOST_NS = 2**62


def date_clock(cell: object) -> int | str:
    """Nanoseconds since 1970 of `2023-11-16 18:15:46.6805900+00:00`; else a reason."""
    text = text_of(cell)
    if text is None:
        return "missing"
    match = _DATE.match(text)
    if match is None:
        return "not_a_time"
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    days = _days(int(year), int(month), int(day))
    if days is None or int(hour) > 23 or int(minute) > 59 or int(second) > 60:
        return "not_a_time"
    seconds = days * 86400 + int(hour) * 3600 + int(minute) * 60 + int(second) - _offset_s(zone)
    return seconds * 10**9 + int(f"{fraction or '':0<9.9}")


def number_clock(unit: str, decimal_comma: bool = False) -> Clock:
    """A clock of numbers in `unit` (s, ms, us, ns); negative times are refused."""
    factor = UNITS_NS[unit]

    def read(cell: object) -> int | str:
        text = text_of(cell)
        if text is None:
            return "missing"
        number = decimal_of(text, decimal_comma)
        if number is None:
            return "not_a_time"
        nanoseconds = round(number * factor)
        if nanoseconds < 0:
            return "negative"
        return nanoseconds if nanoseconds < _MOST_NS else "not_a_time"

    return read


def looks_like_a_date(cell: object) -> bool:
    """Whether a cell holds a date with a time."""
    return isinstance(date_clock(cell), int)


def epoch_unit(cell: object) -> str | None:
    """The unit in which a number is a time between 2001 and 2286; None when there is none.

    Seconds since 1970 have ten digits before the point, milliseconds thirteen, and so on, so a
    number of that size can be read without knowing its unit.
    """
    text = text_of(cell)
    number = None if text is None else decimal_of(text)
    if number is None:
        return None
    return {9: "s", 12: "ms", 15: "us", 18: "ns"}.get(number.adjusted()) if number > 0 else None


@lru_cache(maxsize=64)
def _days(year: int, month: int, day: int) -> int | None:
    try:
        return date(year, month, day).toordinal() - date(1970, 1, 1).toordinal()
    except ValueError:
        return None


@lru_cache(maxsize=64)
def _offset_s(zone: str | None) -> int:
    if zone is None or zone in ("Z", "z", "UTC"):
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return (1 if zone[0] == "+" else -1) * (int(digits[:2]) * 3600 + int(digits[2:]) * 60)
