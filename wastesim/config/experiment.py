"""One experiment: everything that a run depends on."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from wastesim.config.hardware import Gpu, ModelGeometry
from wastesim.config.server import DecodingRules, Output, Server
from wastesim.config.workload import Workload


def _name_or_inline(value: Any) -> str:
    return "name" if isinstance(value, str) else "inline"


ModelChoice = Annotated[
    Annotated[str, Tag("name")] | Annotated[ModelGeometry, Tag("inline")],
    Discriminator(_name_or_inline),
]
GpuChoice = Annotated[
    Annotated[str, Tag("name")] | Annotated[Gpu, Tag("inline")], Discriminator(_name_or_inline)
]


class Experiment(DecodingRules):
    """What to simulate.  `model` and `gpu` are catalog names or inline descriptions."""

    name: str = "experiment"
    study: Literal["allocation"] = "allocation"
    seed: Annotated[int, Field(ge=0)] = 0
    model: ModelChoice
    gpu: GpuChoice
    workload: Workload
    server: Server
    output: Output = Output()

    @model_validator(mode="after")
    def _requests_can_be_told_apart(self) -> Experiment:
        """A folder's name is made of the experiment's."""
        if not self.name or any(char in self.name for char in "/\\\0"):
            raise ValueError(f"'name' must be usable as a folder name (got {self.name!r})")
        return self

    @property
    def digest(self) -> str:
        """Eight hex digits that change whenever anything the run depends on does."""
        text = json.dumps(self.to_tree(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:8]
