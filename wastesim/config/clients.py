"""`clients:` of an experiment: who is served first, and who does not wait to the end."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from wastesim.config.base import Frozen
from wastesim.config.quantities import Seconds


def _whole_keys(value: Any) -> Any:
    """YAML keys arrive as text."""
    if not isinstance(value, dict):
        return value
    try:
        return {int(key): share for key, share in value.items()}
    except ValueError:
        raise ValueError("must map whole numbers (priorities) to shares") from None


class Clients(Frozen):
    """Priorities (lower is served first) and impatience."""

    #: priority -> how many of the requests have it, as a weight.
    priorities: Annotated[
        dict[int, Annotated[float, Field(gt=0, allow_inf_nan=False)]], BeforeValidator(_whole_keys)
    ] = Field(default_factory=dict)
    #: Everybody gives up so long after their arrival.
    timeout_s: Annotated[Seconds, Field(gt=0)] | None = None
    #: This share of clients gives up earlier, after an exponential time of mean `cancel_after_s`.
    cancel_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    cancel_after_s: Annotated[Seconds, Field(gt=0)] = 10.0
