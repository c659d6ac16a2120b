"""HTML and Markdown, set from a report's content by the templates beside this file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from wastesim.report.content import Content
from wastesim.report.palette import SHARE_TONES, dark_rules, variables

if TYPE_CHECKING:
    from jinja2 import Environment

    from wastesim.report.figures import Drawn


def html_page(content: Content, pictures: Sequence[Drawn], warnings: Sequence[str]) -> str:
    """One offline file: style, pictures and words inline, nothing fetched."""
    sheet = _read("style.css").replace("/*light*/", variables("light"))
    sheet = sheet.replace("/*dark*/", variables("dark")).replace("/*figures*/", dark_rules())
    return (
        _environment(escape=True)
        .get_template("report.html")
        .render(
            page=content,
            pictures=pictures,
            warnings=warnings,
            sheet=sheet,
            shares=list(SHARE_TONES),
        )
    )


def markdown_page(content: Content, pictures: Sequence[Drawn], warnings: Sequence[str]) -> str:
    """The same words for a code host, with figures by relative path."""
    template = _environment(escape=False).get_template("report.md")
    return template.render(page=content, pictures=pictures, warnings=warnings)


@cache
def _environment(*, escape: bool) -> Environment:
    from jinja2 import DictLoader, Environment, StrictUndefined

    loader = DictLoader({name: _read(f"{name}.jinja") for name in ("report.html", "report.md")})
    made = Environment(
        loader=loader,
        autoescape=escape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["nb"] = lambda text: text.replace(" %", "\u00a0%")
    made.filters["cell"] = lambda text: str(text).replace("|", "\\|").replace("\n", " ")
    return made


def _read(name: str) -> str:
    return (files("wastesim.report") / "templates" / name).read_text(encoding="utf-8")
