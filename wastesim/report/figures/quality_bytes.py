"""Bytes per number against length: where exact newest tokens and windows begin to pay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wastesim.report.figures.canvas import Picture
from wastesim.report.palette import light
from wastesim.report.text import count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]
TONES = ("muted", "written", "padding", "unused", "stranded")
WORTH = ("float16", "int8", "int4_asym, groups of 32",
         "int4_asym, groups of 32, newest 128 keys and values in float32",
         "window of 256, 4 sinks")  # fmt: skip


def bytes_by_length(summary: dict[str, Any]) -> list[Picture]:
    """The picture, or nothing where no cache depends on length."""
    rows = [row for name in WORTH for row in summary["cells"] if row["cache"] == name]
    lengths = summary["lengths"]
    pays = _pays(summary, lengths)
    if len(rows) < 2 or pays is None:
        return []
    return [
        Picture(
            "bytes_by_length",
            f"The newest 128 tokens in float32 make 4 bits larger than int8 until {pays}",
            "Bytes per number of keys and values, scales and zero points included, by how many"
            " tokens are held.",
            lambda figure, narrow: _draw(figure, narrow, rows, lengths),
            height_px=360,
        )
    ]


def _pays(summary: dict[str, Any], lengths: Sequence[int]) -> str | None:
    """The length from which the mixed cache is smaller than int8."""
    rows = {row["cache"]: row["bytes_by_length"] for row in summary["cells"]}
    mixed, plain = rows.get(WORTH[3]), rows.get("int8")
    if mixed is None or plain is None:
        return None
    # bytes = a + b / n for the mixed one beyond its exact tokens: solve for the plain one's
    last, before = lengths[-1], lengths[-2]
    slope = (mixed[-2] - mixed[-1]) / (1 / before - 1 / last)
    floor = mixed[-1] - slope / last
    if slope <= 0 or floor >= plain[-1]:
        return None  # smaller from the first token on, or never
    return f"{count(round(slope / (plain[-1] - floor)))} tokens"


def _draw(figure: Figure, narrow: bool, rows: Sequence[Row], lengths: Sequence[int]) -> None:
    axes = figure.add_subplot()
    for row, name in zip(rows, TONES, strict=False):
        axes.plot(lengths, row["bytes_by_length"], color=light(name), linewidth=2)
        words = row["cache"].replace(" in float32", "").replace("keys and values", "exact")
        axes.plot([], [], color=light(name), linewidth=2, label=words)
    axes.set_xscale("log", base=2)
    ticks = [n for n in lengths if n in ((1, 16, 256, 4096) if narrow else lengths) and n != 340]
    axes.set_xticks(ticks, [count(n) for n in ticks])
    axes.minorticks_off()
    axes.set_xlim(lengths[0], lengths[-1])
    axes.set_ylim(0, 4.3)
    axes.set_xlabel("tokens held")
    axes.set_ylabel("bytes per number of K and V")
    axes.legend(frameon=False, fontsize=10, loc="upper center" if narrow else "upper left",
                bbox_to_anchor=(0.5, -0.2) if narrow else (0.01, 0.9))  # fmt: skip
