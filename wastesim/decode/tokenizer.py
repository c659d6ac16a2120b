"""A tokenizer from a GGUF file's own vocabulary and merges: byte-level BPE.

Text is cut before merging as the file's `tokenizer.ggml.pre` asks; `smollm` parts every digit.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wastesim.decode.geometry import DecodeModel
from wastesim.decode.gguf_file import GgufFile, read_gguf
from wastesim.errors import InputError

if TYPE_CHECKING:
    import tokenizers

CUTS = ("smollm", "gpt-2", "default")


class Tokenizer:
    """Text to token ids and back, without special tokens."""

    def __init__(self, file: GgufFile) -> None:
        kind = file.fields.get("tokenizer.ggml.model")
        cut = file.fields.get("tokenizer.ggml.pre", "default")
        if kind != "gpt2" or cut not in CUTS:
            raise InputError(
                f"{file.path}: its tokenizer is '{kind}' with '{cut}' cuts; only byte-level BPE"
                f" ('gpt2') with {', '.join(CUTS)} can be used"
            )
        self._inner = _assembled(file, cut)

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`, no begin or end added."""
        return list(self._inner.encode(text, add_special_tokens=False).ids)

    def decode(self, tokens: list[int]) -> str:
        """The text of token ids."""
        return str(self._inner.decode(tokens, skip_special_tokens=False))


@cache
def tokenizer_of(model: DecodeModel) -> Tokenizer:
    """The tokenizer in the model's file; InputError for a drawn model, which has none."""
    if model.source is None:
        raise InputError(f"model '{model.name}' has no tokenizer: its weights are drawn")
    return Tokenizer(read_gguf(Path(model.source)))


def _assembled(file: GgufFile, cut: str) -> tokenizers.Tokenizer:
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers

    tokens: list[str] = file.fields.get("tokenizer.ggml.tokens", [])
    merges: list[str] = file.fields.get("tokenizer.ggml.merges", [])
    if not tokens or not merges:
        raise InputError(f"{file.path}: holds no vocabulary and merges")
    pairs: Any = [tuple(merge.split(" ", 1)) for merge in merges]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    made = tokenizers.Tokenizer(models.BPE(vocabulary, pairs))
    bytewise = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    parted = [pre_tokenizers.Digits(individual_digits=True)] if cut == "smollm" else []
    made.pre_tokenizer = pre_tokenizers.Sequence([*parted, bytewise])
    made.decoder = decoders.ByteLevel()
    return made
