"""What breaks when a window lets the first tokens go, and why: two pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wastesim.report.figures.canvas import Picture, few_ticks, plain_numbers
from wastesim.report.palette import light
from wastesim.report.quality import FULL, windows
from wastesim.report.text import count, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEANED = 16  # tokens of one stored difference
SMOOTHED = 4  # of those
A_LOSS = 0.02  # nats per token, 2 % in perplexity: a smaller difference is none to speak of


def by_position(summary: dict[str, Any]) -> list[Picture]:
    """The loss by position, for one window with and without its first tokens."""
    pair = _pair(summary)
    if pair is None:
        return []
    alone, kept = pair
    exact = alone["dtype"] == FULL
    return [
        Picture(
            "position",
            _position_title(alone, kept),
            "Negative log-likelihood minus that of the full cache, mean over"
            f" {MEANED * SMOOTHED} neighbouring tokens.{_UNTIL_FULL if exact else ''}",
            lambda figure, narrow: _draw_position(figure, narrow, alone, kept),
            height_px=330,
        )
    ]


_UNTIL_FULL = " Until the window is full there is no difference at all."


def _position_title(alone: dict[str, Any], kept: dict[str, Any]) -> str:
    lost = _after(alone) - _after(kept)
    begins = "The loss begins when" if lost >= A_LOSS else "No loss begins when"
    more = "more" if lost >= 0 else "less"
    return (
        f"{begins} the first tokens leave, at {count(alone['window'])}: {abs(lost):.2f} nats per"
        f" token {more} than with {kept['sinks']} of them kept"
    )


def _pair(summary: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The windows of one size, near 256, without and with sinks."""
    rows = [row for row in windows(summary) if row["positions"] == "original"]
    pairs = [
        (alone, kept)
        for alone in rows
        for kept in rows
        if alone["window"] == kept["window"] and kept["sinks"] and not alone["sinks"]
        and alone["dtype"] == kept["dtype"] and alone["freed_tokens"] >= MEANED
    ]  # fmt: skip
    return min(pairs, key=lambda pair: abs(pair[0]["window"] - 256), default=None)


def _after(row: dict[str, Any]) -> float:
    """Mean difference from the moment the window is full."""
    return float(np.mean(row["nll"][row["window"] // MEANED :]))


def _draw_position(
    figure: Figure, narrow: bool, alone: dict[str, Any], kept: dict[str, Any]
) -> None:
    axes = figure.add_subplot()
    ends = []
    for row, name in ((alone, "unused"), (kept, "stranded")):
        values = _smooth(row["nll"])
        at = (np.arange(len(values)) + 0.5) * MEANED * SMOOTHED
        axes.plot(at, values, color=light(name), linewidth=2)
        ends.append((values[len(values) * 2 // 3], name))
    axes.axhline(0, color=light("muted"), linewidth=1)
    axes.axvline(alone["window"], color=light("muted"), linewidth=1, linestyle=(0, (3, 3)))
    axes.set_xlabel("position in the text (tokens)")
    axes.set_ylabel("nats per token")
    axes.set_xlim(0, MEANED * len(alone["nll"]))
    few_ticks(axes.xaxis, 4 if narrow else 9)
    plain_numbers(axes)
    axes.text(0.99, 0.98, f"{count(alone['window'])} newest tokens alone", ha="right", va="top",
              transform=axes.transAxes, color=light("unused"), fontweight="bold")  # fmt: skip
    axes.text(0.99, 0.90, f"with the first {kept['sinks']} kept", ha="right", va="top",
              transform=axes.transAxes, color=light("stranded"), fontweight="bold")  # fmt: skip
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.22 * (high - low))


def _smooth(values: Sequence[float]) -> Any:
    whole = len(values) // SMOOTHED * SMOOTHED
    return np.asarray(values[:whole]).reshape(-1, SMOOTHED).mean(axis=1)


def first_tokens(summary: dict[str, Any]) -> list[Picture]:
    """Share of attention on the first tokens, by layer."""
    layers = summary["sink_mass"].get("layers")
    if not layers or len(layers) < 2:
        return []
    mass = np.asarray(layers)  # [L, 4]
    first, all_ = float(mass[:, 0].mean()), float(mass.sum(axis=1).mean())
    return [
        Picture(
            "first_tokens",
            f"The first {mass.shape[1]} tokens draw {percent(all_)} of all attention,"
            f" the very first {percent(first)}",
            "Share of attention by layer, mean over heads and over queries from the 64th token on,"
            " with the full cache. Dark: the first token. Light: the three after it.",
            lambda figure, narrow: _draw_mass(figure, narrow, mass),
            height_px=300,
        )
    ]


def _draw_mass(figure: Figure, narrow: bool, mass: Any) -> None:
    axes = figure.add_subplot()
    layers, first = np.arange(1, len(mass) + 1), 100 * mass[:, 0]
    rest = 100 * mass[:, 1:].sum(axis=1)
    axes.bar(layers, first, color=light("written"), width=0.8)
    axes.bar(layers, rest, bottom=first, color=light("future"), width=0.8)
    axes.set_xlabel("layer")
    axes.set_ylabel("share of attention (%)")
    few_ticks(axes.xaxis, 6 if narrow else 15, whole=True)
    axes.set_xlim(0.3, len(mass) + 0.7)
