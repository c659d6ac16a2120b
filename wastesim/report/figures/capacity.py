"""Memory against concurrency: what is stacked on a card, and where it no longer fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wastesim.report.figures.canvas import Picture, few_ticks, plain_numbers
from wastesim.report.palette import light
from wastesim.units import GIB

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BEYOND = 1.35


@dataclass(frozen=True)
class Bars:
    """Bytes on one card: fixed parts, and a part per request of `context` tokens."""

    model: str
    context: int
    card_bytes: int
    weights_bytes: int
    overhead_bytes: int
    kv_bytes: int
    request_bytes: int
    most: int
    asked: int

    @property
    def limit_bytes(self) -> int:
        """What weights, overhead and cache may take together: where the red begins."""
        return self.weights_bytes + self.overhead_bytes + self.kv_bytes

    @property
    def limit(self) -> str:
        """`usable 71.68 GiB = 0.9 of the card`."""
        share = self.limit_bytes / self.card_bytes
        return f"usable {self.limit_bytes / GIB:,.2f} GiB = {share:.3g} of the card"

    @property
    def shown(self) -> int:
        """Requests on the axis: beyond what fits, and beyond what was asked about."""
        return max(4, round(_BEYOND * self.most), round(1.1 * self.asked))


def pictures(answer: dict[str, Any]) -> list[Picture]:
    """The picture of an answer, from its numbers alone; requests are those of one replica."""
    memory = answer["memory"]
    bars = Bars(
        model=answer["model"],
        context=answer["context"],
        card_bytes=memory["card_bytes"],
        weights_bytes=memory["weights_bytes"],
        overhead_bytes=memory["overhead_bytes"],
        kv_bytes=memory["kv_bytes"],
        request_bytes=answer["request"]["bytes"],
        most=answer["capacity"]["requests_of_context"] // answer["ranks"]["data"],
        asked=answer["concurrency"],
    )
    return [capacity_picture(bars)]


def capacity_picture(bars: Bars) -> Picture:
    """The picture; its title says the answer."""
    title = (
        f"{bars.model}: {bars.most:,} requests of {bars.context:,} tokens fit on"
        f" {bars.card_bytes / GIB:,.2f} GiB"
    )
    caption = (
        f"Weights ({bars.weights_bytes / GIB:,.2f} GiB) and overhead are there whatever runs; each"
        f" request adds {bars.request_bytes / GIB:,.3f} GiB of cache. Beyond {bars.most:,} requests"
        " the cache is drawn in red: it would pass the dotted line, which is what may be used"
        f" ({bars.limit})."
    )
    return Picture("capacity", title, caption, lambda figure, narrow: _draw(figure, narrow, bars))


def _draw(figure: Figure, narrow: bool, bars: Bars) -> None:
    axes = figure.subplots()
    fixed = (bars.weights_bytes + bars.overhead_bytes) / GIB
    _level(axes, 0, bars.weights_bytes / GIB, bars.shown, "future", "weights")
    _level(axes, bars.weights_bytes / GIB, fixed, bars.shown, "idle", "overhead")
    _cache(axes, bars, fixed, 0, bars.most, "written", "cache that fits")
    _cache(axes, bars, fixed, bars.most, bars.shown, "unused", "cache that does not fit")
    card = bars.card_bytes / GIB
    _line(axes, card, f"card {card:,.2f} GiB", (5, 3), above=True)
    if bars.limit_bytes != bars.card_bytes:
        _line(axes, bars.limit_bytes / GIB, bars.limit, (1, 2), above=bars.limit_bytes > card * GIB)
    if bars.asked > 1:
        axes.axvline(bars.asked, color=light("ink"), linewidth=1.0)
        axes.annotate(f"{bars.asked:,} asked", (bars.asked, 0), xytext=(4, 6),
                      textcoords="offset points")  # fmt: skip
    _frame(axes, narrow, bars)
    figure.legend(loc="outside lower left", ncols=2 if narrow else 4, frameon=False, fontsize=11)


def _line(axes: Axes, at: float, words: str, dashes: tuple[int, int], *, above: bool) -> None:
    """A limit, its words on the side where the other one is not."""
    axes.axhline(at, color=light("ink"), linewidth=1.4, linestyle=(0, dashes))
    axes.annotate(words, (0, at), xytext=(4, 4 if above else -5), textcoords="offset points",
                  xycoords=("axes fraction", "data"), va="bottom" if above else "top")  # fmt: skip


def _frame(axes: Axes, narrow: bool, bars: Bars) -> None:
    axes.set_xlim(0, bars.shown)
    axes.set_ylim(0, None)
    axes.set_xlabel(f"requests of {bars.context:,} tokens at once")
    axes.set_ylabel("memory (GiB)")
    few_ticks(axes.xaxis, 4 if narrow else 8, whole=True)
    plain_numbers(axes)


def _level(axes: Axes, low: float, high: float, shown: int, tone: str, label: str) -> None:
    axes.fill_between([0, shown], [low, low], [high, high], color=light(tone), label=label,
                      linewidth=0)  # fmt: skip


def _cache(
    axes: Axes, bars: Bars, fixed: float, start: int, stop: int, tone: str, label: str
) -> None:
    """The cache between two numbers of requests, on top of what is fixed."""
    each = bars.request_bytes / GIB
    tops = [fixed + start * each, fixed + stop * each]
    axes.fill_between([start, stop], [fixed, fixed], tops, color=light(tone), label=label,
                      linewidth=0)  # fmt: skip
