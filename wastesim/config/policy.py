"""`server.policy`: how much to claim and where to put it, or a preset's name, or a class.

The valid pairs are in `VALID`; docs/policies.md has them as a table.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from wastesim.config.base import Frozen
from wastesim.config.quantities import Count, Size, Tokens
from wastesim.units import MIB

ClaimKind = Literal[
    "max_model_len", "max_tokens", "pow2", "oracle", "predicted", "prompt", "doubling"
]
PlaceKind = Literal[
    "slots",
    "divided",
    "first_fit",
    "best_fit",
    "next_fit",
    "worst_fit",
    "buddy",
    "blocks",
    "pages",
]

_FITS = ("first_fit", "best_fit", "next_fit", "worst_fit")
_AHEAD = ("max_model_len", "max_tokens", "pow2", "oracle", "predicted")
#: place -> claims that make sense with it.
VALID: dict[str, tuple[str, ...]] = {
    "slots": ("max_model_len",),
    "divided": ("max_model_len",),
    **dict.fromkeys(_FITS, (*_AHEAD, "doubling")),
    "buddy": (*_AHEAD, "doubling"),
    "blocks": (*_AHEAD, "prompt", "doubling"),
    "pages": (*_AHEAD, "prompt", "doubling"),
}


class Policy(Frozen):
    """One allocation policy.  Cells and tokens are the same unit here."""

    name: str = "custom"
    claim: ClaimKind
    place: PlaceKind
    #: `predicted`: the share of predictions that hit the right power-of-two bucket; the others
    #: fall into the next lower or higher one, half each.
    accuracy: Annotated[float, Field(ge=0, le=1)] = 0.8
    #: `doubling`: the first buffer.
    start_tokens: Tokens = 256
    #: `buddy`: the smallest and the largest chunk; the largest is `max_model_len` if not given.
    granule_tokens: Tokens = 16
    largest_tokens: Tokens | None = None
    #: `blocks`: `server.block_size` if not given.
    block_size: Count | None = None
    #: `pages`: size of a page in the buffer of one layer's keys (or values).
    page_size: Size = 2 * MIB
    #: `divided`: slots that share the context evenly.
    n_parallel: Count = 4

    @model_validator(mode="after")
    def _pair_makes_sense(self) -> Policy:
        claims = VALID[self.place]
        if self.claim not in claims:
            raise ValueError(
                f"claim '{self.claim}' makes no sense with place '{self.place}';"
                f" it goes with {', '.join(claims)} (docs/policies.md has the table)"
            )
        return self

    @property
    def grows(self) -> bool:
        """Whether requests can outgrow what they got: that needs a rule for preemption."""
        return self.claim in ("predicted", "prompt", "doubling")


class ForeignPolicy(Frozen):
    """Somebody else's class: `package.module:ClassName`, with options of its own."""

    path: str
    options: dict[str, Any] = Field(default_factory=dict)

    @property
    def name(self) -> str:
        """The class's name."""
        return self.path.rpartition(":")[2]

    @property
    def grows(self) -> bool | None:
        """Not known before it is built: `engine.build.policy` looks then."""
        return None


def _preset(name: str, claim: ClaimKind, place: PlaceKind, **options: Any) -> Policy:
    return Policy(name=name, claim=claim, place=place, **options)


PRESETS: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        _preset("contiguous", "max_model_len", "slots"),
        _preset("orca_max", "max_model_len", "buddy"),
        _preset("orca_pow2", "pow2", "buddy"),
        _preset("orca_oracle", "oracle", "buddy"),
        _preset("paged", "prompt", "blocks"),
        _preset("token", "prompt", "blocks", block_size=1),
        _preset("vattention", "prompt", "pages"),
        _preset("realloc", "doubling", "first_fit"),
        _preset("divided", "max_model_len", "divided"),
        _preset("first_fit", "max_tokens", "first_fit"),
        _preset("best_fit", "max_tokens", "best_fit"),
        _preset("predicted", "predicted", "first_fit"),
    )
}


def _read_policy(value: Any) -> Any:
    """A preset's name becomes the preset; `module:Class` becomes a `ForeignPolicy`."""
    if not isinstance(value, str):
        return value
    if ":" in value:
        return ForeignPolicy(path=value)
    if value in PRESETS:
        return PRESETS[value]
    registered = registered_policies()
    if value in registered:
        return ForeignPolicy(path=registered[value])
    raise ValueError(
        f"must be a preset ({', '.join(PRESETS)}), a mapping with 'claim' and 'place', or"
        f" 'package.module:ClassName'{_near(value)}"
    )


def registered_policies() -> dict[str, str]:
    """Policies that installed packages offer as entry points: name -> `module:Class`."""
    return {point.name: point.value for point in entry_points(group="wastesim.policies")}


def _near(value: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(value, PRESETS, n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def _kind(value: Any) -> str:
    foreign = isinstance(value, ForeignPolicy) or (isinstance(value, dict) and "path" in value)
    return "foreign" if foreign else "own"


PolicyChoice = Annotated[
    Annotated[Policy, Tag("own")] | Annotated[ForeignPolicy, Tag("foreign")],
    Discriminator(_kind),
    BeforeValidator(_read_policy),
]
