"""The activation peak of a step: memory that depends on its tokens, not on the longest context.

A step of `B` tokens peaks in the feed-forward part, where the gate and up projections (2 F), their
product (F), and input, residual and normalised copies (3 E) are alive together, in 16 bits::

    peak(B) = 2 * B * (3 * F / tp + 3 * E)  +  logits of the sampled tokens (16-bit and float32)

An estimate, held to one measured server: Llama-3.1-8B in vLLM peaks 2.07 GiB above its weights at
20,000 tokens a step, 2.99 GiB at 29,000 and 0.06 GiB at 512 (formula: 2.06, 2.99, 0.05).  For a
mixture of experts F is what a token's experts have together.
"""

from __future__ import annotations

from wastesim.config.hardware import ModelGeometry

#: Where `ffn` is not known: the widest that is common, so that the estimate errs on the safe side.
_USUAL_FFN = 4
_BYTES = 2
_LOGIT_BYTES = 2 + 4


def activation_bytes(
    model: ModelGeometry, batched_tokens: int, tp: int = 1, sampled_tokens: int = 0
) -> int:
    """Estimated peak of a step of `batched_tokens`, on one rank (see above)."""
    feed_forward = -(-3 * (model.ffn or _USUAL_FFN * model.hidden) // tp)
    step = _BYTES * batched_tokens * (feed_forward + 3 * model.hidden)
    return step + sampled_tokens * (model.vocab or 0) * _LOGIT_BYTES


def explain_activations(model: ModelGeometry, batched_tokens: int, tp: int = 1) -> str:
    """`0.84 GiB at 8,192 tokens a step = 2 B x 8,192 x (3 x 14,336 + 3 x 4,096)`."""
    from wastesim.units import format_bytes

    found = activation_bytes(model, batched_tokens, tp)
    ffn = f"{model.ffn:,}" if model.ffn else f"{_USUAL_FFN} x {model.hidden:,} (ffn not known)"
    shared = f" / {tp}" if tp > 1 else ""
    return (
        f"{format_bytes(found)} at {batched_tokens:,} tokens a step = 2 B x {batched_tokens:,} x"
        f" (3 x {ffn}{shared} + 3 x {model.hidden:,})"
    )
