"""The page of two runs side by side: what differs, how surely, and how each settled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from wastesim.records import Records
from wastesim.report.pages import environment, style_sheet
from wastesim.report.sweep_words import difference, metric, plain
from wastesim.report.text import DASH, plural
from wastesim.statistics.twins import Difference

#: All that the page of a comparison is written as, and what stands at its foot.
OWN = {"report.html", "report.md", "figures"}
#: Kinds of numbers that a headline names.
MOST_NAMED = 4
MADE_BY = "Made by wastesim from two result folders."


class Side(NamedTuple):
    """One run.  `records` are there when it saved them."""

    name: str
    folder: Path
    summary: dict[str, Any]
    records: Records | None


class Row(NamedTuple):
    """One line of the table, in words; `cell` is the setting of a sweep."""

    cell: str
    label: str
    first: str
    second: str
    less: str
    how: str


@dataclass(frozen=True)
class Comparison:
    """Two runs and their differences; `note` says why there may be few intervals.

    Of two sweeps `cells` has the cell of each difference.
    """

    sides: tuple[Side, Side]
    found: Sequence[Difference]
    note: str
    level: float
    cells: Sequence[str] = ()

    @property
    def rows(self) -> list[Row]:
        """The differences in words."""
        cells = self.cells or [""] * len(self.found)
        return [_row(cell, one) for cell, one in zip(cells, self.found, strict=True)]

    @property
    def headline(self) -> str:
        """How many numbers differ beyond chance."""
        known = [one for one in self.found if one.found.low is not None]
        if not known:
            return f"{self.sides[0].name} and {self.sides[1].name}: no difference has an interval."
        sure = [place for place, one in enumerate(self.found) if _is_sure(one)]
        if not sure:
            return f"None of {len(known)} numbers differs beyond chance."
        verb = "differs" if len(sure) == 1 else "differ"
        where = f", in {self._cells_of(sure)}" if self.cells else ""
        names = Counter(metric(self.found[place].name).label for place in sure)
        told = [f"{name} ({n}\u00d7)" if self.cells else name for name, n in names.most_common()]
        more = f" and {len(told) - MOST_NAMED} more" if len(told) > MOST_NAMED else ""
        return (
            f"{len(sure):,} of {len(known):,} numbers {verb} beyond chance{where}:"
            f" {'; '.join(told[:MOST_NAMED])}{more}."
        )

    def _cells_of(self, places: Sequence[int]) -> str:
        some, every = {self.cells[place] for place in places}, set(self.cells)
        if len(some) == 1 and len(every) > 1:
            return f"1 of {len(every):,} cells ({next(iter(some))})"
        return f"{len(some):,} of {plural(len(every), 'cell')}"


def _is_sure(one: Difference) -> bool:
    return one.found.low is not None and not one.found.holds(0.0)


def write_comparison(compared: Comparison, folder: Path, *, figures: bool = True) -> list[str]:
    """Write `report.html`, `report.md` and `figures/`; returns what could not be drawn."""
    from wastesim.report.figures.runs_warmup import draw_warmups

    folder.mkdir(parents=True, exist_ok=True)
    known = [(side.name, side.records) for side in compared.sides if side.records is not None]
    pictures, warnings = draw_warmups(known, folder / "figures") if figures else ([], [])
    for name, escape in (("report.html", True), ("report.md", False)):
        template = environment(escape=escape).get_template(name.replace("report", "runs"))
        text = template.render(
            page=compared,
            pictures=pictures,
            warnings=warnings,
            sheet=style_sheet(),
            made_by=MADE_BY,
        )
        (folder / name).write_text(text, encoding="utf-8")
    return warnings


def print_comparison(compared: Comparison) -> None:
    """The table on a terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 200
    console.print(Text(compared.headline, style="bold"), soft_wrap=True)
    table = Table(box=box.SIMPLE, pad_edge=False)
    if compared.cells:
        table.add_column("cell")
    table.add_column("")
    for title in (*(side.name for side in compared.sides), "second - first"):
        table.add_column(title, justify="right")
    table.add_column("how")
    for row in compared.rows:
        table.add_row(*(row if compared.cells else row[1:]))
    console.print(table)
    if compared.note:
        console.print(Text(compared.note), soft_wrap=True)


def _row(cell: str, one: Difference) -> Row:
    words = metric(one.name)
    values = [DASH if v is None else plain(v * words.scale) for v in (one.first, one.second)]
    return Row(
        cell,
        f"{words.label}{words.unit}",
        values[0],
        values[1],
        difference(one.found, one.name),
        one.how,
    )
