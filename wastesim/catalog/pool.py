"""A pool of blocks, and what a server says of it when it starts.

::

    num_blocks  = available // block bytes of the largest group        (minimum over ranks)
    concurrency = num_blocks / sum over groups of blocks per request
    tokens      = int(concurrency * max_model_len)                     (vLLM 0.33)
                = num_blocks // number of groups * block size          (vLLM 0.11)

`num_blocks` counts the null block, in which nothing is stored: `1.00x` serves nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wastesim.catalog.groups import Group, blocks_per_request
from wastesim.errors import ConfigError


@dataclass(frozen=True, slots=True)
class BlockPool:
    """Blocks of one rank (all ranks have the same), and the groups that take them."""

    num_blocks: int
    groups: tuple[Group, ...]
    max_model_len: int
    in_flight_tokens: int
    null_blocks: int = 1

    @property
    def bytes_per_block(self) -> int:
        """Bytes of a block in the layers of the largest group."""
        return block_bytes(self.groups)

    @property
    def blocks_per_request(self) -> int:
        """Blocks of a request of `max_model_len`, over all groups."""
        return sum(
            blocks_per_request(group, self.max_model_len, self.in_flight_tokens)
            for group in self.groups
        )

    @property
    def usable_blocks(self) -> int:
        """Blocks in which something can be stored."""
        return max(0, self.num_blocks - self.null_blocks)

    @property
    def max_concurrency(self) -> float:
        """What is printed as `1.95x`; it counts the null block."""
        return self.num_blocks / self.blocks_per_request

    @property
    def tokens(self) -> int:
        """`GPU KV cache size` of vLLM 0.33: full-length requests, in tokens."""
        return int(self.max_concurrency * self.max_model_len)

    @property
    def tokens_v0_11(self) -> int:
        """`GPU KV cache size` of vLLM 0.11: the pool divided evenly over the groups."""
        smallest = min(group.block_size for group in self.groups)
        return self.num_blocks // len(self.groups) * smallest

    @property
    def full_length_requests(self) -> int:
        """Requests of `max_model_len` that run together without preemption."""
        return self.usable_blocks // self.blocks_per_request

    def log_line(self, version: str = "0.33") -> str:
        """The start-up line of vLLM, in the wording of 0.33 or 0.11."""
        tokens = self.tokens_v0_11 if version == "0.11" else self.tokens
        return (
            f"GPU KV cache size: {tokens:,} tokens, Maximum concurrency for "
            f"{self.max_model_len:,} tokens per request: {self.max_concurrency:.2f}x"
        )


def block_bytes(groups: Sequence[Group]) -> int:
    """Bytes of one block: those of the largest group, which all groups share."""
    return max(group.block_bytes for group in groups)


def block_pool(
    groups: Sequence[Group],
    *,
    max_model_len: int,
    in_flight_tokens: int,
    available_bytes: int | Sequence[int] | None = None,
    num_gpu_blocks_override: int | None = None,
    null_blocks: int = 1,
) -> BlockPool:
    """The pool of `available_bytes` (of the poorest rank, when there are several).

    ConfigError when there is neither memory nor a stated number of blocks.
    """
    if num_gpu_blocks_override is None and available_bytes is None:
        raise ConfigError("'num_gpu_blocks_override' must be given when the memory is not known")
    blocks = num_gpu_blocks_override
    if blocks is None:
        ranks = [available_bytes] if isinstance(available_bytes, int) else available_bytes
        blocks = common_blocks([bytes_ // block_bytes(groups) for bytes_ in ranks or ()])
    return BlockPool(blocks, tuple(groups), max_model_len, in_flight_tokens, null_blocks)


def common_blocks(rank_blocks: Sequence[int]) -> int:
    """Blocks that every rank has: the minimum, since all ranks hold the same block ids.

    For pipeline stages, hand in blocks (memory by each stage's own bytes per block), not memory.
    """
    return min(rank_blocks)


def stranded_blocks(rank_blocks: Sequence[int]) -> int:
    """Blocks of the better-off ranks that nobody can use."""
    return sum(blocks - common_blocks(rank_blocks) for blocks in rank_blocks)


def in_flight_tokens(max_num_batched_tokens: int, *, async_scheduling: bool = False) -> int:
    """Tokens that a window must hold beside itself: a step's, or two steps' when asynchronous."""
    return max_num_batched_tokens * (2 if async_scheduling else 1)
