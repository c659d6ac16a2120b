"""The NumPy transformer that decodes every tick at the addresses the allocator handed out.

`Decoder` is what the engine calls; `Arena` is the memory; `reference` is the judge, which shares
nothing with them but the weights.
"""

from wastesim.decode.decoder import Decoder, PageCount
from wastesim.decode.geometry import DecodeModel
from wastesim.decode.kv_cache import KVCache, generate_cached
from wastesim.decode.models import decode_model, decode_models, model_problem, weights_of
from wastesim.decode.reference import Verification, check_tokens, generate_uncached

__all__ = [
    "DecodeModel",
    "Decoder",
    "KVCache",
    "PageCount",
    "Verification",
    "check_tokens",
    "decode_model",
    "decode_models",
    "generate_cached",
    "generate_uncached",
    "model_problem",
    "weights_of",
]
