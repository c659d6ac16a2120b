"""What a number can be: shares are 0 to 1, times, counts and speeds at least 0.

Student's t knows nothing of this.  An interval is cut where the possible ends: the truth is never
beyond, so it covers the truth as often as before.
"""

from __future__ import annotations

from wastesim.statistics.intervals import Interval

#: Parts of the names of numbers that are shares of something.
_SHARES = ("written_over_reserved", "shares_of_pool", "exact_anchor", "utilization", "share")
#: Numbers that can be below 0.
_SIGNED = ("queue_growth_per_s",)


def within(found: Interval, name: str) -> Interval:
    """The interval, cut to what the number of that name can be."""
    least, most = possible(name)
    low, high = found.low, found.high
    if low is None or high is None:
        return found
    return found._replace(low=min(max(low, least), most), high=max(min(high, most), least))


def possible(name: str) -> tuple[float, float]:
    """The least and the most that a number of `summary.json` can be."""
    if name.endswith(_SIGNED):
        return -float("inf"), float("inf")
    shares = name in ("goodput", "statistics.level") or any(part in name for part in _SHARES)
    return 0.0, 1.0 if shares else float("inf")
