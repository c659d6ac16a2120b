"""How llama.cpp would lay out the requests that are asked about: `-c`, `-np`, unified or split."""

from __future__ import annotations

from wastesim.capacity.question import Answer
from wastesim.catalog.layers import LIMITED, layer_kinds
from wastesim.catalog.slots import Slots
from wastesim.units import format_bytes


def slot_lines(found: Answer) -> list[str]:
    """A line per layout: split and unified, and with windows in full where there are any."""
    q = found.question
    windowed = any(kind.kind in LIMITED for kind in layer_kinds(q.model))
    return [
        _line(found, Slots(q.concurrency * q.context, q.concurrency, unified, full))
        for unified in (False, True)
        for full in ((False, True) if windowed else (False,))
    ]


def _line(found: Answer, slots: Slots) -> str:
    flags = f"{' -kvu' if slots.unified else ''}{' --swa-full' if slots.swa_full else ''}"
    size = slots.bytes(found.question.model, found.question.kv_cache_dtype)
    promise = f", promised {slots.overcommit:g} times over" if slots.overcommit > 1 else ""
    return (
        f"-c {slots.n_ctx} -np {slots.n_parallel}{flags}: {slots.buffers} x"
        f" {slots.cells_per_slot:,} cells{promise}, {format_bytes(size)}"
    )
