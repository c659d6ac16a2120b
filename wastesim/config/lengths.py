"""`lengths:` of a workload: how many tokens prompts and outputs have.

A length is drawn from a *distribution* of its own (`{prompt: ..., output: ...}`), from a *joint*
table that keeps what prompts and outputs have to do with each other, or *resampled* in pairs
from the rows of a trace; a *mixture* draws each request from one of several of these.  Text
instead of a mapping names a workload that comes with wastesim, a workload file (`.yaml`), or a
trace to resample.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from wastesim.config.base import Frozen
from wastesim.config.distributions import Distribution, Positive
from wastesim.config.quantities import Count, Tokens


class Marginals(Frozen):
    """Prompts and outputs from a distribution each.

    They are independent unless `spearman` ties their ranks together (by a Gaussian copula).
    Pairs with more than `max_total` tokens are drawn again, and counted.
    """

    kind: Literal["marginals"] = "marginals"
    prompt: Distribution
    output: Distribution
    spearman: Annotated[float, Field(ge=-1, le=1)] | None = None
    max_total: Tokens | None = None


class Joint(Frozen):
    """Pairs from a table of quantiles, made by `wastesim.workload.tables` (see there)."""

    kind: Literal["joint"] = "joint"
    table: str
    #: No pair has more tokens than this; outputs of the table are then shares of the room left.
    max_total: Tokens | None = None


class TraceColumns(Frozen):
    """Names of a trace's columns, where wastesim would not know them by itself."""

    prompt: str | None = None
    output: str | None = None
    arrival: str | None = None


class TraceReading(Frozen):
    """How to read a trace that does not say all of it itself."""

    columns: TraceColumns | None = None
    #: Unit of a clock of plain numbers; a column's own name or tool says it otherwise.
    time_unit: Literal["s", "ms", "us", "ns"] | None = None
    #: Tokens that one of `hash_ids` stands for (512 unless said otherwise); only used to see
    #: whether they fit the length.
    hash_block_tokens: Count | None = None


class Resample(TraceReading):
    """(prompt, output) pairs of the usable rows of a trace, drawn with replacement."""

    kind: Literal["resample"] = "resample"
    file: str


class Share(Frozen):
    """One part of a mixed workload; weights are relative to their sum."""

    weight: Positive
    of: Lengths


class Mixed(Frozen):
    """Each request is from one of several workloads, chosen with the parts' weights."""

    kind: Literal["mixture"] = "mixture"
    parts: Annotated[list[Share], Field(min_length=1)]


def _kind_of_lengths(value: Any) -> str:
    if isinstance(value, str):
        return "name"
    if isinstance(value, Mapping):
        return str(value.get("kind", "marginals"))
    return str(getattr(value, "kind", "marginals"))


#: What `lengths:` may be.
Lengths = Annotated[
    Annotated[str, Tag("name")]
    | Annotated[Marginals, Tag("marginals")]
    | Annotated[Joint, Tag("joint")]
    | Annotated[Resample, Tag("resample")]
    | Annotated[Mixed, Tag("mixture")],
    Discriminator(_kind_of_lengths),
]


class Provenance(Frozen):
    """Where a workload's numbers come from, and what may be done with them."""

    source: str
    licence: str
    made: str


class WorkloadFile(Frozen):
    """A file of `workloads/`: lengths with their provenance and the facts they reproduce."""

    title: str
    lengths: Lengths
    provenance: Provenance
    #: Figures of the source, by name; units are in the names.
    facts: dict[str, float | int] = Field(default_factory=dict)
