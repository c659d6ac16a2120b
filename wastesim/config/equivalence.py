"""`study: equivalence`: the same generation with and without a cache."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator

from wastesim.config.quality import Laboratory
from wastesim.config.quantities import Count, as_tuple

Names = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
Batches = Annotated[tuple[Count, ...], BeforeValidator(as_tuple)]


class Equivalence(Laboratory):
    """One prompt generated without a cache, with one, and in a batch with others."""

    study: Literal["equivalence"] = "equivalence"
    prompt_tokens: Annotated[Count, Field(ge=2)] = 200
    new_tokens: Annotated[Count, Field(ge=2)] = 200
    #: Requests decoded together when intensity and speed are measured against the batch.
    batches: Batches = (1, 2, 4, 8, 16, 32)
    #: Tokens of context while they are.
    batch_context: Count = 128
    #: Catalog models of the memory table.
    models: Names = ("gpt-2", "llama-3-8b", "llama-3-70b", "opt-13b", "gpt-3-175b")

    @property
    def tokens_read(self) -> int:
        """Tokens of the passage that are needed: of the prompt, or of the timed steps."""
        return max(self.prompt_tokens + 1, self.batch_context)

    @field_validator("batches")
    @classmethod
    def _some_batch(cls, batches: tuple[int, ...]) -> tuple[int, ...]:
        if not batches:
            raise ValueError("must name at least one batch, such as [1, 8]")
        return batches

    @field_validator("models")
    @classmethod
    def _some_model(cls, models: tuple[str, ...]) -> tuple[str, ...]:
        if not models:
            raise ValueError("must name at least one model of the catalog, such as [llama-3-8b]")
        return models
