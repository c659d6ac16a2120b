"""`study: quality`: what cheaper caches cost in perplexity on a fixed passage."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from wastesim.config.base import Frozen
from wastesim.config.decode import CacheFormat, CacheFormatChoice
from wastesim.config.quantities import Count, whole


class Laboratory(Frozen):
    """What every study of the cache laboratory is told."""

    name: str = "laboratory"
    seed: Annotated[int, BeforeValidator(whole), Field(ge=0)] = 0
    #: `smollm2`, the path of a Llama-like GGUF file, or a drawn model (`tiny`, `small`).
    model: str = "smollm2"
    #: A name of `workloads/passages/`, or a text file.
    passage: str = "the-tide-table"
    #: Whether pictures are drawn.
    figures: bool = True

    @field_validator("name")
    @classmethod
    def _names_a_folder(cls, value: str) -> str:
        if any(char in "/\\" or not char.isprintable() for char in value) or not value.strip(" ."):
            raise ValueError("must be usable as the name of a folder")
        return value

    @property
    def digest(self) -> str:
        """Eight hex digits that change whenever anything the study depends on does."""
        text = json.dumps(self.to_tree(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:8]


class CacheCell(Frozen):
    """One kind of cache: how it stores, and how much of the text."""

    kv_cache_dtype: CacheFormatChoice = CacheFormat()
    #: What the dtype applies to; the other half stays float32.
    halves: Literal["keys", "values", "both"] = "both"
    #: Newest tokens kept, sinks included; none is all of them.
    window: Count | None = None
    sinks: Annotated[int, Field(ge=0)] = 0
    #: Positions of the text, or those inside the window.
    positions: Literal["original", "renumbered"] = "original"

    @model_validator(mode="after")
    def _window_has_room(self) -> CacheCell:
        if self.window is None and (self.sinks or self.positions != "original"):
            raise ValueError("'sinks' and 'positions' belong to a 'window'")
        if self.window is not None and self.sinks >= self.window:
            raise ValueError(
                f"'sinks' must be fewer than the window's {self.window} tokens (got {self.sinks})"
            )
        return self

    @property
    def label(self) -> str:
        """In words, as tables and figures say it."""
        words = [] if self.window and self.kv_cache_dtype.plain else [self.kv_cache_dtype.label]
        if self.halves != "both":
            words.append(f"{self.halves} only")
        if self.window is not None:
            words.append(f"window of {self.window:,}")
            words.append(f"{self.sinks} sinks" if self.sinks else "no sinks")
        if self.positions != "original":
            words.append("renumbered")
        return ", ".join(words)


def _named(value: Any) -> Any:
    return {"kv_cache_dtype": value} if isinstance(value, str) else value


CacheCellChoice = Annotated[
    CacheCell, BeforeValidator(_named), WithJsonSchema({"type": ["string", "object"]})
]
Cells = Annotated[
    tuple[CacheCellChoice, ...],
    BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value),
]


class Quality(Laboratory):
    """Perplexity of one passage through each cache; full precision is always measured too."""

    study: Literal["quality"] = "quality"
    cells: Cells
    #: Only the first tokens of the passage; all of them if not given.
    max_tokens: Count | None = None
    #: Processes, one BLAS thread each; as many as there are processors if not given.
    workers: Count | None = None
    #: Consecutive tokens that are drawn together when the interval is bootstrapped.
    block_tokens: Count = 32

    @field_validator("cells")
    @classmethod
    def _each_once(cls, cells: tuple[CacheCell, ...]) -> tuple[CacheCell, ...]:
        labels = [cell.label for cell in cells]
        if not labels:
            raise ValueError("must name at least one cache")
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice is not None:
            raise ValueError(f"must name each cache once ('{twice}' is there twice)")
        return cells
