"""One cell of a trace: a number of tokens, or the reason why it is none."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from wastesim.workload.pairs import MOST_TOKENS


def tokens_in(cell: object, decimal_comma: bool = False) -> int | str:
    """Tokens, at least 1, or the reason why the cell has none.

    `12`, `12.0` and `1.2e1` are twelve.  Reasons: `missing`, `not_a_number`, `not_whole`,
    `ambiguous` (`1.000` where a comma may be the decimal mark), `zero`, `negative`, `too_large`.
    """
    if type(cell) is int:
        return _in_range(cell)
    text = text_of(cell)
    if text is None:
        return "missing"
    if text.isascii() and text.isdigit():
        return _in_range(int(text)) if len(text) < 20 else "too_large"
    if decimal_comma and _is_ambiguous(text):
        return "ambiguous"
    return _from_decimal(decimal_of(text, decimal_comma))


def text_of(cell: object) -> str | None:
    """A cell's text without blanks around it; None when there is nothing in it."""
    if cell is None:
        return None
    text = cell.strip() if isinstance(cell, str) else str(cell)
    return text if text.lower() not in _NOTHING else None


_NOTHING = frozenset({"", "null", "none", "na", "n/a", "nan", "-"})


def decimal_of(text: str, decimal_comma: bool = False) -> Decimal | None:
    """The finite number that a text shows, exactly; None when it shows none."""
    if "_" in text:
        return None
    if decimal_comma and "." not in text:
        text = text.replace(",", ".", 1)
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() and number.adjusted() < 30 else None


def _is_ambiguous(text: str) -> bool:
    """Whether a mark with three digits after it may separate thousands."""
    marks = [place for place, char in enumerate(text) if char in ".,"]
    return bool(marks) and len(text) - marks[-1] == 4


def _from_decimal(number: Decimal | None) -> int | str:
    if number is None:
        return "not_a_number"
    return _in_range(int(number)) if number == int(number) else "not_whole"


def _in_range(value: int) -> int | str:
    if 0 < value <= MOST_TOKENS:
        return value
    return "zero" if value == 0 else "negative" if value < 0 else "too_large"
