"""How a sweep's numbers and values are said: names, units, intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from wastesim.report.definitions import GROUPS, Definition
from wastesim.report.sweep_parts import Cell, Parts
from wastesim.report.text import DASH, percent, plural
from wastesim.statistics import GROWING, Interval
from wastesim.units import format_digits


class Metric(NamedTuple):
    """One number: what it is called, how it is printed, and what it means."""

    name: str
    label: str
    show: Callable[[Any], str]
    meaning: str

    @property
    def scale(self) -> float:
        """What axes and tables multiply it with: shares are percent, times per token are ms."""
        if self.show is percent:
            return 100.0
        return 1000.0 if "tpot_s" in self.name else 1.0

    @property
    def unit(self) -> str:
        """What stands behind the label: ` (%)`."""
        if self.show is percent:
            return " (%)"
        endings = {"tokens_per_s": " (tokens/s)", "requests_per_s": " (requests/s)"}
        for ending, unit in endings.items():
            if self.name.endswith(ending):
                return unit
        if "tpot_s" in self.name:
            return " (ms)"
        return " (s)" if "_s." in self.name or self.name.endswith("_s") else ""


_MADE = (
    Definition("rejected_share", "rejected", percent, "requests refused on arrival / submitted"),
    Definition(
        "goodput", "goodput", percent, "requests that met every latency objective / submitted"
    ),
)


@cache
def metric(name: str) -> Metric:
    """The words for a number; one that has none goes by its key."""
    known = {line.key: line for group in GROUPS for line in group.lines}
    known |= {line.key: line for line in _MADE}
    line = known.get(name)
    if line is None:
        return Metric(name, name, _plain, "as named in summary.json")
    return Metric(name, line.label, line.show, line.meaning)


def _plain(value: Any) -> str:
    return DASH if value is None else f"{value:,.4g}"


def number(found: Interval | None, name: str) -> str:
    """`22.5 ± 4.8`, in the unit of `metric(name)`; without an interval the number alone.

    `56.7 (0 to 100)` where the interval ends at what is possible.
    """
    if found is None or found.estimate is None:
        return DASH
    scale, half = metric(name).scale, _half(found)
    if half and found.is_cut:
        ends = f"{plain((found.low or 0.0) * scale)} to {plain((found.high or 0.0) * scale)}"
        return f"{plain(found.estimate * scale)} ({ends})"
    return plain(found.estimate * scale) + (f" ± {_spread(half * scale)}" if half else "")


#: Stands beside what a saturated cell says of the length of the run rather than of the server.
MARK = "†"
_OF_LENGTH = (*GROWING, "goodput", "statistics.goodput", "concurrency.waiting_peak")


def cell_number(cell: Cell, name: str) -> str:
    """`number` of a cell, marked where more requests would give another one."""
    told = number(cell.numbers.get(name), name)
    marked = cell.saturated and told != DASH and name.startswith(_OF_LENGTH)
    return f"{told} {MARK}" if marked else told


def load(parts: Parts) -> str:
    """What the mark means, and how many cells have it; empty where none is saturated."""
    count = sum(cell.saturated > 0 for cell in parts.cells)
    if not count:
        return ""
    return (
        f"{MARK} {count:,} of {plural(len(parts.cells), 'cell')}"
        f" {'has' if count == 1 else 'have'} saturated runs: more requests come than are served,"
        " and the queue grows for as long as they come. Times to first token and end-to-end"
        " latencies there only measure how many requests were sent, however narrow their intervals"
        " are."
    )


def difference(found: Interval | None, name: str) -> str:
    """`+3.1 ± 0.2`, and whether it may be luck: where its interval has 0."""
    if found is None or found.estimate is None:
        return ""
    scale, half = metric(name).scale, _half(found)
    sign = "+" if found.estimate > 0 else "−" if found.estimate < 0 else ""
    text = f"{sign}{plain(abs(found.estimate) * scale)}"
    if not half:
        return text
    return f"{text} ± {_spread(half * scale)}{', may be luck' if found.holds(0.0) else ''}"


def plain(at: float) -> str:
    """Three digits, or whole from a hundred on."""
    return f"{at:,.0f}" if abs(at) >= 100 else f"{at:.3g}"


def _half(found: Interval) -> float:
    """Half the interval; 0 for none, or for what is only rounding."""
    half = found.half_width or 0.0
    return half if half > 1e-9 * abs(found.estimate or 0.0) else 0.0


def _spread(half: float) -> str:
    return format_digits(half, 2)


def value(given: Any) -> str:
    """A key's value as people say it: a policy by its name, a file by its own."""
    if isinstance(given, Mapping):
        return str(given.get("name") or _mapping(given))
    if isinstance(given, bool) or given is None:
        return str(given).lower()
    if isinstance(given, int):
        return f"{given:,}"
    if isinstance(given, float):
        return f"{given:,.0f}" if abs(given) >= 1e6 else f"{given:,.6g}"
    text = str(given)
    return text.rpartition("/")[2].removesuffix(".csv") if "/" in text else text


def _mapping(given: Mapping[str, Any]) -> str:
    """`fixed (step_s 0.02)`."""
    kind = given.get("kind")
    told = ", ".join(f"{name} {value(v)}" for name, v in given.items() if name != "kind")
    return f"{kind} ({told})" if kind and told else str(kind or told)


def key(name: str) -> str:
    """A key's last part."""
    return name.rpartition(".")[2]


def headline(parts: Parts) -> str:
    """A search's answer; of a sweep how far the first number goes, and where its ends are."""
    if parts.answer:
        return parts.answer
    told = [cell for cell in parts.finished if parts.metrics and _first(cell, parts) is not None]
    if not told:
        return "No cell has numbers yet."
    low = min(told, key=lambda cell: _first(cell, parts) or 0.0)
    high = max(told, key=lambda cell: _first(cell, parts) or 0.0)
    words = metric(parts.metrics[0])
    if low is high or _first(low, parts) == _first(high, parts):
        return f"{_capital(words.label)} is {words.show(_first(low, parts))} in every cell."
    ends = [f"{words.show(_first(cell, parts))} ({cell.label})" for cell in (low, high)]
    return f"{_capital(words.label)} goes from {ends[0]} to {ends[1]}."


def basis(parts: Parts) -> str:
    """What the intervals mean."""
    sure = f"{100 * parts.level:.4g} %"
    if parts.bound is not None or parts.replications > 1:
        alone = sum(cell.runs == 1 for cell in parts.cells)
        lone = f" {plural(alone, 'cell')} with one finished run: no interval." if alone else ""
        return (
            f"Intervals are {sure} Student's t over replications; replication r has the same seed"
            f" in every cell, so that differences are paired.{lone}"
        )
    if any(_half(found) for cell in parts.cells for found in cell.numbers.values()):
        return (
            f"One run per cell: intervals are {sure} batch means of what was measured of it;"
            " 'replications' gives every number one."
        )
    return (
        "One run per cell: numbers are of the whole run and have no intervals, which 'replications'"
        " gives them. A run's own report has the estimates of its steady part with theirs."
    )


def _first(cell: Cell, parts: Parts) -> float | None:
    return cell.estimate(parts.metrics[0])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
