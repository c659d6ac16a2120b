"""Numbers as logs print them: `3.81GiB` is anything that rounds to 3.81."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wastesim.units import GIB, KIB, MIB, TIB

#: Units as engines mean them: their `GB` and `MB` are binary more often than not.
BINARY = {"B": 1, "K": KIB, "M": MIB, "G": GIB, "T": TIB}
_DECIMAL = {"B": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_AMOUNT = re.compile(r"([0-9][0-9,_]*(?:\.[0-9]+)?)\s*(bytes|[KMGT]?i?B)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Printed:
    """A number, and the half unit of its last printed digit: it lies within `value` +- `half`."""

    value: float
    half: float
    text: str

    @classmethod
    def read(cls, text: str, unit: float = 1.0) -> Printed:
        """`290,864` or `3.81`, times a unit; ValueError when it is no number."""
        plain = text.strip().replace(",", "").replace("_", "")
        decimals = len(plain.partition(".")[2])
        half = 0.5 * 10.0**-decimals if decimals else 0.0
        return cls(float(plain) * unit, half * unit, text.strip())

    @property
    def low(self) -> float:
        """The least that is printed so."""
        return self.value - self.half

    @property
    def high(self) -> float:
        """The most that is printed so."""
        return self.value + self.half

    def allows(self, value: float, slack: float = 0.0) -> bool:
        """Whether `value`, give or take `slack`, would be printed so."""
        return self.low - slack <= value <= self.high + slack


def amount(text: str, *, decimal: bool = False) -> Printed:
    """`8.23 GB` in bytes; units without `i` are binary too unless `decimal`.  ValueError."""
    match = _AMOUNT.search(text)
    if match is None:
        raise ValueError(f"must be a number with a unit, such as '1.53 MB' (got {text!r})")
    unit = match[2] or "B"
    letter = "B" if unit.lower() in ("b", "bytes") else unit[0].upper()
    binary = "i" in unit.lower() or not decimal
    return Printed.read(match[1], (BINARY if binary else _DECIMAL)[letter])
