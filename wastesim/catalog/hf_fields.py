"""Fields of a `config.json` under the names that model families give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Our names -> theirs, the commonest first.
NAMES: Mapping[str, tuple[str, ...]] = {
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "hidden": ("hidden_size", "n_embd", "d_model", "dim"),
    "q_heads": ("num_attention_heads", "n_head", "n_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num"),
    "head_dim": ("head_dim", "attention_head_dim", "kv_channels"),
    "ffn": ("intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size", "inner_dim"),
    "vocab": ("vocab_size", "padded_vocab_size"),
    "max_model_len": (
        "max_position_embeddings",
        "n_positions",
        "max_sequence_length",
        "max_seq_len",
        "n_ctx",
        "seq_length",
    ),
    "experts": ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"),
    "experts_used": ("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_top_k"),
    "expert_ffn": ("moe_intermediate_size", "expert_ffn_hidden_size"),
    "shared_experts": ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts"),
    "shared_ffn": ("shared_expert_intermediate_size", "shared_intermediate_size"),
}


class Fields:
    """Reads fields by our names; remembers every problem and what was taken for granted."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.problems: list[str] = []
        self.granted: list[str] = []

    def optional(self, name: str) -> int | None:
        """A whole number >= 0 under any of its names, None when there is none."""
        for theirs in NAMES.get(name, (name,)):
            value = self.content.get(theirs)
            if isinstance(value, list) and value and len(set(map(str, value))) == 1:
                value = value[0]
            if value is None:
                continue
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                return value
            self.problems.append(f"'{theirs}' must be a whole number >= 0 (got {value!r})")
            return 1
        return None

    def count(self, name: str) -> int:
        """The same, at least 1; a problem (and 1, never used) when it is missing."""
        value, theirs = self.optional(name), NAMES.get(name, (name,))
        if value is None:
            others = f" (or {', '.join(theirs[1:])})" if len(theirs) > 1 else ""
            self.problems.append(f"'{theirs[0]}' is required{others}")
        elif value == 0:
            self.problems.append(f"'{theirs[0]}' must be a whole number >= 1 (got 0)")
        return value or 1

    def number(self, name: str, otherwise: int) -> int:
        """A whole number, or what the library takes when it is left out."""
        value = self.optional(name)
        return otherwise if value is None else value

    def flag(self, name: str, otherwise: bool = False) -> bool:
        """True or false."""
        value = self.content.get(name, otherwise)
        return value if isinstance(value, bool) else otherwise

    def listed(self, name: str) -> list[str] | None:
        """A list of words, None when it is left out."""
        value = self.content.get(name)
        return [str(item) for item in value] if isinstance(value, list) else None
