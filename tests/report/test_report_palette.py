"""Colours can be read and told apart, in both schemes."""

from __future__ import annotations

import pytest

from wastesim.records import SHARES
from wastesim.report.palette import (
    ON_SHARE,
    SHARE_TONES,
    TONES,
    contrast,
    dark_rules,
    luminance,
    variables,
)

SCHEMES = ("light", "dark")
AA = 4.5


def colour(name: str, scheme: str) -> str:
    return str(getattr(TONES[name], scheme))


def test_contrast_is_the_formula_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=1e-3)
    assert luminance("#ff0000") == pytest.approx(0.2126)


def test_every_share_has_a_colour() -> None:
    assert tuple(SHARE_TONES) == SHARES
    assert set(ON_SHARE) == set(SHARES)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("ground", ["surface", "raised"])
@pytest.mark.parametrize("text", ["ink", "muted", "written", "unused"])
def test_text_upon_the_page_passes_aa(text: str, ground: str, scheme: str) -> None:
    assert contrast(colour(text, scheme), colour(ground, scheme)) >= AA


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("share", SHARES)
def test_a_label_upon_its_share_passes_aa(share: str, scheme: str) -> None:
    assert contrast(colour(ON_SHARE[share], scheme), colour(share, scheme)) >= AA


@pytest.mark.parametrize("scheme", SCHEMES)
def test_written_stands_out_from_what_is_next_to_it(scheme: str) -> None:
    for other in ("future", "surface"):
        assert contrast(colour("written", scheme), colour(other, scheme)) >= 2.5


def test_every_light_colour_is_used_once_and_has_a_dark_rule() -> None:
    literals = [tone.light for tone in TONES.values()]
    assert len(set(literals)) == len(literals)
    rules = dark_rules()
    assert all(rules.count(literal) == 2 for literal in literals)  # fill and stroke


def test_variables_name_every_tone() -> None:
    assert variables("dark").count("--") == len(TONES)
