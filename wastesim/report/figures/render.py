"""From a picture to files and to inline SVG, the same bytes for the same run.

A picture is drawn three times: titled for the files, untitled for a desktop page, and narrow for
a phone.  SVG text stays text, ids are unique per drawing, and nothing refers to the network.
"""

from __future__ import annotations

import re
import textwrap
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from wastesim.report.figures.canvas import NARROW_PX, WIDE_PX, Picture, blank, style
from wastesim.report.palette import dark_rules

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PNG_DPI = 144
TITLE_LINE_PX = 19
FONTS = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"


class Drawn(NamedTuple):
    """A picture after it was drawn: its words, and its SVG for wide and narrow pages."""

    name: str
    title: str
    caption: str
    wide: str
    narrow: str


def draw(picture: Picture, folder: Path) -> Drawn:
    """Write `NAME.svg` and `NAME.png`; returns the inline drawings."""
    import matplotlib

    with matplotlib.rc_context(style()):
        titled = _titled(picture)
        _write(titled, picture, folder)
        wide = _plain(picture, WIDE_PX, picture.height_px, narrow=False)
        narrow = _plain(picture, NARROW_PX, picture.narrow_height_px, narrow=True)
    words = (picture.name, picture.title, picture.caption)
    return Drawn(*words, _inline(wide, picture, "w"), _inline(narrow, picture, "n"))


def _titled(picture: Picture) -> Figure:
    lines = textwrap.wrap(picture.title, 92)
    figure = blank(WIDE_PX, picture.height_px + TITLE_LINE_PX * len(lines))
    picture.draw(figure, False)
    figure.suptitle("\n".join(lines), x=0.012, ha="left", fontsize=14, fontweight="bold")
    return figure


def _plain(picture: Picture, width: int, height: int, *, narrow: bool) -> str:
    figure = blank(width, height)
    picture.draw(figure, narrow)
    return _svg(figure)


def _write(figure: Figure, picture: Picture, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    png = BytesIO()
    figure.savefig(png, format="png", dpi=PNG_DPI, metadata={"Software": None})
    (folder / f"{picture.name}.png").write_bytes(png.getvalue())
    sheet = f"<style>text{{font-family:{FONTS}!important}}\n"
    sheet += f"@media (prefers-color-scheme: dark){{\n{dark_rules()}\n}}</style>"
    text = _svg(figure).replace("<defs>", f"{sheet}<defs>", 1)
    (folder / f"{picture.name}.svg").write_text(text, encoding="utf-8")


def _svg(figure: Figure) -> str:
    """Matplotlib's SVG without its preamble, its metadata and the ids that nothing refers to."""
    out = StringIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(out, format="svg", dpi=72, metadata=nothing)
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.S)
    used = set(re.findall(r"(?:url\(#|xlink:href=\"#)([^\")]+)", text))
    return re.sub(r' id="([^"]+)"', lambda m: m.group(0) if m.group(1) in used else "", text)


def _inline(svg: str, picture: Picture, variant: str) -> str:
    """For use inside HTML: no namespaces, ids of its own, a name for screen readers."""
    prefix = f"{picture.name}-{variant}-"
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href", "href")
    svg = re.sub(r' id="', f' id="{prefix}', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}", svg)
    svg = re.sub(r'href="#', f'href="#{prefix}', svg)
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    box = size.group(0) if size else ""
    which = "wide" if variant == "w" else "narrow"
    label = _attribute(picture.title)
    return re.sub(
        r"<svg[^>]*>", f'<svg class="{which}" role="img" aria-label="{label}" {box}>', svg, count=1
    )


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
