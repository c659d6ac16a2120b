"""HTML and Markdown of a comparison, in the style of a run's report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wastesim.report.comparison_content import Content
from wastesim.report.pages import environment, style_sheet
from wastesim.report.palette import SHARE_TONES

if TYPE_CHECKING:
    from wastesim.report.figures import Drawn


def html_page(
    content: Content, pictures: Sequence[Drawn], warnings: Sequence[str], *, explorer: bool = False
) -> str:
    """One offline file: style, pictures and words inline; `explorer` links the page beside it."""
    template = environment(escape=True).get_template("comparison.html")
    return template.render(
        page=content,
        pictures=pictures,
        warnings=warnings,
        sheet=style_sheet(),
        shares=list(SHARE_TONES),
        explorer=explorer,
    )


def markdown_page(content: Content, pictures: Sequence[Drawn], warnings: Sequence[str]) -> str:
    """The same words for a code host, with figures by relative path."""
    template = environment(escape=False).get_template("comparison.md")
    return template.render(page=content, pictures=pictures, warnings=warnings)
