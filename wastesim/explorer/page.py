"""One HTML file: template, style, scripts and data put together, nothing fetched."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from wastesim.explorer.facts import catalog_tree
from wastesim.explorer.mechanism import mechanism_tree
from wastesim.explorer.questions import questions
from wastesim.explorer.recorded import headline, recorded
from wastesim.records import SHARES
from wastesim.report.comparison_parts import Part
from wastesim.report.palette import variables

NAME = "explorer.html"
STYLES = ("page.css", "panels.css")
#: In the order in which they build on each other.
SCRIPTS = (
    "core.js",
    "bill.js",
    "bill_panel.js",
    "bill_table.js",
    "work.js",
    "mechanism.js",
    "runs.js",
    "raster.js",
    "map.js",
    "curve.js",
    "pool.js",
    "pool_controls.js",
    "quiz.js",
    "main.js",
)


def write_explorer(parts: Sequence[Part], folder: Path, *, report: str = "") -> Path:
    """Write `explorer.html`, filled with these runs; `report` is where it links back to."""
    target = folder / NAME
    target.write_text(explorer_page(parts, report=report), encoding="utf-8")
    return target


def explorer_page(parts: Sequence[Part], *, report: str = "") -> str:
    """The page as text."""
    runs, blobs = recorded(parts)
    data = {
        "catalog": catalog_tree(),
        "mechanism": mechanism_tree(),
        "recorded": runs,
        "questions": questions(parts),
        "shares": list(SHARES),
        "headline": headline(parts),
        "report": report,
    }
    holes = {
        "/*light*/": variables("light"),
        "/*dark*/": variables("dark"),
        "/*styles*/": _joined(STYLES),
        "<!--data-->": _script("application/json", "data", _json(data)),
        "<!--runs-->": "\n".join(
            _script("application/octet-stream", f"run-{at}", blob.data)
            for at, blob in enumerate(blobs)
        ),
        "/*scripts*/": _joined(SCRIPTS),
    }
    page = _asset("explorer.html")
    for hole, filling in holes.items():
        page = page.replace(hole, filling)
    return page


def _json(data: dict[str, Any]) -> str:
    """No NaN, and nothing that could end the element it stands in."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace(
        "</", "<\\/"
    )


def _script(kind: str, name: str, text: str) -> str:
    return f'<script type="{kind}" id="{name}">{text}</script>'


def _joined(names: Sequence[str]) -> str:
    return "\n".join(_asset(name) for name in names)


def _asset(name: str) -> str:
    return (files("wastesim.explorer") / "assets" / name).read_text(encoding="utf-8")
