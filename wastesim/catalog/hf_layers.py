"""Which layers of a `config.json` are of which kind, and how large a recurrent state is.

Letters: `N` heads, `P` head dim, `S` state size, `K` convolution kernel, `I` inner width, `C`
groups.  States are counted in float32, as llama.cpp keeps them::

    linear attention   NV * PK * PV  +  (K - 1) * (2 NK PK + NV PV)
    Mamba 2            N * P * S     +  (K - 1) * (N P + 2 C S)
    Mamba              I * S         +  (K - 1) * I
"""

from __future__ import annotations

from typing import Any

from wastesim.catalog.hf_fields import Fields

_FLOAT32 = 4
#: What files call a layer -> our kind.
_WORDS = {
    "full_attention": "full",
    "attention": "full",
    "*": "full",
    "sliding_attention": "window",
    "chunked_attention": "chunked",
    "linear_attention": "state",
    "mamba": "state",
    "mamba2": "state",
    "M": "state",
    "recurrent": "state",
    "conv": "state",
    "-": "none",
    "E": "none",
}


def kinds_of(fields: Fields, layers: int) -> dict[str, int]:
    """Layers per kind, kinds in the order in which they first appear."""
    words = _words(fields, layers)
    unknown = sorted({word for word in words if word not in _WORDS})
    if unknown or len(words) != layers:
        known = ", ".join(_WORDS)
        what = f"has {unknown[0]!r}" if unknown else f"has {len(words)} entries"
        fields.problems.append(f"the layers' kinds must be {layers} of {known} ({what})")
        return {"full": layers}
    found: dict[str, int] = {}
    for word in words:
        found[_WORDS[word]] = found.get(_WORDS[word], 0) + 1
    return found


def window_of(fields: Fields, kind: str) -> int | None:
    """The window of window layers, the chunk of chunked ones; None for others."""
    if kind == "chunked":
        return fields.count("attention_chunk_size")
    if kind == "window":
        name = "sliding_window" if "sliding_window" in fields.content else "window_size"
        return fields.count(name)
    return None


def state_bytes(fields: Fields) -> int:
    """Bytes of one recurrent layer's state and convolution, per sequence (see above)."""
    number = fields.number
    if fields.optional("linear_num_value_heads") is not None:
        keys = fields.count("linear_num_key_heads") * fields.count("linear_key_head_dim")
        values = fields.count("linear_num_value_heads") * fields.count("linear_value_head_dim")
        state = values * fields.count("linear_key_head_dim")
        return _FLOAT32 * (state + (number("linear_conv_kernel_dim", 4) - 1) * (2 * keys + values))
    size, kernel = _either(fields, "mamba_d_state", "ssm_state_size"), number("mamba_d_conv", 4)
    heads = fields.optional("mamba_n_heads") or fields.optional("mamba_num_heads")
    if heads is not None:
        inner = heads * _either(fields, "mamba_d_head", "mamba_head_dim")
        groups = number("mamba_n_groups", number("n_groups", 1))
        return _FLOAT32 * (inner * size + (kernel - 1) * (inner + 2 * groups * size))
    inner = number("mamba_expand", number("expand", 2)) * fields.count("hidden")
    return _FLOAT32 * inner * (size + kernel - 1)


def _either(fields: Fields, one: str, other: str) -> int:
    value = fields.optional(one)
    return fields.count(other) if value is None else value


def _words(fields: Fields, layers: int) -> list[str]:
    """The kind of each layer, as the file lists it or as its family lays it out."""
    for name in ("layer_types", "layers_block_type", "block_types"):
        listed = fields.listed(name)
        if listed is not None:
            return listed if len(listed) == layers else (listed * layers)[:layers]
    pattern = fields.content.get("hybrid_override_pattern")
    if isinstance(pattern, str):
        return list(pattern)
    return _laid_out(fields, layers, fields.content)


def _laid_out(fields: Fields, layers: int, content: Any) -> list[str]:
    """Families that state a period instead of a list."""
    if "full_attention_interval" in content:
        period = fields.count("full_attention_interval")
        return _every(layers, period, period - 1, "full_attention", "linear_attention")
    if "attn_layer_period" in content:
        period, offset = fields.count("attn_layer_period"), fields.number("attn_layer_offset", 0)
        return _every(layers, period, offset, "attention", "mamba")
    if content.get("attention_chunk_size") is not None:
        return _with_chunks(fields, layers)
    if content.get("sliding_window") is not None and fields.flag("use_sliding_window", True):
        period = fields.number("sliding_window_pattern", 0)
        if period:
            return _every(layers, period, period - 1, "full_attention", "sliding_attention")
        return ["sliding_attention"] * layers
    mamba = "mamba" in str(content.get("model_type", ""))
    return ["mamba" if mamba else "full_attention"] * layers


def _with_chunks(fields: Fields, layers: int) -> list[str]:
    """Layers with rotary positions are chunked, those without see everything."""
    rotary = fields.content.get("no_rope_layers")
    if not isinstance(rotary, list) or not rotary:
        period = fields.number("no_rope_layer_interval", 4)
        rotary = [int((layer + 1) % period != 0) for layer in range(layers)]
    return ["chunked_attention" if item else "full_attention" for item in rotary]


def _every(layers: int, period: int, offset: int, one: str, other: str) -> list[str]:
    return [one if layer % period == offset else other for layer in range(layers)]
