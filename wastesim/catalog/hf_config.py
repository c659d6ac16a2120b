"""A Hugging Face `config.json` as a model: `model: path/to/config.json`.

For Llama-like models: rotary positions, grouped-query attention, a gated feed-forward part.
With `V` vocabulary, `E` hidden, `L` layers, `H` query heads, `G` KV heads, `D` head dim, `F`
intermediate size, and tables `T` (1 when the embedding is also the output matrix, else 2)::

    params = T * V * E  +  L * (2 * E * H * D  +  2 * E * G * D  +  3 * E * F)
             tables             q and output      k and v           gate, up, down

Biases and norms are left out, as in the catalog: below 0.1 % of any such model.  Other types
(experts, latents, hybrids, older names of the fields) are read by `hf_general`; of a multimodal
model its `text_config` is read.
Nothing is guessed: what a file leaves out is an error, unless the library that wrote it
(transformers) fixes the value for that type of model; then the note says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from wastesim.catalog.hf_fields import Fields
from wastesim.catalog.hf_general import read_general
from wastesim.config.hardware import ModelGeometry, canonical_dtype
from wastesim.errors import ConfigError, Problem

ENDING = ".json"


class _Type(NamedTuple):
    """What transformers takes for granted when a file of this type leaves it out."""

    head_dim: bool = False  # hidden_size / num_attention_heads; else it must be stated
    kv_heads: bool = False  # num_attention_heads; else it must be stated
    tied: bool = False


#: Types whose parameters the formula above counts.
TYPES: Mapping[str, _Type] = {
    "llama": _Type(head_dim=True, kv_heads=True),
    "mistral": _Type(head_dim=True),
    "qwen2": _Type(head_dim=True),
    "qwen3": _Type(),
    "phi3": _Type(head_dim=True, kv_heads=True),
    "granite": _Type(head_dim=True, kv_heads=True),
    "olmo2": _Type(head_dim=True, kv_heads=True),
    "gemma": _Type(tied=True),
    "gemma2": _Type(tied=True),
    "gemma3_text": _Type(tied=True),
}
#: Our names of the fields that every file must have, and its own.
_COUNTS = {
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "q_heads": "num_attention_heads",
    "ffn": "intermediate_size",
    "vocab": "vocab_size",
    "max_model_len": "max_position_embeddings",
}


def is_hf_config(model: str) -> bool:
    """Whether a model's name is the path of such a file."""
    return model.lower().endswith(ENDING)


def read_hf_config(path: Path) -> ModelGeometry:
    """The geometry a `config.json` describes; ConfigError naming every field that is wrong."""
    content = _text_part(_content(path))
    if content.get("model_type") in TYPES and not _is_hybrid(content):
        return _Reader(path, content).geometry()
    return _general(path, content)


def llama_params(model: Mapping[str, Any]) -> int:
    """Parameters by the formula above, without biases and norms."""
    heads = model["q_heads"] + model["kv_heads"]
    attention = 2 * model["hidden"] * model["head_dim"] * heads
    feed_forward = 3 * model["hidden"] * model["ffn"]
    tables = (1 if model["tied_embeddings"] else 2) * model["vocab"] * model["hidden"]
    return int(tables + model["layers"] * (attention + feed_forward))


def _text_part(content: dict[str, Any]) -> dict[str, Any]:
    """The language model of a multimodal one; what stands outside counts where it says more."""
    inner = content.get("text_config")
    if not isinstance(inner, dict) or "num_hidden_layers" in content:
        return content
    outer = {key: value for key, value in content.items() if key != "text_config"}
    return outer | inner


def _is_hybrid(content: Mapping[str, Any]) -> bool:
    """Experts or latents in a file that calls itself Llama-like."""
    return any(content.get(name) for name in ("num_local_experts", "num_experts", "kv_lora_rank"))


def _general(path: Path, content: Mapping[str, Any]) -> ModelGeometry:
    kind = content.get("model_type")
    if not isinstance(kind, str):
        text = f"'model_type' must be text, such as {', '.join(TYPES)} (got {kind!r})"
        raise ConfigError([Problem(str(path), text)])
    fields, reader = Fields(content), _Reader(path, content)
    model = {**read_general(fields, kind), "weights_dtype": reader.dtype()}
    problems = [*fields.problems, *reader.problems]
    if problems:
        raise ConfigError([Problem(str(path), text) for text in dict.fromkeys(problems)])
    notes = ["params computed from the geometry, without biases and norms", *fields.granted]
    words = {"source": f"config.json of a {kind} model", "note": "; ".join(dict.fromkeys(notes))}
    return ModelGeometry.model_validate({"name": reader.name(), **model, **words})


def _content(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    except json.JSONDecodeError as error:
        where = f"{path}:{error.lineno}:{error.colno}"
        raise ConfigError([Problem(where, f"is not valid JSON: {error.msg}")]) from None
    except (ValueError, RecursionError):
        raise ConfigError(f"{path}: is not valid JSON") from None
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: must be a JSON object, as config.json of a model is")
    return content


class _Reader:
    """Reads fields, and remembers what is wrong with them and what was taken for granted."""

    def __init__(self, path: Path, content: Mapping[str, Any]) -> None:
        self.path = path
        self.content = content
        self.problems: list[str] = []
        self.granted: list[str] = []

    def geometry(self) -> ModelGeometry:
        """The geometry, or ConfigError with every problem."""
        kind = TYPES[self.content["model_type"]]
        model: dict[str, Any] = {ours: self._count(theirs) for ours, theirs in _COUNTS.items()}
        model["kv_heads"] = self._kv_heads(kind, model["q_heads"])
        model["head_dim"] = self._head_dim(kind, model["hidden"], model["q_heads"])
        model["tied_embeddings"] = self._flag("tie_word_embeddings", kind.tied)
        model["window_layers"] = self._window_layers(model["layers"])
        model["window"] = self._count("sliding_window") if model["window_layers"] else None
        model["weights_dtype"] = self.dtype()
        if self.problems:
            raise ConfigError([Problem(str(self.path), text) for text in self.problems])
        model["params"] = llama_params(model)
        model["source"] = f"config.json of a {self.content['model_type']} model"
        model["note"] = "; ".join(["params without biases and norms", *self.granted])
        return ModelGeometry.model_validate({"name": self.name(), **model})

    def name(self) -> str:
        """The folder of a `config.json`, else the file without its ending."""
        return self.path.parent.name if self.path.stem == "config" else self.path.stem

    def _count(self, name: str) -> int:
        """A whole number, at least 1; 1 when it is not, which is never used."""
        value = self.content.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return value
        missing = value is None
        self.problems.append(
            f"'{name}' is required"
            if missing
            else f"'{name}' must be a whole number >= 1 (got {value!r})"
        )
        return 1

    def _kv_heads(self, kind: _Type, q_heads: int) -> int:
        if kind.kv_heads and self.content.get("num_key_value_heads") is None:
            self.granted.append("no num_key_value_heads: every query head has its own")
            return q_heads
        value = self._count("num_key_value_heads")
        if q_heads % value and not self.problems:
            self.problems.append(
                f"'num_key_value_heads' must divide num_attention_heads, which is {q_heads}"
                f" (got {value})"
            )
        return value

    def _head_dim(self, kind: _Type, hidden: int, q_heads: int) -> int:
        if not kind.head_dim or self.content.get("head_dim") is not None:
            return self._count("head_dim")
        if hidden % q_heads and not self.problems:
            self.problems.append(
                f"'head_dim' is required: hidden_size {hidden} is no multiple of"
                f" num_attention_heads {q_heads}"
            )
        self.granted.append("no head_dim: hidden_size / num_attention_heads")
        return hidden // q_heads or 1

    def _flag(self, name: str, otherwise: bool) -> bool:
        value = self.content.get(name, otherwise)
        if not isinstance(value, bool):
            self.problems.append(f"'{name}' must be true or false (got {value!r})")
            return otherwise
        return value

    def _window_layers(self, layers: int) -> int:
        """How many layers see a window only, each type by its own rule."""
        get, kind = self.content.get, self.content["model_type"]
        if get("sliding_window") is None or not self._flag("use_sliding_window", True):
            return 0
        if "layer_types" in self.content:
            return self._listed(get("layer_types"), layers)
        if kind == "gemma2":  # every second layer, beginning with the first
            return (layers + 1) // 2
        if kind == "gemma3_text":  # every n-th layer sees everything
            return layers - layers // self._count("sliding_window_pattern")
        if kind in ("qwen2", "qwen3"):  # the first ones see everything
            return max(0, layers - self._count("max_window_layers"))
        return layers

    def _listed(self, kinds: Any, layers: int) -> int:
        known = ("full_attention", "sliding_attention")
        if (
            not isinstance(kinds, list)
            or len(kinds) != layers
            or any(k not in known for k in kinds)
        ):
            self.problems.append(f"'layer_types' must be {layers} times {' or '.join(known)}")
            return 0
        return kinds.count("sliding_attention")

    def dtype(self) -> str:
        """The type of the weights; quantised ones are not sized by a number of bytes each."""
        quantised = self.content.get("quantization_config")
        if quantised is not None:
            method = quantised.get("quant_method") if isinstance(quantised, dict) else quantised
            if method == "fp8":
                return "fp8"
            self.problems.append(
                f"'quantization_config' of method {method!r} cannot be sized: describe the model"
                " inline, with its 'weights' in bytes"
            )
        value = self.content.get("torch_dtype") or self.content.get("dtype") or "float16"
        try:
            return canonical_dtype(value)
        except (ValueError, AttributeError):
            self.problems.append(
                f"'torch_dtype' must be float32, float16 or bfloat16 (got {value!r})"
            )
            return "float16"
