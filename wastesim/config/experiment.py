"""One experiment: everything that a run depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from wastesim.config.base import Frozen
from wastesim.config.clients import Clients
from wastesim.config.compare import Variants, variant_tree
from wastesim.config.hardware import Gpu, ModelGeometry
from wastesim.config.measure import Measure
from wastesim.config.quantities import whole
from wastesim.config.search import Search
from wastesim.config.server import DecodingRules, Output, Server
from wastesim.config.statistics import Statistics
from wastesim.config.sweep import Sweep
from wastesim.config.workload import Workload


def _name_or_inline(value: Any) -> str | None:
    if isinstance(value, str):
        return "name"
    return "inline" if isinstance(value, Mapping | Frozen) else None


_EITHER = Discriminator(
    _name_or_inline,
    custom_error_type="name_or_mapping",
    custom_error_message="must be a name of the catalog, or a mapping that describes one",
)
ModelChoice = Annotated[
    Annotated[str, Tag("name")] | Annotated[ModelGeometry, Tag("inline")], _EITHER
]
GpuChoice = Annotated[Annotated[str, Tag("name")] | Annotated[Gpu, Tag("inline")], _EITHER]

_LONGEST_NAME = 100


class Experiment(DecodingRules):
    """What to simulate.  `model` and `gpu` are catalog names or inline descriptions."""

    name: str = "experiment"
    study: Literal["allocation", "comparison", "capacity"] = "allocation"
    seed: Annotated[int, BeforeValidator(whole), Field(ge=0)] = 0
    model: ModelChoice
    gpu: GpuChoice
    workload: Workload
    clients: Clients = Clients()
    server: Server
    output: Output = Output()
    #: The part of simulated time that counts; all of it if not given.
    measure: Measure | None = None
    #: The variants of `study: comparison`.
    compare: Variants | None = None
    #: How sure intervals are, and which requests are good.
    statistics: Statistics | None = None
    #: Many settings of one experiment, or the setting that is looked for.
    sweep: Sweep | None = None
    search: Search | None = None

    @field_validator("name")
    @classmethod
    def _names_a_folder(cls, value: str) -> str:
        """A folder's name is made of the experiment's."""
        unusable = any(char in "/\\" or not char.isprintable() for char in value)
        if unusable or value.strip(" .") != value or not 0 < len(value) <= _LONGEST_NAME:
            raise ValueError(
                "must be usable as the name of a folder: printable, without slashes or outer dots,"
                f" at most {_LONGEST_NAME} characters"
            )
        return value

    @field_validator("search")
    @classmethod
    def _searches_whole_numbers(cls, search: Search | None) -> Search | None:
        """Where a key is a whole number, what is tried is too."""
        return search and search.of(cls)

    @model_validator(mode="after")
    def _windows_are_not_decoded(self) -> Experiment:
        if self.decode.engine != "none" and self.server.kv_groups != (None,):
            raise ValueError(
                "'server.kv_groups' with windows can only be accounted, the decode attends to"
                f" every token: set 'decode.engine' to none (got {self.decode.engine})"
            )
        return self

    @model_validator(mode="after")
    def _compares_something(self) -> Experiment:
        if self.study == "comparison" and self.compare is None:
            raise ValueError("'study' comparison needs 'compare': its variants")
        if self.study != "comparison" and self.compare is not None:
            raise ValueError("'compare' needs 'study: comparison'")
        return self

    @model_validator(mode="after")
    def _varies_one_way(self) -> Experiment:
        if self.sweep is not None and self.search is not None:
            raise ValueError("'search' must be alone: a file has a 'sweep' or a 'search'")
        varies = "sweep" if self.sweep else "search" if self.search else ""
        if varies and self.study != "allocation":
            raise ValueError(f"'study' must be allocation with a '{varies}' (got {self.study})")
        return self

    @property
    def variants(self) -> dict[str, Experiment]:
        """The experiments of a comparison by name, in order; of any other study none."""
        tree, compare = self.to_tree(), self.compare or {}
        return {
            name: Experiment.model_validate(variant_tree(tree, name, changes))
            for name, changes in compare.items()
        }

    @property
    def digest(self) -> str:
        """Eight hex digits that change whenever anything the run depends on does."""
        text = json.dumps(self.to_tree(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:8]
