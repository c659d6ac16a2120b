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


def html_page(
    content: Content, pictures: Sequence[Drawn], warnings: Sequence[str], *, explorer: bool = False
) -> str:
    """One offline file: style, pictures and words inline, nothing fetched.

    `explorer` links the page beside it in which the run can be played.
    """
    return (
        environment(escape=True)
        .get_template("report.html")
        .render(
            page=content,
            pictures=pictures,
            warnings=warnings,
            sheet=style_sheet(),
            shares=list(SHARE_TONES),
            explorer=explorer,
        )
    )


def markdown_page(content: Content, pictures: Sequence[Drawn], warnings: Sequence[str]) -> str:
    """The same words for a code host, with figures by relative path."""
    template = environment(escape=False).get_template("report.md")
    return template.render(page=content, pictures=pictures, warnings=warnings)


def style_sheet() -> str:
    """The style of every page, with the palette in it."""
    sheet = _read("style.css").replace("/*light*/", variables("light"))
    return sheet.replace("/*dark*/", variables("dark")).replace("/*figures*/", dark_rules())


@cache
def environment(*, escape: bool) -> Environment:
    """The templates beside this file."""
    from jinja2 import DictLoader, Environment, StrictUndefined

    loader = DictLoader({name: _read(f"{name}.jinja") for name in _templates()})
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


def _templates() -> list[str]:
    names = [file.name for file in (files("wastesim.report") / "templates").iterdir()]
    return sorted(name.removesuffix(".jinja") for name in names if name.endswith(".jinja"))


def _read(name: str) -> str:
    return (files("wastesim.report") / "templates" / name).read_text(encoding="utf-8")
