"""What every config model is: frozen, strict about types, and closed to unknown keys."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Base of all config models.

    Strict: `"12"` is not a number and `true` is not 1.  Derived values are properties.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)

    def to_tree(self) -> dict[str, Any]:
        """The plain mapping that reads back as this object."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
