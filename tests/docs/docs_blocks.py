"""Fenced blocks of the README and of docs/, and the comments that mark them.

`<!-- file: NAME -->` above a block: its text is written to that file first.
`<!-- not_run: REASON -->` above a block: it is shown and not run, and the tests say so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_FENCE = re.compile(r"^```(\w*)\s*$")
_MARK = re.compile(r"^<!-- (\w+): (.+) -->$")


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: str
    line: int
    language: str
    text: str
    marks: dict[str, str]

    @property
    def where(self) -> str:
        """`docs/tutorial.md:30`."""
        return f"{self.page}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """All of them, in order."""
    found: list[Block] = []
    marks: dict[str, str] = {}
    inside: tuple[int, str] | None = None
    lines: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        fence, mark = _FENCE.match(line), _MARK.match(line)
        if inside is not None:
            if fence and not fence.group(1):
                name = page.relative_to(ROOT).as_posix()
                found.append(Block(name, *inside, "\n".join([*lines, ""]), marks))
                inside, lines, marks = None, [], {}
            else:
                lines.append(line)
        elif fence:
            inside = (number, fence.group(1))
        elif mark:
            marks = {**marks, mark.group(1): mark.group(2)}
        elif line.strip():
            marks = {}
    assert inside is None, f"{page}: the block of line {inside} has no end"
    return found
