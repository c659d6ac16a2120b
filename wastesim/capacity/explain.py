"""By what factor a hand formula is off, and the mistakes that make up exactly that factor.

Each mistake known from public bug reports is a factor; the fewest of them whose product is the
quotient of the stated value and the right one are the likely explanation.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

from wastesim.capacity.asking import option_dtype
from wastesim.capacity.printed import Printed, amount
from wastesim.catalog.kv import explain_kv, growing_bytes_per_token, kv_bytes_per_token
from wastesim.catalog.models import resolve_model
from wastesim.catalog.stored import bytes_per_element
from wastesim.config.hardware import ModelGeometry
from wastesim.errors import ConfigError

_MOST_MISTAKES = 3
_MOST_SHOWN = 3
_ROUNDING = 2e-3


@dataclass(frozen=True, slots=True)
class Mistake:
    """What was done wrong, the factor that it brings, and how seldom it is (1 = commonest)."""

    what: str
    factor: float
    rarity: int = 2


@dataclass(frozen=True)
class Explanation:
    """A stated value beside the right one, and the likeliest sets of mistakes."""

    stated: float
    right: int
    likely: tuple[tuple[Mistake, ...], ...]

    @property
    def factor(self) -> float:
        """Stated over right."""
        return self.stated / self.right


def explain_value(
    stated: Printed, model: ModelGeometry, dtype: str = "auto", tp: int = 1
) -> Explanation:
    """What explains `stated` bytes per token of a model.

    No mistake at all when it is right to within the printed digits.
    """
    right = kv_bytes_per_token(model, dtype, tp)
    tolerance = max(stated.half / stated.value, _last_digit(stated), _ROUNDING)
    factor = stated.value / right
    known = [m for m in mistakes(model, dtype) if abs(m.factor - 1) > tolerance]
    sets = [()] if abs(factor - 1) <= tolerance else list(_sets(known, factor, tolerance))
    ranked = sorted(sets, key=lambda found: (_rarity(found), _distance(found, factor)))
    return Explanation(stated.value, right, tuple(ranked[:_MOST_SHOWN]))


def mistakes(model: ModelGeometry, dtype: str = "auto") -> list[Mistake]:
    """All that is known to go wrong, as factors for this model."""
    return [*_head_mistakes(model), *_latent_mistakes(model), *_plain_mistakes(model, dtype)]


def explain_option(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """`--explain VALUE --model NAME`: a tree and lines."""
    if not options.model:
        raise ConfigError("'--model' must be given: a value per token is explained for a model")
    readings = _readings(options.explain)
    model, tp = resolve_model(options.model[0]), options.tensor_parallel_size
    dtype = option_dtype(options.kv_cache_dtype)
    found = min((explain_value(stated, model, dtype, tp) for stated in readings), key=_doubt)
    tree = {
        "stated_bytes_per_token": found.stated,
        "bytes_per_token": found.right,
        "factor": found.factor,
        "likely": [[{"what": m.what, "factor": m.factor} for m in some] for some in found.likely],
    }
    return tree, [*explain_lines(found), explain_kv(model, dtype, tp)]


def _readings(text: str) -> list[Printed]:
    """`1.53 MB` in decimal units and in binary ones, since labels say either."""
    try:
        readings = [amount(text, decimal=True), amount(text)]
    except ValueError as error:
        raise ConfigError(f"'--explain' {error}") from None
    if readings[0].value <= 0:
        raise ConfigError(f"'--explain' must be more than 0 bytes (got '{text}')")
    return readings


def _doubt(found: Explanation) -> float:
    """How far-fetched the likeliest explanation is."""
    return _rarity(found.likely[0]) if found.likely else float("inf")


def _last_digit(stated: Printed) -> float:
    """Half of the last digit of a whole number, relative to it: 56 may be 55.6."""
    number = float(stated.text.replace(",", "").replace("_", ""))
    return 0.5 / number if number > 0 and "." not in stated.text else 0.0


def explain_lines(found: Explanation) -> list[str]:
    """The explanation in words, likeliest first."""
    lines = [f"{found.stated:,.0f} B per token is {found.factor:.4g} times {found.right:,} B"]
    if not found.likely:
        return [*lines, "no known mistake, and no set of three, makes that factor"]
    if found.likely[0] == ():
        return [f"{found.stated:,.0f} B per token is right, to within its digits"]
    for some in found.likely:
        steps = " and ".join(f"{mistake.what} (x {mistake.factor:.4g})" for mistake in some)
        lines.append(f"likely: {steps}")
    return lines


def _head_mistakes(model: ModelGeometry) -> Iterator[Mistake]:
    if model.latent_dim is not None:
        return
    yield Mistake("query heads instead of KV heads", model.q_heads / model.kv_heads, 1)
    guessed = model.hidden / model.q_heads
    yield Mistake("head size taken as hidden / heads", guessed / model.head_dim, 1)
    yield Mistake("a factor of heads too much", model.q_heads, 5)
    whole = growing_bytes_per_token(model) / kv_bytes_per_token(model)
    if 0 < whole < 1:
        yield Mistake("window layers left out", whole, 1)
        growing = model.layers - model.window_layers
        yield Mistake("only layers without a window", growing / model.layers, 1)
    for multiple in (64, 128, 256):
        padded = -(-model.head_dim // multiple) * multiple
        yield Mistake(f"heads padded to {multiple}", padded / model.head_dim, 2)


def _latent_mistakes(model: ModelGeometry) -> Iterator[Mistake]:
    latent, rope = model.latent_dim, model.latent_rope_dim
    if latent is None:
        return
    yield Mistake(
        "the latent counted for K and for V, without positions", 2 * (latent - rope) / latent, 1
    )
    yield Mistake("the latent counted twice, for K and for V", 2.0, 1)
    yield Mistake("positions left out of the latent", (latent - rope) / latent, 1)
    values = model.v_head_dim or model.head_dim
    expanded = model.q_heads * (model.head_dim + rope + values)
    yield Mistake("keys and values of every head instead of the latent", expanded / latent, 1)


def _plain_mistakes(model: ModelGeometry, dtype: str) -> Iterator[Mistake]:
    """Types, layers, ranks and units."""
    size = bytes_per_element(dtype)
    for bits in (4, 8, 16):
        yield Mistake(f"{bits} bits taken as {bits} bytes per element", bits / size, 2)
    for name, bytes_ in (("float32", 4.0), ("8-bit", 1.0), ("4-bit", 0.5), ("16-bit", 2.0)):
        yield Mistake(f"{name} elements", bytes_ / size, 2)
    yield Mistake("K or V alone", 0.5, 1)
    yield Mistake("K and V counted twice", 2.0, 2)
    yield Mistake("one layer only", 1 / model.layers, 2)
    if model.vocab and model.max_model_len:
        yield Mistake(
            "the vocabulary in place of the context", model.vocab / model.max_model_len, 3
        )
    for ranks in (2, 4, 8):
        yield Mistake(f"one rank of {ranks}", 1 / ranks, 3)
    for name, factor in (("kB", 1e3), ("KiB", 1024.0), ("MB", 1e6), ("MiB", 1024.0**2)):
        yield Mistake(f"{name} read as bytes", 1 / factor, 2)
        yield Mistake(f"bytes read as {name}", factor, 3)
    for name, factor in (("kB", 1.024), ("MB", 1.024**2), ("GB", 1.024**3)):
        yield Mistake(f"decimal {name} where binary is meant", factor, 3)
        yield Mistake(f"binary units labelled {name}", 1 / factor, 1)
    yield Mistake("a safety factor of 5 %", 1.05, 3)


def _rarity(found: tuple[Mistake, ...]) -> int:
    """The sum of rarities, and one for every mistake beyond the first."""
    return sum(mistake.rarity for mistake in found) + max(0, len(found) - 1)


def _distance(found: tuple[Mistake, ...], factor: float) -> float:
    """How far the mistakes' product is from the factor, relatively."""
    return abs(prod(mistake.factor for mistake in found) / factor - 1)


def _sets(known: list[Mistake], factor: float, tolerance: float) -> Iterator[tuple[Mistake, ...]]:
    """Sets of at most three mistakes whose product is the factor, none of them idle."""
    for size in range(1, _MOST_MISTAKES + 1):
        found = [
            some
            for some in combinations(known, size)
            if abs(prod(mistake.factor for mistake in some) / factor - 1) <= tolerance
        ]
        yield from found
        if found and size > 1:  # a single mistake may be a coincidence: pairs are shown too
            return
