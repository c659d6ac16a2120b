"""Bytes that elements take in a type: the one place that multiplies by a type's size."""

from __future__ import annotations

from wastesim.config.dtypes import canonical_dtype, dtype_format


def stored_bytes(dtype: str, elements: int, vectors: int = 1) -> int:
    """Bytes of `elements` in one (not paired) type: whole blocks, and scales per vector.

    `ceil(elements / block) * bytes + vectors * per_head`, as ggml stores rows: q8_0 takes
    34 bytes per 32 elements, so 1.0625 and not 1 per element.  `vectors` are the heads, each with
    a scale of its own in the `_head` types.  ValueError for an unknown type.
    """
    form = dtype_format(canonical_dtype(dtype))
    scales = vectors * form.per_head if elements else 0
    return -(-elements // form.elements) * form.bytes + scales


def bytes_per_element(dtype: str) -> float:
    """Bytes per element of a type or of a pair of types, scales per head left out."""
    formats = [dtype_format(side) for side in key_value_dtypes(dtype)]
    return sum(form.bytes / form.elements for form in formats) / 2


def key_value_dtypes(dtype: str) -> tuple[str, str]:
    """The types of K and of V: `q5_0/f16` is two, everything else the same for both."""
    keys, _, values = canonical_dtype(dtype).partition("/")
    return keys, values or keys


def dtype_bytes(dtype: str) -> int:
    """Whole bytes per element: 4, 2 or 1; ValueError for types that have blocks or scales."""
    formats = {dtype_format(side) for side in key_value_dtypes(dtype)}
    form = formats.pop()
    if formats or form.elements != 1 or form.per_head:
        raise ValueError(f"must be a type of whole bytes per element ('{dtype}' has blocks)")
    return form.bytes
