"""Which geometry a log's numbers fit: type of the cache, ranks, block size, units.

From tokens and bytes follow the bytes of one token, within the printed digits.  A hypothesis fits
when a model's own bytes per token lie in that interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from wastesim.capacity.logs import LogFacts
from wastesim.capacity.printed import Printed
from wastesim.catalog.kv import kv_bytes_per_token
from wastesim.catalog.models import find_model, model_names
from wastesim.config.hardware import ModelGeometry
from wastesim.units import GIB

#: Tried in this order, the commonest first.
DTYPES = ("float16", "fp8", "float32", "q8_0", "q4_0", "int4")
RANKS = (1, 2, 4, 8, 16)
BLOCKS = (16, 32, 64, 128, 256, 512, 8, 1)
#: `GiB` is meant whatever the label says, unless only a decimal `GB` fits.
UNITS = (("binary units", 1.0), ("decimal units", 1e9 / GIB))
_SLACK = 1e-3


@dataclass(frozen=True, slots=True)
class Interval:
    """Bytes of one token, as far as the log's digits say."""

    low: float
    high: float
    source: str

    def holds(self, value: float, slack: float = _SLACK) -> bool:
        """Whether a value lies in it, give or take rounding to whole blocks."""
        return self.low * (1 - slack) <= value <= self.high * (1 + slack)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A model, a type, ranks and units under which the log is what it would say."""

    model: str
    dtype: str
    tp: int
    units: str
    bytes_per_token: int

    def __str__(self) -> str:
        ranks = f"tensor parallel over {self.tp}" if self.tp > 1 else "one rank"
        return f"{self.model}, {self.dtype} cache, {ranks}, {self.units}"


def bytes_per_token(facts: LogFacts, swap_bytes: float = 4 * GIB) -> Interval | None:
    """Bytes per token from what is printed; None when tokens or bytes are missing.

    Old vLLM prints CPU blocks, which fill a swap space of 4 GiB unless told otherwise: they give
    the block's bytes exactly where the GPU's memory is not printed.
    """
    numbers = facts.numbers
    kv, tokens = numbers.get("kv_bytes"), tokens_of(facts)
    needed, length = numbers.get("needed_bytes"), numbers.get("max_model_len")
    if needed is not None and length is not None:
        return Interval(needed.low / length.value, needed.high / length.value, "memory needed")
    if facts.value("cpu_blocks"):
        each = swap_bytes / numbers["cpu_blocks"].value / block_size(facts)
        return Interval(each, each, "CPU blocks in the swap space")
    if "block_bytes" in numbers:
        found = numbers["block_bytes"]
        size = block_size(facts)
        return Interval(found.low / size, found.high / size, "bytes of a block")
    if kv is None or tokens is None:
        return None
    spare = block_size(facts) - 1 if facts.engine == "vllm" else 0
    return Interval(kv.low / (tokens.high + spare), kv.high / tokens.low, "cache over tokens")


def block_size(facts: LogFacts) -> int:
    """The block size that is printed, or follows from tokens, or 16."""
    printed = facts.value("block_size")
    return int(printed) if printed else 16


def tokens_of(facts: LogFacts) -> Printed | None:
    """Tokens that are printed, or blocks times their size."""
    blocks = facts.numbers.get("num_blocks")
    if "tokens" in facts.numbers or blocks is None:
        return facts.numbers.get("tokens") or facts.numbers.get("n_ctx")
    size = block_size(facts)
    return Printed(blocks.value * size, blocks.half * size, f"{blocks.text} x {size}")


def fitting(interval: Interval, models: Iterable[ModelGeometry]) -> list[Hypothesis]:
    """Every hypothesis that the interval holds, those closest to everyday use first."""
    found = [
        hypothesis
        for model in models
        for hypothesis in _of_model(model)
        for units, factor in UNITS
        if units == hypothesis.units and interval.holds(hypothesis.bytes_per_token / factor)
    ]
    return sorted(found, key=_rank)


def catalog_models() -> Iterator[ModelGeometry]:
    """Every model of the catalog."""
    return (find_model(name) for name in model_names())


def block_sizes(tokens: float) -> list[int]:
    """Block sizes that divide a number of tokens, largest first."""
    return sorted((size for size in BLOCKS if tokens % size == 0), reverse=True)


def _of_model(model: ModelGeometry) -> Iterator[Hypothesis]:
    seen = set()
    for units, _ in UNITS:
        for dtype in DTYPES:
            for tp in RANKS:
                each = kv_bytes_per_token(model, dtype, tp)
                if (each, dtype, units) not in seen:
                    seen.add((each, dtype, units))
                    yield Hypothesis(model.name, dtype, tp, units, each)


def _rank(found: Hypothesis) -> tuple[bool, int, int, str]:
    decimal = found.units != UNITS[0][0]
    return decimal, DTYPES.index(found.dtype), found.tp, found.model
