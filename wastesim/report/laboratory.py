"""The report of a study without a server: the answer, pictures, tables, how to reproduce.

Made from `summary.json` alone; each study says its words and pictures in a module of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from wastesim.report.text import DASH

if TYPE_CHECKING:
    from wastesim.report.figures import Drawn


class Grid(NamedTuple):
    """A table with named columns; the first is text, the others are numbers."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    note: str = ""


@dataclass(frozen=True)
class Words:
    """What a study says, before it is set."""

    claim: str
    evidence: str
    setting: str
    paragraphs: list[str]
    grids: list[Grid]
    explanations: list[str]
    state: str = ""
    arithmetic: str = ""  # shown as it is, line by line


@dataclass(frozen=True)
class Page:
    """A report, before it is set."""

    name: str
    words: Words
    resolved: str
    command: str
    provenance: list[tuple[str, str]] = field(default_factory=list)


def write_laboratory(
    summary: dict[str, Any],
    folder: Path,
    *,
    resolved: str,
    provenance: dict[str, Any],
    figures: bool,
) -> list[str]:
    """Write `report.html`, `report.md` and `figures/`; returns what could not be drawn."""
    words, plans = _study(summary["study"])
    drawn, warnings = _draw(plans, summary, folder / "figures") if figures else ([], [])
    command = str(provenance.get("command") or "")
    page = Page(summary["name"], words(summary), resolved.rstrip(), command, _lines(provenance))
    for name in ("report.html", "report.md"):
        (folder / name).write_text(_set(name, page, drawn, warnings), encoding="utf-8")
    return warnings


def answer(summary: dict[str, Any]) -> str:
    """The one sentence that the terminal prints too."""
    words = _study(summary["study"])[0](summary)
    return f"{words.claim}: {words.evidence}."


def tokens_of(summary: dict[str, Any]) -> str:
    """`tokens of the-tide-table`; a drawn model is given drawn ones, and reads no text."""
    passage = summary["passage"]
    if passage is None:
        return "tokens drawn at random (a drawn model reads no text)"
    return f"tokens of {passage.replace(chr(92), '/').rsplit('/', 1)[-1]}"


def _study(name: str) -> Any:
    """How a study puts its words, and its pictures."""
    from wastesim.report import capacity, equivalence, quality
    from wastesim.report.figures.capacity import pictures as of_capacity
    from wastesim.report.figures.equivalence import pictures as of_equivalence
    from wastesim.report.figures.quality import pictures as of_quality

    studies = {
        "quality": (quality.words, of_quality),
        "equivalence": (equivalence.words, of_equivalence),
        "capacity": (capacity.words, of_capacity),
    }
    return studies[name]


def _draw(plans: Any, summary: dict[str, Any], folder: Path) -> tuple[list[Drawn], list[str]]:
    """Draw every picture; one that fails becomes a warning."""
    from wastesim.report.figures.render import draw

    drawn: list[Drawn] = []
    warnings: list[str] = []
    for picture in plans(summary):
        try:
            drawn.append(draw(picture, folder))
        except Exception as error:  # whatever goes wrong in a picture, the numbers are kept
            warnings.append(f"figure '{picture.name}' could not be drawn: {error!r}")
    return drawn, warnings


def _set(name: str, page: Page, pictures: Sequence[Drawn], warnings: Sequence[str]) -> str:
    from wastesim.report.pages import environment, style_sheet

    own = f"laboratory.{name.removeprefix('report.')}.jinja"
    text = (files("wastesim.report") / "templates" / own).read_text(encoding="utf-8")
    template = environment(escape=name.endswith("html")).from_string(text)
    return template.render(page=page, pictures=pictures, warnings=warnings, sheet=style_sheet())


def _lines(provenance: dict[str, Any]) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    for key, value in provenance.items():
        if key == "command":
            continue
        if isinstance(value, dict):
            value = ", ".join(f"{name} {what}" for name, what in value.items())
        lines.append((key.replace("_", " "), DASH if value is None else str(value)))
    return lines
