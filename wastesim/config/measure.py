"""`measure:` of an experiment: the part of simulated time that counts."""

from __future__ import annotations

from pydantic import ValidationInfo, field_validator

from wastesim.config.base import Frozen
from wastesim.config.quantities import Seconds


class Measure(Frozen):
    """Warm-up removal: what happens before `from_s` or after `until_s` is left out and counted.

    The run ends at `until_s`; without it, with its last request.
    """

    from_s: Seconds = 0.0
    until_s: Seconds | None = None

    @field_validator("until_s")
    @classmethod
    def _ends_after_it_begins(cls, value: float | None, info: ValidationInfo) -> float | None:
        begins = info.data.get("from_s")
        if value is not None and begins is not None and value <= begins:
            raise ValueError(f"must be > measure.from_s, which is {begins:g}")
        return value
