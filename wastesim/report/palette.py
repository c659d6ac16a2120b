"""One colour per share, the same in every figure, page and table, light and dark.

Hues are apart for the common colour-vision deficiencies (blue, vermilion, amber, purple, grey),
and neighbours in the stack differ in lightness too.  Every light colour is used once, so that a
figure drawn in light colours turns dark by a style sheet alone: see `dark_rules`.
"""

from __future__ import annotations

from typing import NamedTuple


class Tone(NamedTuple):
    """One colour in both schemes."""

    light: str
    dark: str


#: The shares of the pool; what was useful is blue, what was lost is warm, what was free is cold.
SHARE_TONES: dict[str, Tone] = {
    "written": Tone("#0b62a8", "#5aa9f0"),
    "future": Tone("#86bce8", "#2f6296"),
    "unused": Tone("#c24506", "#f0703a"),
    "padding": Tone("#f0a830", "#d9961f"),
    "stranded": Tone("#8f4a99", "#bd86c7"),
    "idle": Tone("#ccd1d8", "#474e58"),
}
#: Everything that is not a share.  `on_*` is text upon a share's colour, see `ON_SHARE`.
OTHER_TONES: dict[str, Tone] = {
    "surface": Tone("#fdfdfc", "#15181c"),
    "raised": Tone("#f3f4f2", "#1e2227"),
    "ink": Tone("#1b1f24", "#eceff3"),
    "muted": Tone("#565e69", "#a9b2be"),
    "rule": Tone("#dadee3", "#353b43"),
    "on_strong": Tone("#ffffff", "#0b0d10"),
    "on_soft": Tone("#16191d", "#f4f6f8"),
    "on_amber": Tone("#17191d", "#0c0d10"),
}
TONES: dict[str, Tone] = {**SHARE_TONES, **OTHER_TONES}
ON_SHARE: dict[str, str] = {
    "written": "on_strong",
    "future": "on_soft",
    "unused": "on_strong",
    "padding": "on_amber",
    "stranded": "on_strong",
    "idle": "on_soft",
}


def light(name: str) -> str:
    """The colour that figures are drawn in."""
    return TONES[name].light


def on_share(name: str) -> str:
    """The colour of text upon a share's area."""
    return light(ON_SHARE[name])


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb`, as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """WCAG's contrast ratio, 1 to 21; text needs 4.5 (AA)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def variables(scheme: str) -> str:
    """The palette as CSS custom properties: `--written: #0b62a8; ...`."""
    return " ".join(
        f"--{name.replace('_', '-')}: {getattr(t, scheme)};" for name, t in TONES.items()
    )


def dark_rules() -> str:
    """CSS that turns a figure drawn in light colours dark, wherever the light literal stands."""
    return "\n".join(
        f'[style*="{prop}: {tone.light}"]{{{prop}:{tone.dark}!important}}'
        for tone in TONES.values()
        for prop in ("fill", "stroke")
    )
